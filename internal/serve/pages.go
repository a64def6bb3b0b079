package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/search"
)

// page is one page of the site.
type page struct {
	// name is that of its template, path its pattern, and api that of its JSON below /api/.
	name, path, api string
	title           string
	// open says that it may be opened to the public.
	open bool
	load func(s *Server, r *http.Request) (view, error)
}

// view is what a page shows, and what its JSON is.
type view interface {
	// says is the sentence that the page begins with.
	says() string
	// about is what its title names; empty is nothing.
	about() string
}

// head is the common part of views.
type head struct {
	Sentence string    `json:"sentence"`
	Now      time.Time `json:"now"`
	name     string
}

func (h head) says() string  { return h.Sentence }
func (h head) about() string { return h.name }

// pages are all there are, in the order in which they are named above each page.
var pages = []page{
	{name: "overview", path: "/{$}", api: "overview", title: "Overview", load: (*Server).overview},
	{name: "run", path: "/runs/{name}", api: "runs/{name}", title: "Run", load: (*Server).run},
	{name: "domains", path: "/domains", api: "domains", title: "Domains", load: (*Server).domains},
	{name: "domain", path: "/domains/{name}", api: "domains/{name}", title: "Domain", load: (*Server).domain},
	{name: "url", path: "/url", api: "url", title: "Page", load: (*Server).url},
	{name: "search", path: "/search", api: "search", title: "Search", load: (*Server).search, open: true},
}

// errors of requests.
var (
	errNoPage = errors.New("there is no such page here")
	errAsked  = errors.New("asked for wrongly")
)

// Overview is all runs, and how the whole stands.
type Overview struct {
	head

	Runs  []report.Progress `json:"runs"`
	Watch report.Watch      `json:"watch"`
}

func (s *Server) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	runs, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	v := &Overview{head: head{Now: s.Now()}}
	for _, run := range runs {
		p, err := s.Store.Progress(ctx, run)
		if err != nil {
			return nil, err
		}
		v.Runs = append(v.Runs, p)
	}
	if v.Watch, err = s.Store.Watch(ctx); err != nil {
		return nil, err
	}
	v.Sentence = explain.Overall(v.Runs, v.Now)
	slices.Reverse(v.Runs) // the newest first
	return v, nil
}

// RunView is a run in detail.
type RunView struct {
	head
	report.Run

	// Moves says what it is doing, and what it waits for.
	Moves []string `json:"moves"`
}

// namedLong is how many domains of a kind are named.
const namedLong = 50

func (s *Server) run(r *http.Request) (view, error) {
	run, err := s.Store.Run(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := &RunView{head: head{Now: s.Now(), name: run.Name}}
	if v.Run, err = s.Store.RunReport(r.Context(), run, namedLong); err != nil {
		return nil, err
	}
	v.Sentence = explain.Run(v.Progress, v.Now)
	v.Moves = explain.Moves(v.Progress, v.Now)
	return v, nil
}

// DomainsView is a list of domains.
type DomainsView struct {
	head

	Domains  []report.DomainListing `json:"domains"`
	Query    report.DomainQuery     `json:"-"`
	Sorts    []string               `json:"-"`
	Statuses []crawl.DomainStatus   `json:"-"`
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
	all, err := s.Store.Domains(r.Context(), q)
	if err != nil {
		return nil, err
	}
	v := &DomainsView{head: head{Now: s.Now()}, Domains: all, Query: q, Sorts: report.DomainSorts, Statuses: crawl.DomainStatuses}
	v.Sentence = explain.Count(int64(len(all)), "domain") + ", ordered by " + q.Sort + "."
	if len(all) == domainsShown {
		v.Sentence = fmt.Sprintf("The first %d domains, ordered by %s.", domainsShown, q.Sort)
	}
	return v, nil
}

// DomainView is what is known of a domain, and what is to become of it.
type DomainView struct {
	head

	Why    explain.Why   `json:"why"`
	Domain report.Domain `json:"domain"`
	UI     string        `json:"temporal_ui,omitempty"`
}

func (s *Server) domain(r *http.Request) (view, error) {
	name, err := urls.DomainOf(r.PathValue("name"))
	if err != nil {
		return nil, fmt.Errorf("%w: domain %q: want a host name, such as example.org", errAsked, r.PathValue("name"))
	}
	v := &DomainView{head: head{Now: s.Now(), name: name}}
	if v.Why, err = explain.Of(r.Context(), s.Store, name, nil); err != nil {
		return nil, err
	}
	v.Domain, err = s.Store.Domain(r.Context(), name)
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
}

func (s *Server) url(r *http.Request) (view, error) {
	text := r.FormValue("u")
	v := &URLView{head: head{Now: s.Now()}}
	if text == "" {
		v.Sentence = "Name a page to see why it was fetched or not, and when it is next."
		return v, nil
	}
	u, err := urls.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: want an absolute http or https URL, such as https://example.org/", errAsked, err)
	}
	v.Asked, v.name = u.String(), u.String()
	if v.Why, err = explain.Of(r.Context(), s.Store, u.Domain(), &u); err != nil {
		return nil, err
	}
	v.Page, err = s.Store.Page(r.Context(), u.Domain(), u.String())
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return nil, err
	}
	v.Known = err == nil
	v.Sentence = explain.OneLine("This page is " + v.Why.Answer + ".")
	return v, nil
}

// SearchView is what a search has found.
type SearchView struct {
	head
	search.Answer

	Text   string `json:"query"`
	Lang   string `json:"lang,omitempty"`
	Domain string `json:"domain,omitempty"`
	Offset int    `json:"offset,omitempty"`
	Next   int    `json:"next,omitempty"`
}

func (s *Server) search(r *http.Request) (view, error) {
	v := &SearchView{
		head: head{Now: s.Now(), name: r.FormValue("q")},
		Text: r.FormValue("q"), Lang: r.FormValue("lang"), Domain: r.FormValue("domain"),
	}
	if v.Text == "" {
		v.Sentence = "Search the pages that were crawled."
		return v, nil
	}
	if text := r.FormValue("offset"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > search.OffsetMax {
			return nil, fmt.Errorf("%w: offset %q: want 0 to %d", errAsked, text, search.OffsetMax)
		}
		v.Offset = n
	}
	began := time.Now()
	answer, err := s.searcher.Find(r.Context(), search.Query{Text: v.Text, Language: v.Lang, Domain: v.Domain, Offset: v.Offset})
	if err != nil {
		return nil, err
	}
	v.Answer = answer
	took := time.Since(began).Round(time.Millisecond)
	switch n := len(answer.Results); {
	case n == 0 && v.Offset == 0:
		v.Sentence = fmt.Sprintf("Nothing is found for %s.", explain.OneLine(v.Text))
	case n == 0:
		v.Sentence = "There are no more results."
	default:
		v.Sentence = fmt.Sprintf("Results %d to %d, in %s.", v.Offset+1, v.Offset+n, took)
		if n == search.LimitDefault && v.Offset+n <= search.OffsetMax {
			v.Next = v.Offset + n
		}
	}
	return v, nil
}
