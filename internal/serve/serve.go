package serve

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/export"
	"github.com/mosey-web/mosey/search"
)

// Store reads the pages' data.
type Store interface {
	explain.Store
	search.Store
	CountStore
	DomainStore
	ImageStore
	export.FeedStore

	Watch(ctx context.Context) (report.Watch, error)
	EndedGaps(ctx context.Context, since, until time.Time, bounds []float64) ([]report.EndedGaps, error)
	// Outcomes counts the outcomes of a run, or of all runs if runID is 0.
	Outcomes(ctx context.Context, runID int64, since time.Time, step time.Duration, spans int) (report.OutcomeSeries, error)
}

// CountStore runs slow statements.
type CountStore interface {
	Runs(ctx context.Context) ([]crawl.Run, error)
	Run(ctx context.Context, name string) (crawl.Run, error)
	Progress(ctx context.Context, run crawl.Run) (report.Progress, error)
	RunReport(ctx context.Context, run crawl.Run, limit int) (report.Run, error)
	Domains(ctx context.Context, q report.DomainQuery) ([]report.DomainListing, error)
}

// DomainStore reads domains and their pages.
type DomainStore interface {
	DomainsByStatus(ctx context.Context) (counts map[crawl.DomainStatus]int64, about int64, err error)
	DomainHistory(ctx context.Context, domain string, limit int) (report.DomainHistory, error)
	// History returns the latest attempts, the newest first. Its filters are optional.
	History(ctx context.Context, domain string, outcome crawl.Outcome, since time.Time, limit int) ([]report.Attempt, error)
	RobotsText(ctx context.Context, origin string, version int64) (crawl.RobotsText, error)
	PageLinks(ctx context.Context, domain, url string, limit int) (report.PageLinks, error)
}

// ImageStore reads images.
type ImageStore interface {
	Images(ctx context.Context, f report.ImageFilter) ([]report.ImageRow, error)
	ImageContent(ctx context.Context, sha256 string) (crawl.ImageFacts, error)
	ImageHash(ctx context.Context, sha256, url string) (crawl.ImageContent, error)
	SimilarImages(ctx context.Context, to crawl.ImageContent, distance, limit int) ([]report.SimilarImage, error)
	ImageCopies(ctx context.Context, similar bool, limit int) ([]report.ImageCopies, error)
}

// Config configures a Server.
type Config struct {
	Store Store
	// Counts is the same database, for statements that exceed the time for a page.
	Counts CountStore
	// Hosts are names of the server, besides those of this machine. It rejects other names, so that
	// a stranger's page cannot reach it by its own name.
	Hosts []string
	// TemporalUI is the address of Temporal's web UI, up to the namespace. Empty means unknown.
	TemporalUI string
	// Temporal fails if Temporal does not respond until ctx ends. Nil means that its address is
	// unknown.
	Temporal   func(context.Context) error
	SearchOnly bool
	Pictures   Pictures
	Changes    Changes // nil forbids all changes
	Access     Access
	// TimedOut reports whether an error is a timeout of the database.
	TimedOut func(error) bool
	Logger   *slog.Logger
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Server serves the pages. It is safe for concurrent use.
type Server struct {
	Config

	// templates of pages, by name
	templates    map[string]*template.Template
	searcher     *search.Searcher
	mux          *http.ServeMux
	stop         context.CancelFunc // ends the counting
	progress     cache[report.Progress]
	reports      cache[report.Run]
	watch        cache[watchCounts]
	lists        cache[[]report.DomainListing]
	temporalDown cache[bool]   // set while Temporal does not respond
	eventStreams chan struct{} // has an element for each stream of events
	forms        chan struct{} // has an element for each admitted form
	// uploadTimeout is the constant, or a test's value
	uploadTimeout time.Duration
}

//go:embed templates
var templates embed.FS

//go:embed static
var static embed.FS

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	now := cfg.Now
	cfg.Now = func() time.Time { return now().UTC() } // the zone of the pages, see static/mosey.js
	s := &Server{
		Config: cfg, templates: make(map[string]*template.Template), searcher: search.New(cfg.Store), mux: http.NewServeMux(),
		eventStreams: make(chan struct{}, maxEventStreams), forms: make(chan struct{}, maxForms), uploadTimeout: uploadTimeout,
	}
	base, stop := context.WithCancel(context.Background())
	s.stop = stop
	//nolint:fatcontext // the caches outlive requests
	s.progress.base, s.reports.base, s.watch.base, s.lists.base, s.temporalDown.base = base, base, base, base, base
	s.reports.turn, s.lists.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	s.temporalDown.maxAge = temporalInterval
	if err := s.parse(); err != nil {
		return nil, err
	}
	s.route()
	return s, nil
}

func (s *Server) parse() error {
	frame, err := template.New("frame.html").Funcs(s.funcs()).
		ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/charts.html")
	if err != nil {
		return fmt.Errorf("read the templates: %w", err)
	}
	for _, p := range append(pages, problemPage) {
		copied, err := frame.Clone()
		if err == nil {
			copied, err = copied.ParseFS(templates, "templates/"+p.name+".html")
		}
		if err != nil {
			return fmt.Errorf("read the template of %s: %w", p.name, err)
		}
		s.templates[p.name] = copied
	}
	return nil
}

func (s *Server) route() {
	if !s.SearchOnly {
		s.mux.HandleFunc("GET /images/{sha256}", s.thumbnail)
		s.mux.HandleFunc("GET "+feedPath, s.feed)
	}
	for _, p := range pages {
		if s.SearchOnly && !p.isPublic {
			continue
		}
		s.mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) { s.html(w, r, p) })
		s.mux.HandleFunc("GET /api/"+p.api, func(w http.ResponseWriter, r *http.Request) { s.json(w, r, p) })
		if p.live {
			s.mux.HandleFunc("GET /events/"+p.api, func(w http.ResponseWriter, r *http.Request) { s.events(w, r, p) })
		}
		if p.acceptsForm {
			s.mux.HandleFunc("POST "+p.path, s.limitForms(func(w http.ResponseWriter, r *http.Request) { s.html(w, r, p) }))
		}
		if p.change != nil {
			s.mux.HandleFunc("POST "+p.path, s.handleChange(p.change))
		}
	}
	s.mux.HandleFunc("GET /opensearch.xml", s.openSearch)
	s.mux.HandleFunc("GET /api/openapi.json", s.describe)
	if s.SearchOnly {
		s.mux.Handle("GET /{$}", http.RedirectHandler("/search", http.StatusFound))
	}
	s.mux.Handle("GET /static/", http.FileServerFS(static))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.problem(w, r, errNoPage) })
}

// Handler returns the guarded handler, with limits if it is open to the public.
func (s *Server) Handler() (http.Handler, error) {
	if !s.SearchOnly {
		return s.guard(s.mux), nil
	}
	l, err := newLimits()
	if err != nil {
		return nil, fmt.Errorf("bound the search: %w", err)
	}
	return s.guard(l.limit(s.mux)), nil
}

// Close ends the counting.
func (s *Server) Close() { s.stop() }
