// Package audit computes from stored rows alone how hosts were treated: what an
// operator can show a site owner.
package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/robots"
)

// Store is the rows that an audit reads.
type Store interface {
	AuditGaps(ctx context.Context, runID *int64) (crawl.Audit, error)
	AuditPages(ctx context.Context, runID *int64, fn func(crawl.AuditedPage) error) error
	RobotsRules(ctx context.Context, origin string, version int64) (string, error)
}

const (
	// expiryGrace is how long after its robots.txt has expired a request may
	// begin: it was decided on before, and has waited for its slot since.
	expiryGrace = time.Minute
	// violationsShown bounds the robots violations that are listed.
	violationsShown = 20
	// rulesKept bounds the rules in memory.
	rulesKept = 1000
)

// Run audits everything stored, or one run where runID is not nil.
func Run(ctx context.Context, store Store, runID *int64) (crawl.Audit, error) {
	a, err := store.AuditGaps(ctx, runID)
	if err != nil {
		return a, err
	}
	j := judge{store: store, rules: map[version]*robots.Rules{}}
	err = store.AuditPages(ctx, runID, func(p crawl.AuditedPage) error {
		a.RobotsChecked++
		what, err := j.fault(ctx, p)
		if err != nil || what == "" {
			return err
		}
		if a.RobotsViolations++; a.RobotsViolations <= violationsShown {
			a.Violations = append(a.Violations, crawl.Violation{Kind: "robots", Key: p.URL, At: p.StartedAt, What: what})
		}
		return nil
	})
	return a, err
}

// version names one fetch of a robots.txt.
type version struct {
	origin string
	number int64
}

type judge struct {
	store Store
	rules map[version]*robots.Rules
}

// fault says what was wrong with a request by the robots.txt that was known when
// it was made; empty is nothing.
func (j *judge) fault(ctx context.Context, p crawl.AuditedPage) (string, error) {
	switch {
	case p.Verdict == crawl.RobotsUnknown:
		return "requested without a robots.txt", nil
	case p.StartedAt.Before(p.FetchedAt):
		return "requested before its robots.txt was", nil
	case p.StartedAt.After(p.ExpiresAt.Add(expiryGrace)):
		return fmt.Sprintf("requested %s after its robots.txt had expired", p.StartedAt.Sub(p.ExpiresAt).Round(time.Second)), nil
	case p.Verdict == crawl.RobotsAllowAll:
		return "", nil
	case p.Verdict != crawl.RobotsRules:
		return fmt.Sprintf("requested though its robots.txt was %s", p.Verdict), nil
	}
	rules, err := j.rulesOf(ctx, version{p.Origin, p.Version})
	if err != nil {
		return "", err
	}
	u, err := urls.Parse(p.URL)
	if err != nil {
		return "", fmt.Errorf("stored URL: %w", err)
	}
	if d := rules.Decide(u.RequestTarget()); !d.Allowed {
		return fmt.Sprintf("disallowed by robots.txt line %d: %s", d.Line, d.Rule), nil
	}
	return "", nil
}

func (j *judge) rulesOf(ctx context.Context, v version) (*robots.Rules, error) {
	if r, ok := j.rules[v]; ok {
		return r, nil
	}
	text, err := j.store.RobotsRules(ctx, v.origin, v.number)
	if err != nil {
		return nil, err
	}
	if len(j.rules) >= rulesKept {
		clear(j.rules)
	}
	r := robots.Restore(text)
	j.rules[v] = r
	return r, nil
}
