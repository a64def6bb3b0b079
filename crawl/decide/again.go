package decide

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/recrawl"
)

// Again schedules the next request for the page of a finished attempt, and stores its change
// history. It returns nil for a run that requests no page again.
func Again(dom crawl.DomainFacts, run crawl.RunFacts, c crawl.CrawlFacts, at crawl.Attempt, now time.Time) (*crawl.Recrawl, error) {
	if !comesAgain(run, c) {
		return nil, nil //nolint:nilnil // there is nothing to keep
	}
	h, p, s, err := stored(c.History, dom)
	if err != nil {
		return nil, err
	}
	visit := visitOf(c, at, now)
	next := s.Visit(h, visit)
	h = h.Visit(visit)
	again := &crawl.Recrawl{History: document(h)}
	if next != s {
		again.Source = document(next)
	}
	wait := recrawl.Interval(h, p)
	if wait == recrawl.Never {
		return again, nil
	}
	if most := c.Kind.Traits().AgainWithin; most > 0 && h.Missing == 0 {
		wait = min(wait, most)
	}
	if at.Page != nil && at.Page.Visit != nil {
		wait = max(wait, time.Duration(at.Page.Visit.Fresh))
	}
	again.In = new(crawl.Millis(wait))
	return again, nil
}

// AgainUnasked is Again for a page that was decided without a request.
func AgainUnasked(d Decision, now time.Time) *crawl.Recrawl {
	if d.Run == nil || d.Crawl == nil || !comesAgain(*d.Run, *d.Crawl) {
		return nil
	}
	var h recrawl.History
	if read(d.Crawl.History, &h) != nil {
		h = recrawl.History{}
	}
	wait := d.Until.Sub(now)
	if wait <= 0 {
		h, wait = h.Pass()
	}
	return &crawl.Recrawl{History: document(h), In: new(crawl.Millis(wait))}
}

// Hinted returns the due time of a page that has changed according to a sitemap: at once, if the
// sitemaps of its domain are believed.
func Hinted(dom crawl.DomainFacts, history json.RawMessage, fetched, now time.Time) (json.RawMessage, time.Time, error) {
	h, p, s, err := stored(history, dom)
	if err != nil {
		return nil, time.Time{}, err
	}
	h = h.Hint(recrawl.Hint{Since: now.Sub(fetched), News: true, Source: s})
	return document(h), recrawl.Due(fetched, h, p), nil
}

// FirstAgain returns a fetched page's due time in a run that now starts to recrawl; zero means
// never.
func FirstAgain(history json.RawMessage, fetched time.Time) (time.Time, error) {
	var h recrawl.History
	if err := read(history, &h); err != nil {
		return time.Time{}, err
	}
	return recrawl.Due(fetched, h, recrawl.Plan{}), nil
}

func comesAgain(run crawl.RunFacts, c crawl.CrawlFacts) bool {
	return run.Settings.Recrawls() && c.Kind.Traits().Again
}

func visitOf(c crawl.CrawlFacts, at crawl.Attempt, now time.Time) recrawl.Visit {
	v := recrawl.Visit{Found: recrawl.Failed}
	if !c.Visit.At.IsZero() {
		v.Since = max(now.Sub(c.Visit.At), time.Millisecond)
	}
	switch {
	case at.StatusCode == http.StatusGone:
		v.Found = recrawl.Gone
	case at.StatusCode == http.StatusNotFound:
		v.Found = recrawl.Missing
	case at.Outcome != crawl.OutcomeSuccess:
	case at.Unchanged != "" || at.Redirect || at.Page == nil || at.Page.Visit == nil || at.Page.Visit.Content == c.Visit.Content:
		v.Found = recrawl.Unchanged
	default:
		v.Found = recrawl.Changed
		if changed := at.Page.Visit.LastModified; !changed.IsZero() {
			v.ChangedAgo = max(now.Sub(changed), 0)
		}
	}
	return v
}

func stored(
	history json.RawMessage, dom crawl.DomainFacts,
) (h recrawl.History, p recrawl.Plan, s recrawl.Source, err error) {
	var kept crawl.DomainRecrawl
	if err = errors.Join(read(history, &h), read(dom.Recrawl, &kept)); err == nil {
		err = errors.Join(read(kept.Plan, &p), read(kept.Source, &s))
	}
	return h, p, s, err
}

// read reads a stored document; an empty document is the zero value.
func read(data json.RawMessage, doc any) error {
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, doc); err != nil {
		return fmt.Errorf("read the recrawl schedule: %w", err)
	}
	return nil
}

func document(doc any) json.RawMessage {
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err) // numbers always can be
	}
	return data
}

// Plan shares the requests that a domain allows among its pages. least is the shortest delay.
func Plan(histories []json.RawMessage, least time.Duration, kept crawl.DomainRecrawl) (json.RawMessage, error) {
	var last recrawl.Plan
	if err := read(kept.Plan, &last); err != nil {
		return nil, err
	}
	pages := make([]recrawl.History, len(histories))
	for i, data := range histories {
		if err := read(data, &pages[i]); err != nil {
			return nil, err
		}
	}
	perDay := recrawl.RulePerDay(pages)
	if least > 0 {
		perDay = min(perDay, (24*time.Hour).Seconds()/least.Seconds())
	}
	return document(recrawl.NewPlan(pages, perDay, last, -1)), nil
}
