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

// RequestSummary describes a request of an activity for people.
type RequestSummary struct {
	URL string `json:"url"`
	// Kind is empty for a page.
	Kind    kinds.Kind    `json:"kind,omitempty"`
	Outcome crawl.Outcome `json:"outcome"`
	// Status is 0 if there was no response; then Error explains why.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Answer describes how the request ended.
func (a RequestSummary) Answer() string {
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
	askedURLMax   = 300
	askedErrorMax = 150
)

func askedOf(url string, kind kinds.Kind, at crawl.Attempt) RequestSummary {
	if kind == kinds.Page {
		kind = ""
	}
	return RequestSummary{
		URL: shorten(url, askedURLMax), Kind: kind, Outcome: at.Outcome, Status: at.StatusCode,
		Error: shorten(crawl.CleanText(at.Error, askedErrorMax), askedErrorMax),
	}
}

// shorten cuts a text to its limit as JSON, which encodes some characters in six bytes.
func shorten(text string, most int) string {
	for n := most; ; n -= n/4 + 1 {
		short := urls.Shorten(text, n)
		if data, err := json.Marshal(short); err != nil || len(data) <= most {
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
	// More is set if more requests are pending.
	More bool `json:"has_more,omitempty"`
}

// pendingShown caps the count for people: it reads a hundred entries of an index.
const pendingShown = 100

func (b *batch) count(ctx context.Context) error {
	runs := make([]int64, len(b.facts.Runs))
	for i, r := range b.facts.Runs {
		runs[i] = r.ID
	}
	n, err := b.store.Pending(ctx, b.in.Domain, runs, pendingShown+1)
	if err == nil {
		b.res.Pending = &Pending{Requests: min(n, pendingShown), More: n > pendingShown}
	}
	return err
}

func (b *batch) show(d decide.Decision, ask request.Ask, done request.Result) {
	at := done.Exchange.Attempt
	b.res.Asked = askedOf(ask.URL.String(), ask.Start.Kind, at)
	health := cmp.Or(at.Health, &done.Recorded.Facts.Domain.Health)
	b.res.Shown = DomainSummary{Delay: settings.Duration(at.Delay), Reason: at.Reason, Health: politeness.Describe(*health)}
	if d.Crawl != nil && d.Crawl.Robots != nil {
		b.res.Shown.Robots = d.Crawl.Robots.Verdict
	}
}
