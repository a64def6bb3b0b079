package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
)

type page struct {
	// name is the page's template, path its pattern, and api its JSON's path below /api/.
	name, path, api string
	title           string
	isPublic        bool // to the public
	live            bool // has events
	acceptsForm     bool // also accepts a form, too long for an address
	// load may return a view with an input error. Then the page shows its form with the error.
	load func(s *Server, r *http.Request) (view, error)
	// viewType has load's type. params alternates the names and descriptions of query parameters.
	viewType view
	params   []string
	change   change // nil if its forms change nothing
}

type view interface{ common() *head }

type head struct {
	// Sentence is the beginning of the page.
	Sentence string    `json:"sentence"`
	Now      time.Time `json:"now"`
	// Notice describes a failure of the whole system, or is empty.
	Notice string `json:"notice"`
	// name is the subject in the title, or empty.
	name string
	// By names the reader if he may make changes, or is empty.
	By string `json:"-"`
}

func (h *head) common() *head { return h }

// pages lists all pages, in the order of the navigation.
var pages = []page{
	{
		name: "overview", path: "/{$}", api: "overview", title: "Overview", live: true,
		load: (*Server).overview, viewType: (*Overview)(nil), params: spanParam,
	},
	{
		name: "run", path: "/runs/{name}", api: "runs/{name}", title: "Run", live: true,
		load: (*Server).run, viewType: (*RunView)(nil), change: changeRun, params: spanParam,
	},
	{
		name: "domains", path: "/domains", api: "domains", title: "Domains",
		load: (*Server).domains, viewType: (*DomainsView)(nil), change: changeDomains,
		params: []string{
			"status", "only domains of this status", "sort", "the sort order: " + strings.Join(report.DomainSorts, ", "),
			"source", "only domains from a seed list of this kind", "rank", "only domains up to this rank in the list",
			"errors", "only domains with at least this percentage of failed recent requests",
			"due", "if not empty, only domains with due pages", "lang", "only domains with a page in this language",
			"waits", "only active domains that wait for this reason",
		},
	},
	{
		name: "domain", path: "/domains/{name}", api: "domains/{name}", title: "Domain", live: true,
		load: (*Server).domain, viewType: (*DomainView)(nil), change: changeDomain,
		params: []string{"n", "the number of attempts"},
	},
	{
		name: "images", path: "/images", api: "images", title: "Images", acceptsForm: true, load: (*Server).images, viewType: (*ImagesView)(nil),
		params: []string{
			"domain", "only images that pages of this domain name", "format", "only images of this format",
			"similar", "only images similar to the one with this SHA-256",
			"of", "copies lists images with several URLs, similar lists images that look the same",
		},
	},
	{name: "live", path: "/live", api: "live", title: "Live", live: true, load: (*Server).live, viewType: (*LiveView)(nil)},
	{
		name: "url", path: "/url", api: "url", title: "Page", load: (*Server).url, viewType: (*URLView)(nil), change: changeURL,
		params: []string{"u", "the URL"},
	},
	{
		name: "robots", path: "/robots", api: "robots", title: "robots.txt", acceptsForm: true, load: (*Server).robots,
		viewType: (*RobotsView)(nil),
		params:   []string{"u", "the URL", "agent", "the product token of the crawler", "text", "a robots.txt to test instead of the stored one"},
	},
	{
		name: "search", path: "/search", api: "search", title: "Search", isPublic: true, load: (*Server).search, viewType: (*SearchView)(nil),
		params: []string{
			"q", "the words", "lang", "a language tag", "domain", "only pages of this domain",
			"offset", "the number of results to skip",
		},
	},
}

var (
	errNoPage         = errors.New("this page does not exist")
	errBadRequest     = errors.New("invalid request")
	errTooManyUploads = errors.New("too many uploads are being received: send yours again in ten seconds")
	errUploadTooSlow  = errors.New("the upload took too long to arrive: send a smaller file")
)

// requestedURL returns the page that an operator named in a form.
func (s *Server) requestedURL(ctx context.Context, text string) (urls.URL, error) {
	name, err := urls.ReadPage(text)
	if err != nil {
		return urls.URL{}, err
	}
	return explain.FindPage(ctx, s.Store, name)
}
