// Package audit computes from stored rows alone how hosts were treated, so that an operator can
// show it to a site owner. It has its own reader of robots.txt.
package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Store returns the rows that an audit reads.
type Store interface {
	AuditGaps(ctx context.Context, runID *int64) (report.Audit, error)
	AuditPages(ctx context.Context, runID *int64, fn func(report.AuditedPage) error) error
	RobotsText(ctx context.Context, origin string, version int64) (crawl.RobotsText, error)
}

const (
	// maxCopyAge is twice the longest life of a robots.txt (RFC 9309 §2.4). A copy holds for one
	// life, and for another while the file is unreadable.
	maxCopyAge = 48 * time.Hour
	// expiryGrace is the allowed delay after expiry, because a decided request waits for its slot.
	expiryGrace = time.Minute
	// maxListedViolations bounds the listed robots violations.
	maxListedViolations = 20
	// maxCachedReadings bounds the cached readings.
	maxCachedReadings = 1000
)

// Run audits all rows, or one run if runID is not nil.
func Run(ctx context.Context, store Store, runID *int64) (report.Audit, error) {
	a, err := store.AuditGaps(ctx, runID)
	if err != nil {
		return a, err
	}
	j := judge{store: store, readings: map[version]reading{}}
	err = store.AuditPages(ctx, runID, func(p report.AuditedPage) error {
		if p.Fetched != 0 && p.Version == 0 {
			a.RobotsGone++
			return nil
		}
		a.RobotsChecked++
		breach, err := j.breach(ctx, p)
		if err != nil || breach == "" {
			return err
		}
		if a.RobotsViolations++; a.RobotsViolations <= maxListedViolations {
			a.Violations = append(a.Violations, report.Violation{Kind: "robots", Key: p.URL, At: p.StartedAt, Description: breach})
		}
		return nil
	})
	return a, err
}

// version identifies one fetch of a robots.txt.
type version struct {
	origin string
	number int64
}

type judge struct {
	store    Store
	readings map[version]reading
}

// breach describes how a request broke the robots.txt known at its time; empty if it did not.
func (j *judge) breach(ctx context.Context, p report.AuditedPage) (string, error) {
	age := p.StartedAt.Sub(time.UnixMicro(p.Fetched))
	switch {
	case p.Verdict == crawl.RobotsUnknown:
		return "requested without a robots.txt", nil
	case age < 0:
		return "requested before its robots.txt was", nil
	case age > maxCopyAge+expiryGrace:
		return fmt.Sprintf("requested %s after its robots.txt was read", age.Round(time.Second)), nil
	case p.Verdict == crawl.RobotsAllowAll:
		return "", nil
	case p.Verdict != crawl.RobotsRules:
		return fmt.Sprintf("requested though its robots.txt was %s", p.Verdict), nil
	}
	u, err := urls.Parse(p.URL)
	if err != nil {
		return "", fmt.Errorf("stored URL: %w", err)
	}
	r, err := j.readingOf(ctx, p, u.Host())
	if err != nil {
		return "", err
	}
	return r.forbids(u.RequestTarget()), nil
}

// readingOf reads the robots.txt that decided a request, as it was sent. For old requests only the
// obeyed group is stored.
func (j *judge) readingOf(ctx context.Context, p report.AuditedPage, host string) (reading, error) {
	v := version{p.Origin, p.Version}
	if r, ok := j.readings[v]; ok {
		return r, nil
	}
	text, err := j.store.RobotsText(ctx, v.origin, v.number)
	if err != nil {
		return nil, err
	}
	if len(j.readings) >= maxCachedReadings {
		clear(j.readings)
	}
	r := parseRobots([]byte(text.Rules), "*", host)
	if text.Body != nil {
		r = parseRobots(text.Body, p.Agent, host)
	}
	j.readings[v] = r
	return r, nil
}
