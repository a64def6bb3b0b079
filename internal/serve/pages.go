package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
)

// page is one page of the site.
type page struct {
	// name is that of its template, path its pattern, and api that of its JSON below /api/.
	name, path, api string
	title           string
	// open reports whether it may be opened to the public.
	open bool
	// live reports whether browsers are told what is new on it.
	live bool
	// asks reports whether it answers to a form, too: one that is too long for an address.
	asks bool
	load func(s *Server, r *http.Request) (view, error)
	// shows is of the type that load returns, and params what it can be asked with.
	shows  view
	params []param
	// change makes changes that are asked for on it; nil is none.
	change change
}

// view is what a page shows, and what its JSON is.
type view interface {
	// says is the sentence that the page begins with.
	says() string
	// about is what its title names; empty is nothing.
	about() string
	// seenBy tells it who looks at it, if that one may change things.
	seenBy(who string)
	// noticed tells it what is said above it.
	noticed(notice string)
}

// head is the common part of views.
type head struct {
	Sentence string    `json:"sentence"`
	Now      time.Time `json:"now"`
	// Notice is trouble of the whole; empty is none.
	Notice string `json:"notice"`
	name   string
	// By is who may change what is shown; empty is nobody.
	By string `json:"-"`
}

func (h *head) says() string      { return h.Sentence }
func (h *head) about() string     { return h.name }
func (h *head) seenBy(who string) { h.By = who }

func (h *head) noticed(notice string) { h.Notice = notice }

// pages are all there are, in the order in which they are named above each page.
var pages = []page{
	{name: "overview", path: "/{$}", api: "overview", title: "Overview", live: true, load: (*Server).overview, shows: (*Overview)(nil)},
	{
		name: "run", path: "/runs/{name}", api: "runs/{name}", title: "Run", live: true,
		load: (*Server).run, shows: (*RunView)(nil), change: changeRun,
	},
	{
		name: "domains", path: "/domains", api: "domains", title: "Domains",
		load: (*Server).domains, shows: (*DomainsView)(nil), change: changeDomains,
		params: query("status", "only domains of this status", "sort", "the order: "+strings.Join(report.DomainSorts, ", "),
			"source", "only domains that a list of this kind has named"),
	},
	{
		name: "domain", path: "/domains/{name}", api: "domains/{name}", title: "Domain", live: true,
		load: (*Server).domain, shows: (*DomainView)(nil), change: changeDomain,
		params: query("n", "how many attempts"),
	},
	{
		name: "images", path: "/images", api: "images", title: "Images", asks: true, load: (*Server).images, shows: (*ImagesView)(nil),
		params: query("domain", "only images that pages of this domain name", "format", "only images of this format",
			"similar", "SHA-256 of an image that they look like", "of", "copies are images that several URLs have, alike those that look the same"),
	},
	{name: "live", path: "/live", api: "live", title: "Live", live: true, load: (*Server).live, shows: (*LiveView)(nil)},
	{
		name: "url", path: "/url", api: "url", title: "Page", load: (*Server).url, shows: (*URLView)(nil),
		params: query("u", "the URL"),
	},
	{
		name: "robots", path: "/robots", api: "robots", title: "robots.txt", asks: true, load: (*Server).robots, shows: (*RobotsView)(nil),
		params: query("u", "the URL", "agent", "the product token that asks", "text", "a robots.txt, instead of the one that was read"),
	},
	{
		name: "search", path: "/search", api: "search", title: "Search", open: true, load: (*Server).search, shows: (*SearchView)(nil),
		params: query("q", "the words", "lang", "tag of a language", "domain", "only pages of this domain", "offset", "results to leave out"),
	},
}

// errors of requests.
var (
	errNoPage = errors.New("there is no such page here")
	errAsked  = errors.New("asked for wrongly")
)

// domainNamed reads the name of a domain that is asked for.
func domainNamed(text string) (string, error) {
	name, err := urls.DomainOf(text)
	if err != nil {
		return "", fmt.Errorf("%w: domain %q: want a host name, such as example.org", errAsked, text)
	}
	return name, nil
}

// urlNamed reads a URL that is asked for.
func urlNamed(text string) (urls.URL, error) {
	u, err := urls.Parse(text)
	if err != nil {
		return u, fmt.Errorf("%w: %w: want an absolute http or https URL, such as https://example.org/", errAsked, err)
	}
	return u, nil
}

// Overview is all runs, and how the whole stands.
type Overview struct {
	head

	// Runs are the latest, of All there are.
	Runs  []report.Progress `json:"runs"`
	All   int               `json:"all_runs"`
	Watch report.Watch      `json:"watch"`
	// CountedAt is when the first of the runs was counted; Counting says that one was not yet.
	CountedAt time.Time `json:"counted_at,omitzero"`
	Counting  bool      `json:"counting,omitempty"`
	// Gaps are those between requests that have ended in the last minute.
	Gaps Gaps `json:"gaps"`
	// Outages are those of our own network.
	Outages []crawl.Outage `json:"outages,omitempty"`
}

// Gaps are gaps between requests to the same domain, address, subnet or registered domain.
type Gaps struct {
	Ended      int64 `json:"ended"`
	Violations int64 `json:"violations"`
	// Late is how late the request was on average that has ended one.
	Late settings.Duration `json:"late_average"`
}

// gapsSpan is what Gaps looks back on.
const gapsSpan = time.Minute

func (s *Server) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	runs, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	v := &Overview{head: head{Now: s.Now()}, All: len(runs)}
	waiting, cancel := context.WithTimeout(ctx, firstWait) // for all of them together
	defer cancel()
	for _, run := range shownRuns(runs) {
		p, at, err := s.progress.of(waiting, run.Name, func(ctx context.Context) (report.Progress, error) {
			return s.Counts.Progress(ctx, run)
		})
		switch {
		case errors.Is(err, errCounting):
			v.Counting = true
		case err != nil:
			return nil, err
		}
		p.Run = run // which is as of now
		if v.CountedAt.IsZero() || at.Before(v.CountedAt) {
			v.CountedAt = at
		}
		v.Runs = append(v.Runs, p)
	}
	w, _, err := s.watch.of(ctx, "", s.look)
	if err != nil {
		return nil, err
	}
	v.Watch, v.Gaps = w.Watch, w.Gaps
	if len(v.Runs) > 0 {
		v.Outages = v.Runs[0].Outages
	}
	v.Sentence = explain.Overall(v.Runs, v.Now)
	if v.Counting {
		v.Sentence = explain.Count(int64(len(runs)), "run") + ": what they do is being counted for the first time, which takes long here."
	}
	slices.Reverse(v.Runs) // the newest first
	return v, nil
}

// runsShown is how many runs the overview has.
const runsShown = 50

// shownRuns are those that are running and the latest of the others, the latest last.
func shownRuns(runs []crawl.Run) []crawl.Run {
	left := max(len(runs)-runsShown, 0) // as many are not shown
	return slices.DeleteFunc(slices.Clone(runs), func(r crawl.Run) bool {
		if left == 0 || r.Status == crawl.RunRunning {
			return false
		}
		left--
		return true
	})
}

// watched is how things stand, and how gaps were kept.
type watched struct {
	report.Watch
	Gaps
}

// look looks at both, for all who look at the overview.
func (s *Server) look(ctx context.Context) (w watched, err error) {
	if w.Watch, err = s.Store.Watch(ctx); err != nil {
		return w, err
	}
	ended, err := s.Store.EndedGaps(ctx, w.Now.Add(-gapsSpan), w.Now, []float64{1}) // the buckets are not shown
	w.Gaps = gapsOf(ended)
	return w, err
}

func gapsOf(all []report.EndedGaps) (g Gaps) {
	late := 0.0
	for _, of := range all {
		g.Ended += of.Gaps
		g.Violations += of.Violations
		late += of.LateSeconds
	}
	if g.Ended > 0 {
		g.Late = settings.Duration(time.Duration(late / float64(g.Ended) * float64(time.Second)).Round(time.Millisecond))
	}
	return g
}

// RunView is a run in detail.
type RunView struct {
	head
	report.Run

	// CountedAt is when it was counted.
	CountedAt time.Time `json:"counted_at,omitzero"`
	// Moves says what it is doing, and what it waits for.
	Moves []string `json:"moves"`
	// Set are its settings, those first that are not the usual ones.
	Set []RunSetting `json:"-"`
}

// RunSetting is a setting of a run.
type RunSetting struct {
	settings.Setting

	Value string
	// Usual says that it is the default.
	Usual bool
	// Last is who has changed it last; zero is nobody since the run was made.
	Last crawl.RunChange
}

// setOf tells a run's settings.
func setOf(run report.Run) []RunSetting {
	usual := settings.Settings{}.WithDefaults()
	var all []RunSetting
	for _, setting := range settings.All() {
		one := RunSetting{Setting: setting, Value: setting.Of(run.Settings)}
		one.Usual = one.Value == setting.Of(usual)
		for _, c := range run.Changes { // the latest first
			if _, of := c.Value[setting.Name]; of {
				one.Last = c
				break
			}
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b RunSetting) int {
		switch {
		case a.Usual == b.Usual:
			return 0
		case a.Usual:
			return 1
		}
		return -1
	})
	return all
}

// namedLong is how many domains of a kind are named.
const namedLong = 50

func (s *Server) run(r *http.Request) (view, error) {
	run, err := s.Store.Run(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := &RunView{head: head{Now: s.Now(), name: run.Name}}
	v.Run, v.CountedAt, err = s.reports.of(r.Context(), run.Name, func(ctx context.Context) (report.Run, error) {
		return s.Counts.RunReport(ctx, run, namedLong)
	})
	counting := errors.Is(err, errCounting)
	if err != nil && !counting {
		return nil, err
	}
	v.Run.Run = run // which is as of now
	v.Sentence = explain.Run(v.Progress, v.Now)
	if counting {
		v.Sentence = fmt.Sprintf("Run %s is %s; what it does is being counted for the first time, which takes long here.", run.Name, run.Status)
		return v, nil
	}
	v.Moves, v.Set = explain.Moves(v.Progress, v.Now), setOf(v.Run)
	return v, nil
}

// DomainsView is a list of domains.
type DomainsView struct {
	head

	Domains []report.DomainListing `json:"domains"`
	// CountedAt is when they were listed.
	CountedAt time.Time `json:"counted_at,omitzero"`
	// Counts is how many there are of each status; nil where they are too many, About, to be
	// counted.
	Counts map[crawl.DomainStatus]int64 `json:"counts,omitempty"`
	About  int64                        `json:"about"`

	Query report.DomainQuery `json:"-"`
	// Asked is the query that shows this list again.
	Asked    string               `json:"-"`
	Sorts    []string             `json:"-"`
	Statuses []crawl.DomainStatus `json:"-"`
}

// domainsShown is how many domains a list has.
const domainsShown = 100

func (s *Server) domains(r *http.Request) (view, error) {
	q := report.DomainQuery{
		Status: crawl.DomainStatus(r.FormValue("status")), Source: r.FormValue("source"),
		Sort: cmp.Or(r.FormValue("sort"), report.DomainSorts[0]), Limit: domainsShown,
	}
	if q.Status != "" && !slices.Contains(crawl.DomainStatuses, q.Status) {
		return nil, fmt.Errorf("%w: status %q: want one of %v", errAsked, q.Status, crawl.DomainStatuses)
	}
	if !slices.Contains(report.DomainSorts, q.Sort) {
		return nil, fmt.Errorf("%w: sort %q: want one of %v", errAsked, q.Sort, report.DomainSorts)
	}
	all, at, err := s.lists.of(r.Context(), fmt.Sprintf("%+v", q), func(ctx context.Context) ([]report.DomainListing, error) {
		return s.Counts.Domains(ctx, q)
	})
	if err != nil {
		return nil, err
	}
	v := &DomainsView{
		head: head{Now: s.Now()}, Domains: all, CountedAt: at, Query: q, Asked: r.URL.RawQuery,
		Sorts: report.DomainSorts, Statuses: crawl.DomainStatuses,
	}
	if v.Counts, v.About, err = s.Store.DomainsByStatus(r.Context()); err != nil {
		return nil, err
	}
	v.Sentence = explain.Count(int64(len(all)), "domain") + ", ordered by " + q.Sort + "."
	if len(all) == domainsShown {
		v.Sentence = fmt.Sprintf("The first %d domains, ordered by %s.", domainsShown, q.Sort)
	}
	return v, nil
}

// DomainView is what is known of a domain, and what is to become of it.
type DomainView struct {
	head

	Why     explain.Why          `json:"why"`
	Domain  report.Domain        `json:"domain"`
	History report.DomainHistory `json:"history"`
	UI      string               `json:"temporal_ui,omitempty"`
	// Attempts is how many of them are shown.
	Attempts int `json:"-"`
}

func (s *Server) domain(r *http.Request) (view, error) {
	name, err := domainNamed(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := &DomainView{head: head{Now: s.Now(), name: name}}
	if v.Why, err = explain.Of(r.Context(), s.Store, name, nil); err != nil {
		return nil, err
	}
	if v.Attempts, err = attempts(r); err != nil {
		return nil, err
	}
	v.Domain, err = s.Store.Domain(r.Context(), name)
	if err == nil {
		v.History, err = s.Store.DomainHistory(r.Context(), name, v.Attempts)
	}
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return nil, err
	}
	v.Sentence = explain.OneLine(name + ": " + v.Why.Answer + ".")
	if s.TemporalUI != "" && v.Domain.Domain != "" {
		v.UI = s.TemporalUI + "/workflows/" + url.PathEscape(crawl.DomainWorkflowID(name))
	}
	return v, nil
}

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
	v.Page, err = s.Store.Page(r.Context(), u.Domain(), u.String())
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return nil, err
	}
	if v.Known = err == nil; v.Known {
		if v.Links, err = s.Store.PageLinks(r.Context(), u.Domain(), u.String(), linksShown); err != nil {
			return nil, err
		}
	}
	v.Sentence = explain.OneLine("This page is " + v.Why.Answer + ".")
	return v, nil
}
