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

// Asked is a request that an activity has made, for people.
type Asked struct {
	URL string `json:"url"`
	// Kind is empty for a page.
	Kind    kinds.Kind    `json:"kind,omitempty"`
	Outcome crawl.Outcome `json:"outcome"`
	// Status is 0 where there was no answer; then Error says why.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Answer says in words how the request ended.
func (a Asked) Answer() string {
	if a.Status == 0 {
		return string(a.Outcome) + ": " + a.Error
	}
	return statusText(a.Status)
}

func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// What a request may take of a payload, as JSON, in bytes.
const (
	askedURLMax   = 300
	askedErrorMax = 150
)

func askedOf(url string, kind kinds.Kind, at crawl.Attempt) Asked {
	if kind == kinds.Page {
		kind = ""
	}
	return Asked{
		URL: shorten(url, askedURLMax), Kind: kind, Outcome: at.Outcome, Status: at.StatusCode,
		Error: shorten(crawl.CleanText(at.Error, askedErrorMax), askedErrorMax),
	}
}

// shorten cuts a text that would take more as JSON, which writes some characters in six bytes.
func shorten(text string, most int) string {
	for n := most; ; n -= n/4 + 1 {
		short := urls.Shorten(text, n)
		if data, err := json.Marshal(short); err != nil || len(data) <= most {
			return short
		}
	}
}

// Shown is what a domain's workflow shows of it.
type Shown struct {
	// Delay is how long the domain is left alone after its last request, for Reason.
	Delay  settings.Duration `json:"delay,omitempty"`
	Reason reasons.Reason    `json:"reason,omitempty"`
	// Robots is what the robots.txt came to of the origin that was asked.
	Robots crawl.RobotsVerdict `json:"robots,omitempty"`
	// Health says in words how the domain has answered of late.
	Health string `json:"health,omitempty"`
}

// Pending is how many requests of a domain are pending.
type Pending struct {
	Requests int64 `json:"requests"`
	// More says that there are more than that.
	More bool `json:"more,omitempty"`
}

// pendingShown bounds what is counted for people: it is a hundred entries of an index.
const pendingShown = 100

// count counts what is pending in the runs that want something of the domain.
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
	b.res.Shown = Shown{Delay: settings.Duration(at.Delay), Reason: at.Reason, Health: politeness.Describe(*health)}
	if d.Crawl != nil && d.Crawl.Robots != nil {
		b.res.Shown.Robots = d.Crawl.Robots.Verdict
	}
}
