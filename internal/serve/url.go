package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/robots"
)

// URLView is the page about a crawled page.
type URLView struct {
	head

	// Asked is the URL, or empty. Typed is the text of the form.
	Asked string           `json:"url"`
	Typed string           `json:"-"`
	Why   explain.Why      `json:"why"`
	Page  report.Page      `json:"page"`
	Known bool             `json:"known"`
	Links report.PageLinks `json:"links"`
	// Runs can request it now: the runs that have it, and the latest others.
	Runs []string `json:"-"`
}

const (
	maxOfferedRuns = 20
	maxLinks       = 50 // each way
	maxLines       = 2000
)

func (s *Server) runsFor(ctx context.Context, p report.Page) ([]string, error) {
	all, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	var having, others []string
	for _, run := range slices.Backward(all) {
		switch {
		case run.Status == crawl.RunStopped:
		case slices.ContainsFunc(p.Crawls, func(a report.Attempt) bool { return a.Run == run.Name }):
			having = append(having, run.Name)
		default:
			others = append(others, run.Name)
		}
	}
	names := slices.Concat(having, others)
	return names[:min(len(names), maxOfferedRuns)], nil
}

func (s *Server) url(r *http.Request) (view, error) {
	text := r.FormValue("u")
	v := &URLView{head: head{Now: s.Now()}, Typed: text}
	if text == "" {
		v.Sentence = "Enter a URL to see why the page was fetched or not, and when it is next."
		return v, nil
	}
	u, err := s.requestedURL(r.Context(), text)
	if err != nil {
		return v, err
	}
	v.Asked, v.Typed, v.name = u.String(), u.String(), u.String()
	if v.Why, err = explain.Of(r.Context(), s.Store, u.Domain(), &u, time.UTC); err != nil {
		return nil, err
	}
	if v.Known = v.Why.Page != nil; v.Known {
		v.Page = *v.Why.Page
		if v.Links, err = s.Store.PageLinks(r.Context(), u.Domain(), u.String(), maxLinks); err != nil {
			return nil, err
		}
	}
	if s.author(r) != "" {
		if v.Runs, err = s.runsFor(r.Context(), v.Page); err != nil {
			return nil, err
		}
	}
	v.Sentence = explain.OneLine("This page is " + v.Why.Answer + ".")
	return v, nil
}

// RobotsView is the decision of a robots.txt about a URL.
type RobotsView struct {
	head

	URL   string `json:"url"`
	Agent string `json:"agent"`
	// Pasted is a robots.txt to use instead of the stored one.
	Pasted string `json:"-"`
	// Rule, in Line, decides Allowed. Lines count from 1; 0 means no rule.
	Allowed    bool                `json:"allowed"`
	Rule       string              `json:"rule,omitempty"`
	Line       int                 `json:"line,omitempty"`
	CrawlDelay settings.Duration   `json:"crawl_delay,omitzero"`
	VisitTimes []string            `json:"visit_times,omitempty"` // in UTC
	Verdict    crawl.RobotsVerdict `json:"verdict,omitempty"`
	FetchedAt  time.Time           `json:"fetched_at,omitzero"`
	Lines      []string            `json:"lines,omitempty"`
}

func (s *Server) robots(r *http.Request) (view, error) {
	v := &RobotsView{head: head{Now: s.Now()}, Agent: cmp.Or(r.FormValue("agent"), crawl.ProductToken), Pasted: r.FormValue("text")}
	v.URL = strings.TrimSpace(r.FormValue("u"))
	if v.URL == "" {
		v.Sentence = "Enter a URL to see whether robots.txt allows it, and by which line."
		return v, nil
	}
	u, err := s.requestedURL(r.Context(), v.URL)
	if err != nil {
		return v, err
	}
	v.URL, v.name = u.String(), u.String()
	if v.Pasted != "" {
		v.decide(u, robots.Parse([]byte(v.Pasted)).On(u.Host()).Rules(v.Agent), "This robots.txt")
		v.show(v.Pasted)
		return v, nil
	}
	return v, s.decideStored(r, v, u)
}

// decideStored decides by the stored robots.txt.
func (s *Server) decideStored(r *http.Request, v *RobotsView, u urls.URL) error {
	stored, err := s.Store.Robots(r.Context(), u.Origin())
	if errors.Is(err, crawl.ErrNotFound) {
		v.Sentence = "The robots.txt of " + u.Origin() + " was never read. Paste a robots.txt to test it."
		return nil
	}
	if err != nil {
		return err
	}
	v.Verdict, v.FetchedAt = stored.Verdict, stored.FetchedAt
	switch stored.Verdict {
	case crawl.RobotsDisallowAll, crawl.RobotsUnreachable, crawl.RobotsUnknown:
		v.Sentence = explain.OneLine(fmt.Sprintf("No page of %s may be fetched: %s (%s).", u.Origin(), stored.Verdict, stored.Reason))
		return nil
	case crawl.RobotsAllowAll, crawl.RobotsRules:
	}
	text, err := s.Store.RobotsText(r.Context(), stored.Origin, stored.Version)
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return err
	}
	name := "The robots.txt of " + u.Origin()
	switch {
	case len(text.Body) > 0:
		v.decide(u, robots.Parse(text.Body).On(u.Host()).Rules(v.Agent), name)
		v.show(string(text.Body))
	case !strings.EqualFold(v.Agent, cmp.Or(stored.Agent, crawl.ProductToken)):
		v.Sentence = fmt.Sprintf("Mosey stores only the rules of %s for %s. Paste the file to test it for %s.",
			u.Origin(), stored.Agent, explain.OneLine(v.Agent))
	default:
		v.decide(u, robots.Restore(stored.Rules), name)
		v.show(stored.Rules)
	}
	return nil
}

func (v *RobotsView) decide(u urls.URL, rules *robots.Rules, name string) {
	d := rules.Decide(u.RequestTarget())
	v.Allowed, v.Rule, v.Line = d.Allowed, d.Rule, d.Line
	if delay, hasDelay := rules.CrawlDelay(); hasDelay {
		v.CrawlDelay = settings.Duration(delay)
	}
	for _, t := range rules.VisitTimes() {
		v.VisitTimes = append(v.VisitTimes, t.String())
	}
	verb := "allows"
	if !d.Allowed {
		verb = "forbids"
	}
	v.Sentence = fmt.Sprintf("%s %s %s this URL", name, verb, v.Agent)
	if d.Line > 0 {
		v.Sentence += fmt.Sprintf(" by line %d: %s", d.Line, d.Rule)
	} else {
		v.Sentence += ": no line matches"
	}
	v.Sentence = explain.OneLine(v.Sentence) + "."
}

// show sets the lines of a file, cleaned.
func (v *RobotsView) show(text string) {
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		if len(v.Lines) == maxLines {
			break
		}
		v.Lines = append(v.Lines, strings.TrimSpace(explain.OneLine(line)))
	}
}
