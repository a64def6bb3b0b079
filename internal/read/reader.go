package read

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/internal/request"
)

// Store is the rows that an answer is read with.
type Store interface {
	RobotsStore
	// ImageContent is what is stored of a content; the zero value is nothing.
	ImageContent(ctx context.Context, sha256 string) (crawl.ImageFacts, error)
	// HintRecrawl has hint say when pages of a run are due that have changed.
	HintRecrawl(
		ctx context.Context, runID int64, told []crawl.News,
		hint func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error),
	) error
}

// RobotsStore is the rows of robots.txt.
type RobotsStore interface {
	// Robots is what is stored for an origin. It is crawl.ErrNotFound if nothing is.
	Robots(ctx context.Context, origin string) (crawl.Robots, error)
}

// Rules names the sitemaps of an origin's robots.txt. It is crawl.ErrNotFound if nothing is stored.
type Rules interface {
	Sitemaps(ctx context.Context, origin string, version int64) ([]string, error)
}

// Config is what a Reader needs.
type Config struct {
	Store Store
	// Rules are the parsed robots.txt.
	Rules Rules
	// Languages names the languages of pages. The zero value knows what they declare.
	Languages language.Detector
	// Pictures reads images, within bounds of CPU and memory.
	Pictures *picture.Reader
	// Images is where images are stored; nil is nowhere: runs that want them stored wait.
	Images ImageStore
	// Warn is told what goes wrong and is got over.
	Warn func(ctx context.Context, message string, args ...any)
}

// Reader reads answers. It is safe for concurrent use.
type Reader struct {
	Config

	// parses bounds the CPU and memory that pages take
	parses *semaphore.Weighted
	health storeHealth
}

// New makes a reader.
func New(cfg Config) *Reader {
	return &Reader{Config: cfg, parses: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
}

// readerOf returns the method that reads a new or changed body of a kind. nil means that the
// body is not read: its page is only remembered as far as it takes to ask for it again.
func (r *reading) readerOf(k kinds.Kind) func(context.Context, *crawl.Attempt, *fetch.Response, crawl.Visit) error {
	switch {
	case k.Document():
		return r.page
	case k == kinds.Sitemap, k == kinds.Feed:
		return r.announced
	case k == kinds.Image:
		return r.image
	}
	return nil
}

// reading is one answer that is read for a crawl.
type reading struct {
	*Reader

	d   decide.Decision
	url urls.URL
	// last is what is known from the last visit as far as it still counts.
	last crawl.Visit
	// conditional is set if the request has conditions, so that 304 may be the answer.
	conditional bool
	// hidden is set if the page must not be found, for what kept says.
	hidden bool
	kept   usage.Usage
	// facts are those that the decision was made from.
	facts crawl.Facts
	// news is what a sitemap or a feed says of pages that may have been fetched before.
	news []crawl.News
}

// Crawl asks for the page of a decision's crawl, and reads the answer.
func (r *Reader) Crawl(facts crawl.Facts, d decide.Decision, u urls.URL) request.Ask {
	run, c := *d.Run, *d.Crawl
	last := decide.LastVisit(run, c)
	one := &reading{Reader: r, d: d, url: u, last: last, facts: facts}
	header := one.conditions()
	ask := request.Ask{
		URL: u, Header: header, WantBody: wantBody(c.Kind.Traits(), one.before), Read: one.answer, Settle: one.settle,
		Start: crawl.Start{CrawlID: c.ID, RunID: run.ID, Origin: c.Origin, URL: c.URL, Kind: c.Kind},
	}
	if ask.Retry = !decide.LastAttempt(run, c); ask.Retry {
		ask.Start.RetryPriority = new(decide.RetryPriority(c))
	}
	budgets := decide.BudgetsOf(run)
	if c.Kind.Image() {
		ask.Start.ImageBudget = budgets.OfImages
	} else {
		ask.Start.RunBudget, ask.Start.DomainBudget, ask.Start.RegisteredBudget = budgets.InAll, budgets.OfDomain, budgets.OfRegistered
	}
	return ask
}

// Probe asks for another page of the crawl's origin, to see how a domain is that has rested.
// It costs no budget, and what it finds is not stored.
func (r *Reader) Probe(d decide.Decision, u urls.URL) request.Ask {
	one := &reading{Reader: r, d: d, url: u}
	return request.Ask{
		URL: u, WantBody: wantBody(kinds.Page.Traits(), one.before), Read: one.probe,
		Start: crawl.Start{
			RunID: d.Run.ID, Origin: d.Crawl.Origin, URL: u.String(), Kind: kinds.Page, Prerequisite: true,
		},
	}
}

// conditions are the headers with which the server can answer 304. A page that must not be
// found because of a header is asked for without them: a 304 may leave out that the header
// does not say so any more.
func (r *reading) conditions() http.Header {
	header := http.Header{}
	kept, readable := decide.KeptUsage(*r.d.Crawl)
	r.kept, r.hidden = kept, readable && !usage.Listed(kept, r.facts.Now)
	var inPage usage.Usage
	inPage.AddKept(kept, false)
	if !r.hidden || !usage.Listed(inPage, r.facts.Now) {
		freshness.Conditions(r.last, header)
	}
	r.conditional = len(header) > 0
	return header
}

// before is the visit with which an answer is compared. It is empty, but for its time, if the
// page must not be found so far and may be now: then it is read, changed or not.
func (r *reading) before(resp *fetch.Response) crawl.Visit {
	if r.hidden {
		said := r.said(resp)
		if said.AddKept(r.kept, false); usage.Listed(said, r.facts.Now) {
			return crawl.Visit{At: r.last.At}
		}
	}
	return r.last
}

// wantBody decides whether a body is read: one of use, unless its header says that it is
// what it was at the last visit.
func wantBody(k *kinds.Traits, before func(*fetch.Response) crawl.Visit) func(*fetch.Response) bool {
	return func(r *fetch.Response) bool {
		return r.Status >= 200 && r.Status < 300 && k.Takes(r.MediaType) && (!k.Large || r.ContentLength <= k.MaxBytes) &&
			freshness.Unchanged(before(r), r.Status, freshness.NewVisit(r.Header, time.Now(), crawl.ContentHash{})) == ""
	}
}

// probe notes a login page, or the way to one.
func (r *reading) probe(ctx context.Context, x *request.Exchange) error {
	at, resp := &x.Attempt, x.Response
	if at.Outcome != crawl.OutcomeSuccess || extract.LoginURL(r.url) {
		return nil
	}
	if to, err := r.url.Resolve(resp.Header.Get("Location")); err == nil && resp.Status >= 300 {
		at.Login = extract.LoginURL(to)
		return nil
	}
	page, err := r.parse(ctx, at, resp)
	at.Login = page.Login
	return err
}
