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

// ScheduleRevisit schedules the next request for the page of a finished attempt, and stores its
// change history. It returns nil for a run that requests no page again.
func ScheduleRevisit(
	dom crawl.DomainFacts, run crawl.RunFacts, c crawl.AttemptFacts, attempt crawl.Attempt, now time.Time,
) (*crawl.Recrawl, error) {
	if !isRecrawled(run, c) {
		return nil, nil //nolint:nilnil // there is nothing to keep
	}
	h, p, s, err := readRecrawlState(c.History, dom)
	if err != nil {
		return nil, err
	}
	visit := visitOf(c, attempt, now)
	next := s.Visit(h, visit)
	h = h.Visit(visit)
	revisit := &crawl.Recrawl{History: mustMarshal(h)}
	if next != s {
		revisit.Source = mustMarshal(next)
	}
	wait := recrawl.Interval(h, p)
	if wait == recrawl.Never {
		return revisit, nil
	}
	if maxInterval := c.Kind.Traits().MaxRevisitInterval; maxInterval > 0 && h.Missing == 0 {
		wait = min(wait, maxInterval)
	}
	if attempt.Page != nil && attempt.Page.Visit != nil {
		wait = max(wait, time.Duration(attempt.Page.Visit.FreshnessLifetime))
	}
	revisit.In = new(crawl.Millis(wait))
	return revisit, nil
}

// ScheduleSkippedRevisit is ScheduleRevisit for a page that was decided without a request.
func ScheduleSkippedRevisit(d Decision, now time.Time) *crawl.Recrawl {
	if d.Run == nil || d.Attempt == nil || !isRecrawled(*d.Run, *d.Attempt) {
		return nil
	}
	var h recrawl.History
	if read(d.Attempt.History, &h) != nil {
		h = recrawl.History{}
	}
	wait := d.Until.Sub(now)
	if wait <= 0 {
		h, wait = h.Skip()
	}
	return &crawl.Recrawl{History: mustMarshal(h), In: new(crawl.Millis(wait))}
}

// ApplyChangeNotice returns the due time of a page that has changed according to a sitemap: at
// once, if the sitemaps of its domain are believed.
func ApplyChangeNotice(dom crawl.DomainFacts, history json.RawMessage, fetched, now time.Time) (json.RawMessage, time.Time, error) {
	h, p, s, err := readRecrawlState(history, dom)
	if err != nil {
		return nil, time.Time{}, err
	}
	h = h.Announce(now.Sub(fetched), s)
	return mustMarshal(h), recrawl.Due(fetched, h, p), nil
}

// FirstRevisit returns a fetched page's due time in a run that now starts to recrawl; zero means
// never.
func FirstRevisit(history json.RawMessage, fetched time.Time) (time.Time, error) {
	var h recrawl.History
	if err := read(history, &h); err != nil {
		return time.Time{}, err
	}
	return recrawl.Due(fetched, h, recrawl.Plan{}), nil
}

func isRecrawled(run crawl.RunFacts, c crawl.AttemptFacts) bool {
	return run.Settings.Recrawls() && c.Kind.Traits().IsRecrawled
}

func visitOf(c crawl.AttemptFacts, attempt crawl.Attempt, now time.Time) recrawl.Visit {
	v := recrawl.Visit{Result: recrawl.Failed}
	if !c.Visit.At.IsZero() {
		v.SinceLast = max(now.Sub(c.Visit.At), time.Millisecond)
	}
	switch {
	case attempt.StatusCode == http.StatusGone:
		v.Result = recrawl.Gone
	case attempt.StatusCode == http.StatusNotFound:
		v.Result = recrawl.Missing
	case attempt.Outcome != crawl.OutcomeSuccess:
	case attempt.Unchanged != "" || attempt.Redirect || attempt.Page == nil || attempt.Page.Visit == nil ||
		attempt.Page.Visit.Content == c.Visit.Content:
		v.Result = recrawl.Unchanged
	default:
		v.Result = recrawl.Changed
		if changed := attempt.Page.Visit.LastModified; !changed.IsZero() {
			v.ChangedAgo = max(now.Sub(changed), 0)
		}
	}
	return v
}

func readRecrawlState(
	history json.RawMessage, dom crawl.DomainFacts,
) (h recrawl.History, p recrawl.Plan, s recrawl.Source, err error) {
	var domainRecrawl crawl.DomainRecrawl
	if err = errors.Join(read(history, &h), read(dom.Recrawl, &domainRecrawl)); err == nil {
		err = errors.Join(read(domainRecrawl.Plan, &p), read(domainRecrawl.Source, &s))
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

func mustMarshal(doc any) json.RawMessage {
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err) // numbers always can be
	}
	return data
}

// Plan shares the requests that a domain allows among its pages. minDelay is the shortest delay.
func Plan(histories []json.RawMessage, minDelay time.Duration, current crawl.DomainRecrawl) (json.RawMessage, error) {
	var last recrawl.Plan
	if err := read(current.Plan, &last); err != nil {
		return nil, err
	}
	pages := make([]recrawl.History, len(histories))
	for i, data := range histories {
		if err := read(data, &pages[i]); err != nil {
			return nil, err
		}
	}
	perDay := recrawl.RulePerDay(pages)
	if minDelay > 0 {
		perDay = min(perDay, (24*time.Hour).Seconds()/minDelay.Seconds())
	}
	return mustMarshal(recrawl.NewPlan(pages, perDay, last)), nil
}
