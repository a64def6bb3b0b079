package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/request"
)

// RequestSummary describes a request of an activity for operators.
type RequestSummary struct {
	URL string `json:"url"`
	// Kind is empty for a page.
	Kind    kinds.Kind    `json:"kind,omitempty"`
	Outcome crawl.Outcome `json:"outcome"`
	// Status is 0 if there was no response; then Error explains why.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// ResultText describes how the request ended.
func (a RequestSummary) ResultText() string {
	if a.Status == 0 {
		return string(a.Outcome) + ": " + a.Error
	}
	return statusText(a.Status)
}

func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// Limits of a request in a payload, as JSON, in bytes.
const (
	requestURLMax   = 300
	requestErrorMax = 150
)

func newRequestSummary(url string, kind kinds.Kind, attempt crawl.Attempt) RequestSummary {
	if kind == kinds.Page {
		kind = ""
	}
	return RequestSummary{
		URL: shorten(url, requestURLMax), Kind: kind, Outcome: attempt.Outcome, Status: attempt.StatusCode,
		Error: shorten(crawl.CleanText(attempt.Error, requestErrorMax), requestErrorMax),
	}
}

// shorten cuts a text to its limit as JSON, which encodes some characters in six bytes.
func shorten(text string, limit int) string {
	for n := limit; ; n -= n/4 + 1 {
		short := urls.Shorten(text, n)
		if data, err := json.Marshal(short); err != nil || len(data) <= limit {
			return short
		}
	}
}

// DomainSummary describes a domain in its workflow's summary.
type DomainSummary struct {
	// Delay is the wait after the domain's last request, for Reason.
	Delay  settings.Duration `json:"delay,omitempty"`
	Reason reasons.Reason    `json:"reason,omitempty"`
	// Robots is the robots.txt verdict of the requested origin.
	Robots crawl.RobotsVerdict `json:"robots,omitempty"`
	// Health describes how the domain has responded recently.
	Health string `json:"health,omitempty"`
}

// Pending counts a domain's pending requests.
type Pending struct {
	Requests int64 `json:"requests"`
	// HasMore is set if more requests are pending.
	HasMore bool `json:"has_more,omitempty"`
}

// maxPendingShown caps the count for operators: it reads a hundred entries of an index.
const maxPendingShown = 100

func (b *batch) countPending(ctx context.Context) error {
	runs := make([]int64, len(b.facts.Runs))
	for i, r := range b.facts.Runs {
		runs[i] = r.ID
	}
	n, err := b.store.Pending(ctx, b.in.Domain, runs, maxPendingShown+1)
	if err == nil {
		b.res.Pending = &Pending{Requests: min(n, maxPendingShown), HasMore: n > maxPendingShown}
	}
	return err
}

func (b *batch) setSummary(d decide.Decision, req request.Request, result request.Result) {
	attempt := result.Exchange.Attempt
	b.res.LastRequest = newRequestSummary(req.URL.String(), req.Start.Kind, attempt)
	health := cmp.Or(attempt.Health, &result.Recorded.Facts.Domain.Health)
	b.res.Summary = DomainSummary{Delay: settings.Duration(attempt.Delay), Reason: attempt.Reason, Health: politeness.Describe(*health)}
	if d.Attempt != nil && d.Attempt.Robots != nil {
		b.res.Summary.Robots = d.Attempt.Robots.Verdict
	}
}
