package serve

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/search"
)

// Store is what the pages are read from.
type Store interface {
	explain.Store
	search.Store

	Runs(ctx context.Context) ([]crawl.Run, error)
	Run(ctx context.Context, name string) (crawl.Run, error)
	Progress(ctx context.Context, run crawl.Run) (report.Progress, error)
	RunReport(ctx context.Context, run crawl.Run, most int) (report.Run, error)
	Domains(ctx context.Context, q report.DomainQuery) ([]report.DomainListing, error)
	Watch(ctx context.Context) (report.Watch, error)
}

// Config says what is shown, and to whom.
type Config struct {
	Store Store
	// Hosts are names, beside those of this machine, by which the page may be asked for: with
	// others it is not served, so that no page of a stranger's gets here by a name of its own.
	Hosts []string
	// TemporalUI is the address of Temporal's web UI, up to the namespace; empty is unknown.
	TemporalUI string
	// SearchOnly serves nothing but the search.
	SearchOnly bool
	// TimedOut reports whether an error says that the database took too long.
	TimedOut func(error) bool
	Logger   *slog.Logger
	// Now is the clock; nil is the time.
	Now func() time.Time
}

// Server serves the pages. It is safe for concurrent use.
type Server struct {
	Config

	templates map[string]*template.Template
	searcher  *search.Searcher
	mux       *http.ServeMux
}

//go:embed templates
var templates embed.FS

//go:embed static
var static embed.FS

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.TimedOut == nil {
		cfg.TimedOut = func(error) bool { return false }
	}
	s := &Server{Config: cfg, templates: make(map[string]*template.Template), searcher: search.New(cfg.Store), mux: http.NewServeMux()}
	frame, err := template.New("frame.html").Funcs(s.funcs()).ParseFS(templates, "templates/frame.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	for _, p := range append(pages, problemPage) {
		copied, err := frame.Clone()
		if err == nil {
			copied, err = copied.ParseFS(templates, "templates/"+p.name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("read the template of %s: %w", p.name, err)
		}
		s.templates[p.name] = copied
	}
	for _, p := range pages {
		if cfg.SearchOnly && !p.open {
			continue
		}
		s.mux.HandleFunc("GET "+p.path, func(w http.ResponseWriter, r *http.Request) { s.html(w, r, p) })
		s.mux.HandleFunc("GET /api/"+p.api, func(w http.ResponseWriter, r *http.Request) { s.json(w, r, p) })
	}
	if cfg.SearchOnly {
		s.mux.Handle("GET /{$}", http.RedirectHandler("/search", http.StatusFound))
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, fmt.Errorf("read the static files: %w", err)
	}
	s.mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.problem(w, r, errNoPage) })
	return s, nil
}

// Handler is the whole of it, guarded.
func (s *Server) Handler() http.Handler { return s.guard(s.mux) }
