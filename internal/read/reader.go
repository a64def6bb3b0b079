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
	"github.com/mosey-web/mosey/internal/extra"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/internal/request"
)

// Store reads the rows that a response is read with.
type Store interface {
	RobotsStore
	// ImageContent returns the stored facts of a content; the zero value means nothing is stored.
	ImageContent(ctx context.Context, sha256 string) (crawl.ImageFacts, error)
	// HintRecrawl updates by hint the next visits of a run's pages that have changed.
	HintRecrawl(
		ctx context.Context, runID int64, notices []crawl.ChangeNotice,
		hint func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error),
	) error
}

// RobotsStore reads the rows of robots.txt.
type RobotsStore interface {
	// Robots returns the stored robots.txt of an origin, or crawl.ErrNotFound.
	Robots(ctx context.Context, origin string) (crawl.Robots, error)
}

// Rules reads stored robots.txt files, and notes the texts of pages.
type Rules interface {
	// Sitemaps returns the sitemaps of an origin's stored robots.txt, or crawl.ErrNotFound.
	Sitemaps(ctx context.Context, origin string, version int64) ([]string, error)
	// NoteText notes the text (traps.PageText.Text) that an origin gave for a new URL.
	NoteText(origin, url string, text uint64)
}

// Config configures a Reader.
type Config struct {
	Store Store
	// Rules reads the parsed robots.txt.
	Rules Rules
	// Languages detects the languages of pages. The zero value only reads declared languages.
	Languages language.Detector
	// Pictures reads images, within bounds of CPU and memory.
	Pictures *picture.Reader
	// Images stores images. If nil, runs that store images wait.
	Images ImageStore
	// Owners stores the signs of the owners of domains; nil looks for none.
	Owners   Owners
	Registry Registry
	// Program adds data to pages; nil adds none.
	Program *extra.Program
	// Warn logs errors that do not stop the reading.
	Warn func(ctx context.Context, message string, args ...any)
}

// Reader reads responses. It is safe for concurrent use.
type Reader struct {
	Config

	// parses bounds the CPU and memory of pages
	parses *semaphore.Weighted
	health storeHealth
}

// New returns a Reader.
func New(cfg Config) *Reader {
	return &Reader{Config: cfg, parses: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
}

// readerOf returns the method that reads a new or changed body of a kind. nil means that the body
// is not read: only the facts for its next request are stored.
func (r *reading) readerOf(k kinds.Kind) func(context.Context, *crawl.Attempt, *fetch.Response, crawl.Visit) error {
	switch {
	case k.Document():
		return r.page
	case k == kinds.Sitemap, k == kinds.Feed:
		return r.readAnnounced
	case k == kinds.Image:
		return r.image
	}
	return nil
}

type reading struct {
	*Reader

	d   decide.Decision
	url urls.URL
	// base is url as it is requested. References on the page are resolved on it.
	base urls.Spelt
	// last has the still valid facts of the last visit.
	last crawl.Visit
	// conditional is set if the request has conditions, so that the response may be a 304.
	conditional bool
	// hidden is set if storedUsage forbids that the page is found.
	hidden      bool
	storedUsage usage.Usage
	// pageUsage is the statement of the response that was read; nil if it was not read.
	pageUsage *usage.Usage
	// facts are the facts that the decision was made from.
	facts crawl.Facts
	// news lists changed pages that a sitemap or a feed names, and that may have been fetched before.
	news []crawl.ChangeNotice
}

// Crawl requests the page of a decision's crawl, and reads the response.
func (r *Reader) Crawl(facts crawl.Facts, d decide.Decision, u urls.URL) request.Request {
	run, c := *d.Run, *d.Attempt
	last := decide.LastVisit(run, c)
	one := &reading{Reader: r, d: d, url: u, base: urls.Spelt{URL: u, Target: c.Visit.RequestTarget}, last: last, facts: facts}
	header := one.conditions()
	req := request.Request{
		URL: one.base, Header: header, WantBody: wantBody(c.Kind.Traits(), one.comparedVisit),
		Read: one.handleResponse, Archives: one.archives, Settle: one.settle,
		Start: crawl.Start{AttemptID: c.ID, RunID: run.ID, Origin: c.Origin, URL: c.URL, Kind: c.Kind},
	}
	req.IsLongRead = r.Program != nil && c.Kind.Document()
	if req.Retry = !decide.LastAttempt(run, c); req.Retry {
		req.Start.RetryPriority = new(decide.RetryPriority(c))
	}
	decide.SetBudgets(run, &req.Start)
	return req
}

// Probe requests another page of the crawl's origin, to check the health of a rested domain. It
// costs no budget, and its content is not stored.
func (r *Reader) Probe(d decide.Decision, u urls.Spelt) request.Request {
	one := &reading{Reader: r, d: d, url: u.URL, base: u}
	return request.Request{
		URL: one.base, WantBody: wantBody(kinds.Page.Traits(), one.comparedVisit), Read: one.probe,
		Archives: func(*request.Exchange) bool { return false },
		Start: crawl.Start{
			RunID: d.Run.ID, Origin: d.Attempt.Origin, URL: u.String(), Kind: kinds.Page, Prerequisite: true,
		},
	}
}

// conditions returns the headers that let the server respond with 304. A page that is hidden
// because of a header is requested without them, because a 304 may omit that the header has
// changed.
func (r *reading) conditions() http.Header {
	header := http.Header{}
	storedUsage, readable := decide.StoredUsage(*r.d.Attempt)
	r.storedUsage, r.hidden = storedUsage, readable && !usage.Listed(storedUsage, r.facts.Now)
	var inPage usage.Usage
	inPage.AddStored(storedUsage, false)
	if !r.hidden || !usage.Listed(inPage, r.facts.Now) {
		freshness.Conditions(r.last, header)
	}
	r.conditional = len(header) > 0
	return header
}

// comparedVisit returns the visit that a response is compared with. It is empty, except its time,
// if the page was hidden and may be found now. Then it is read, changed or not.
func (r *reading) comparedVisit(resp *fetch.Response) crawl.Visit {
	if r.hidden {
		pageUsage := r.declaredUsage(resp)
		if pageUsage.AddStored(r.storedUsage, false); usage.Listed(pageUsage, r.facts.Now) {
			return crawl.Visit{At: r.last.At}
		}
	}
	return r.last
}

// wantBody reports whether to read a body. It skips useless bodies, and unchanged ones by the
// header.
func wantBody(k *kinds.Traits, previousVisit func(*fetch.Response) crawl.Visit) func(*fetch.Response) bool {
	return func(r *fetch.Response) bool {
		return r.Status >= 200 && r.Status < 300 && k.Accepts(r.MediaType) && (!k.Large || r.ContentLength <= k.MaxBytes) &&
			freshness.Unchanged(previousVisit(r), r.Status, freshness.NewVisit(r.Header, time.Now(), crawl.ContentHash{})) == ""
	}
}

// probe records a login page, or a redirect to one.
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
