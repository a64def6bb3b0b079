package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Store keeps what is told.
type Store interface {
	// TakeNotice keeps a notice, in one bounded transaction.
	TakeNotice(ctx context.Context, n crawl.Notice) (crawl.NoticeTaken, error)
}

// Config is what a Server needs.
type Config struct {
	Store Store
	// URL is where the public reaches the server: [Address] has checked it. All paths are below its
	// own.
	URL    string
	Logger *slog.Logger
}

// Server answers those who tell something. It is safe for concurrent use.
type Server struct {
	Config

	limits     *limits
	bodyWithin time.Duration
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	l, err := newLimits()
	if err != nil {
		return nil, fmt.Errorf("bound what may be told: %w", err)
	}
	return &Server{cfg, l, bodyWithin}, nil
}

// Close ends what the server does beside. It is to be called once, after the last request.
func (s *Server) Close() { s.limits.close() }

// Address checks the public address of a server, and returns it without a slash at its end.
func Address(raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("want http or https, a host, and perhaps a path")
	case strings.ContainsAny(u.Path, "{} "):
		return "", errors.New("its path has a brace or a space")
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"), nil
}

// answerer answers what was taken, and what was not.
type answerer func(w http.ResponseWriter, n crawl.Notice, refused []Refused, taken crawl.NoticeTaken)

// Handler answers below the path of the server's URL.
func (s *Server) Handler() (http.Handler, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("read the address of the listener: %w", err)
	}
	base := strings.TrimRight(u.Path, "/")
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"/{$}", s.about)
	mux.HandleFunc("GET "+base+"/indexnow", s.taking(false, ping, func(_ http.ResponseWriter, r *http.Request) (told, *problem) {
		return queried(r, "indexnow")
	}))
	mux.HandleFunc("POST "+base+"/indexnow", s.taking(false, ping, func(w http.ResponseWriter, r *http.Request) (told, *problem) {
		return s.posted(w, r, "indexnow")
	}))
	mux.HandleFunc("POST "+base+"/api/recrawl", s.taking(true, recrawl, func(w http.ResponseWriter, r *http.Request) (told, *problem) {
		return s.posted(w, r, "recrawl")
	}))
	return mux, nil
}

// about tells people what this is.
func (s *Server) about(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "Mosey, a web crawler, listens here to owners of sites who tell what is new.\n\n"+
		"IndexNow         %s/indexnow\nCrawl pages again  POST %s/api/recrawl\n\n"+
		"Both want a key file on the host, as https://www.indexnow.org/documentation says.\n", s.URL, s.URL)
}

// taking reads what is told, keeps it and answers. With some it takes what can be taken, and
// without it all or nothing.
func (s *Server) taking(some bool, answer answerer, read func(http.ResponseWriter, *http.Request) (told, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		fail := func(p *problem) { s.fail(w, some, p) }
		leave, wait := s.limits.admit(r)
		if wait > 0 {
			again(w, wait)
			fail(problemf(http.StatusTooManyRequests, "you, or all together, ask too often: wait"))
			return
		}
		defer leave()
		t, wrong := read(w, r)
		if wrong != nil {
			fail(wrong)
			return
		}
		n, refused, wrong := t.notice()
		switch {
		case wrong != nil:
			fail(wrong)
			return
		case len(refused) > 0 && (!some || len(n.URLs) == 0):
			fail(invalid("nothing is taken: %s: %s", refused[0].URL, refused[0].Why))
			return
		}
		if wait := s.limits.key(n); wait > 0 {
			again(w, wait)
			fail(problemf(http.StatusTooManyRequests, "more than %d URLs an hour with this key", hourOfURLs))
			return
		}
		taken, err := s.Store.TakeNotice(r.Context(), n)
		switch {
		case err != nil:
			s.Logger.WarnContext(r.Context(), "could not keep what an owner told", "host", n.Host, "error", err)
			again(w, time.Minute)
			fail(problemf(http.StatusServiceUnavailable, "it cannot be kept now"))
		case taken.State == crawl.NoticeFull:
			again(w, 10*time.Minute)
			fail(problemf(http.StatusTooManyRequests, "too much waits to be looked at"))
		default:
			answer(w, n, refused, taken)
		}
	}
}

func (s *Server) fail(w http.ResponseWriter, json bool, p *problem) {
	if json {
		writeJSON(w, p.status, map[string]string{"error": p.why})
		return
	}
	http.Error(w, p.why, p.status)
}

// again says when to ask again, in whole seconds.
func again(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(max(wait.Seconds(), 1)))))
}

// queried is what the URL of a GET says.
func queried(r *http.Request, by string) (told, *problem) {
	q := r.URL.Query()
	page := q.Get("url")
	u, err := urls.Parse(page)
	if err != nil {
		return told{}, problemf(http.StatusBadRequest, "want ?url= with the URL of a page, and key=")
	}
	return told{host: hostOf(u), key: q.Get("key"), keyLocation: q.Get("keyLocation"), urls: []string{page}, by: by}, nil
}

// ping answers as IndexNow has it.
func ping(w http.ResponseWriter, _ crawl.Notice, _ []Refused, taken crawl.NoticeTaken) {
	switch taken.State {
	case crawl.NoticeVerified:
		w.WriteHeader(http.StatusOK)
	case crawl.NoticeRefused:
		http.Error(w, "the key is not valid: "+taken.Why, http.StatusForbidden)
	default: // also what is ignored: who asks is not told what is crawled
		w.WriteHeader(http.StatusAccepted)
	}
}

// recrawled is the answer of /api/recrawl.
type recrawled struct {
	Host string `json:"host"`
	// KeyFile is where the key is looked for, and Proof how that went: waiting, verified or refused.
	KeyFile string            `json:"key_file"`
	Proof   crawl.NoticeState `json:"proof"`
	Why     string            `json:"why,omitempty"`
	// Until is when a key that was refused is looked at again.
	Until time.Time `json:"until,omitzero"`
	// Taken is how many URLs were taken, and Refused are the others.
	Taken   int       `json:"taken"`
	Refused []Refused `json:"refused"`
	// Earliest is when the first of them may be asked for at the earliest; zero is not known.
	Earliest time.Time `json:"earliest,omitzero"`
}

// recrawl answers in JSON.
func recrawl(w http.ResponseWriter, n crawl.Notice, refused []Refused, taken crawl.NoticeTaken) {
	a := recrawled{
		Host: n.Host, KeyFile: n.KeyURL, Proof: taken.State, Why: taken.Why, Until: taken.Until, Taken: len(n.URLs),
		Refused: append([]Refused{}, refused...), Earliest: taken.Earliest,
	}
	status := http.StatusAccepted
	switch taken.State {
	case crawl.NoticeVerified:
		status = http.StatusOK
	case crawl.NoticeRefused:
		status, a.Taken = http.StatusForbidden, 0
	default:
		a.Proof = crawl.NoticeWaiting // as ping does
	}
	writeJSON(w, status, a)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that went away is no fault
}
