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

// URLView is what is known of a page, and what is to become of it.
type URLView struct {
	head

	// Asked is the URL; empty is none yet.
	Asked string      `json:"url"`
	Why   explain.Why `json:"why"`
	Page  report.Page `json:"page"`
	Known bool        `json:"known"`
	// Links are those of the page and to it, at most linksShown each way.
	Links report.PageLinks `json:"links"`
	// Runs can be told to ask for it: those that have, and the latest of the others.
	Runs []string `json:"-"`
}

// runsOffered is how many runs a page offers to ask for it.
const runsOffered = 20

// runsFor are those that can ask for a page.
func (s *Server) runsFor(ctx context.Context, p report.Page) ([]string, error) {
	all, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	var names []string
	can := func(name string) bool {
		return !slices.Contains(names, name) && slices.ContainsFunc(all, func(r crawl.Run) bool {
			return r.Name == name && r.Status != crawl.RunStopped
		})
	}
	for _, c := range p.Crawls {
		if can(c.Run) {
			names = append(names, c.Run)
		}
	}
	for _, r := range all {
		if can(r.Name) {
			names = append(names, r.Name)
		}
	}
	return names[:min(len(names), runsOffered)], nil
}

// linksShown is how many links are shown each way.
const linksShown = 50

func (s *Server) url(r *http.Request) (view, error) {
	text := r.FormValue("u")
	v := &URLView{head: head{Now: s.Now()}}
	if text == "" {
		v.Sentence = "Name a page to see why it was fetched or not, and when it is next."
		return v, nil
	}
	u, err := urlNamed(text)
	if err != nil {
		return nil, err
	}
	v.Asked, v.name = u.String(), u.String()
	if v.Why, err = explain.Of(r.Context(), s.Store, u.Domain(), &u); err != nil {
		return nil, err
	}
	if v.Known = v.Why.Page != nil; v.Known {
		v.Page = *v.Why.Page
		if v.Links, err = s.Store.PageLinks(r.Context(), u.Domain(), u.String(), linksShown); err != nil {
			return nil, err
		}
	}
	if s.who(r) != "" {
		if v.Runs, err = s.runsFor(r.Context(), v.Page); err != nil {
			return nil, err
		}
	}
	v.Sentence = explain.OneLine("This page is " + v.Why.Answer + ".")
	return v, nil
}

// RobotsView is what a robots.txt says of a URL.
type RobotsView struct {
	head

	URL   string `json:"url"`
	Agent string `json:"agent"`
	// Pasted is a robots.txt that is asked about instead of the one that was read.
	Pasted string `json:"-"`
	// Allowed is whether the URL may be fetched, by Rule in Line, from 1; 0 is none.
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule,omitempty"`
	Line    int    `json:"line,omitempty"`
	// CrawlDelay is what it asks for.
	CrawlDelay settings.Duration `json:"crawl_delay,omitzero"`
	// VisitTimes are when it wants to be visited, in UTC.
	VisitTimes []string            `json:"visit_times,omitempty"`
	Verdict    crawl.RobotsVerdict `json:"verdict,omitempty"`
	FetchedAt  time.Time           `json:"fetched_at,omitzero"`
	// Lines are the file.
	Lines []string `json:"lines,omitempty"`
}

// linesShown is how many lines of a robots.txt are shown.
const linesShown = 2000

// robots says what a robots.txt says: one that was read, or one that is asked with.
func (s *Server) robots(r *http.Request) (view, error) {
	v := &RobotsView{head: head{Now: s.Now()}, Agent: cmp.Or(r.FormValue("agent"), crawl.ProductToken), Pasted: r.FormValue("text")}
	v.URL = strings.TrimSpace(r.FormValue("u"))
	if v.URL == "" {
		v.Sentence = "Name a URL to see whether its robots.txt allows it, and by which line."
		return v, nil
	}
	u, err := urlNamed(v.URL)
	if err != nil {
		return nil, err
	}
	v.URL, v.name = u.String(), u.String()
	if v.Pasted != "" {
		v.decide(u, robots.Parse([]byte(v.Pasted)).Rules(v.Agent), "This robots.txt")
		v.show(v.Pasted)
		return v, nil
	}
	return v, s.robotsRead(r, v, u)
}

// robotsRead decides by the robots.txt that was read last.
func (s *Server) robotsRead(r *http.Request, v *RobotsView, u urls.URL) error {
	stored, err := s.Store.Robots(r.Context(), u.Origin())
	if errors.Is(err, crawl.ErrNotFound) {
		v.Sentence = "The robots.txt of " + u.Origin() + " was never read. Paste one to ask it."
		return nil
	}
	if err != nil {
		return err
	}
	v.Verdict, v.FetchedAt = stored.Verdict, stored.FetchedAt
	switch stored.Verdict {
	case crawl.RobotsDisallowAll, crawl.RobotsUnreachable, crawl.RobotsUnknown:
		v.Sentence = explain.OneLine(fmt.Sprintf("Nothing of %s may be fetched: %s (%s).", u.Origin(), stored.Verdict, stored.Reason))
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
		v.decide(u, robots.Parse(text.Body).Rules(v.Agent), name)
		v.show(string(text.Body))
	case !strings.EqualFold(v.Agent, cmp.Or(stored.Agent, crawl.ProductToken)):
		v.Sentence = fmt.Sprintf("Of %s only what it says to %s is kept. Paste it to ask it for %s.",
			u.Origin(), stored.Agent, explain.OneLine(v.Agent))
	default:
		v.decide(u, robots.Restore(stored.Rules), name)
		v.show(stored.Rules)
	}
	return nil
}

// decide asks rules.
func (v *RobotsView) decide(u urls.URL, rules *robots.Rules, name string) {
	d := rules.Decide(u.RequestTarget())
	v.Allowed, v.Rule, v.Line = d.Allowed, d.Rule, d.Line
	if delay, asked := rules.CrawlDelay(); asked {
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
		v.Sentence += ": no line is about it"
	}
	v.Sentence = explain.OneLine(v.Sentence) + "."
}

// show keeps the lines of a file, each safe to look at.
func (v *RobotsView) show(text string) {
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		if len(v.Lines) == linesShown {
			break
		}
		v.Lines = append(v.Lines, strings.TrimSpace(explain.OneLine(line)))
	}
}
