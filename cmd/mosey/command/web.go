package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/telemetry"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/serve"
)

// WebPortDefault is the port of the web page, if it is free.
const WebPortDefault = "8470"

const minTokenLen = 16

// WebFlags configure the web page's address and access.
type WebFlags struct {
	Web     string   `help:"Address of the web page, or off. Default: port 8470 on localhost, or a free port if it is taken." expert:"" placeholder:"[HOST]:PORT|off"`
	WebHost []string `help:"Additional host name under which the web page is reached. Repeatable." expert:"" placeholder:"NAME"`

	WebToken      string `help:"Token that allows changes on the web page. Default: a generated token if the page is on localhost alone, else no changes." expert:"" secret:"" placeholder:"TEXT"`
	WebUserHeader string `help:"Header in which a reverse proxy names the signed-in user, who may then make changes on the web page." expert:"" placeholder:"NAME"`
}

// Web serves the web page.
type Web struct {
	// URL is its address; empty if it is off.
	URL   string
	token string

	stop   func() error // stops serving
	pages  *serve.Server
	stores []*db.Store
}

// WebOptions are the further options of a web page.
type WebOptions struct {
	// DatabaseURL is the database to show.
	DatabaseURL string
	// TemporalUI is the URL of Temporal's web UI with the namespace; empty if unknown.
	TemporalUI string
	// Temporal returns an error if Temporal does not respond; nil if it is unknown.
	Temporal func(context.Context) error
	// SearchOnly serves nothing but the search.
	SearchOnly bool
	// Changes makes changes; nil means read-only.
	Changes serve.Changes
	// TokenFile stores the generated token; empty means a new token with each start.
	TokenFile string
	// Images is the image store; empty means that there is no store.
	Images string
	// User names the operator at the command line.
	User   string
	Logger *slog.Logger
}

// Serve starts to serve the web page; it returns nil if the page is off.
func (f WebFlags) Serve(ctx context.Context, o WebOptions) (_ *Web, err error) {
	if f.Web == "off" {
		return nil, nil //nolint:nilnil // off
	}
	listener, err := f.listen(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, listener.Close())
		}
	}()
	store, err := db.OpenPages(ctx, o.DatabaseURL)
	if err != nil {
		return nil, wiring.Describe(err)
	}
	counts, err := db.OpenCounts(ctx, o.DatabaseURL)
	if err != nil {
		store.Close()
		return nil, wiring.Describe(err)
	}
	stores := []*db.Store{store, counts}
	defer func() {
		if err != nil {
			closeAll(stores)
		}
	}()
	if err := wiring.CheckSchema(ctx, store); err != nil {
		return nil, err
	}
	token, err := f.token(listener.Addr(), o)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, len(f.WebHost))
	for i, host := range f.WebHost {
		hosts[i] = strings.ToLower(host)
	}
	server, err := serve.New(serve.Config{
		Store: store, Counts: counts, Hosts: hosts, TemporalUI: o.TemporalUI, Temporal: o.Temporal, SearchOnly: o.SearchOnly,
		TimedOut: db.TimedOut, Logger: o.Logger,
		Changes: o.Changes, Pictures: NewThumbnails(o.Images), Access: serve.Access{Token: token, UserHeader: f.WebUserHeader, By: o.User},
	})
	if err != nil {
		return nil, err
	}
	handler, err := server.Handler()
	if err != nil {
		return nil, err
	}
	w := &Web{URL: "http://" + listener.Addr().String(), pages: server, stores: stores}
	if f.WebToken == "" { // a given token is not ours to print
		w.token = token
	}
	w.stop = telemetry.ServeHTTP(listener, boundedServer(handler, o.Logger, slog.LevelDebug))
	return w, nil
}

func boundedServer(handler http.Handler, logger *slog.Logger, level slog.Level) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(logger.Handler(), level),
	}
}

func (f WebFlags) listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	if f.Web == "" {
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", WebPortDefault))
		if err != nil {
			listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
		}
		return listener, err
	}
	return Listen(ctx, "--web", f.Web, "an address such as :8470 or 10.0.0.1:8470, or off")
}

// token returns the token that allows changes. It generates one only for a page on this machine.
func (f WebFlags) token(at net.Addr, o WebOptions) (string, error) {
	tcp, is := at.(*net.TCPAddr)
	switch {
	case o.Changes == nil:
		return "", nil
	case f.WebToken != "":
		if len(f.WebToken) < minTokenLen {
			return "", wiring.Usagef("--web-token: %d characters: want %d or more, such as the output of openssl rand -hex 16",
				len(f.WebToken), minTokenLen)
		}
		return f.WebToken, nil
	case !is || !tcp.IP.IsLoopback() || len(f.WebHost) > 0 || f.WebUserHeader != "":
		return "", nil // others may reach it
	case o.TokenFile == "":
		return rand.Text(), nil
	}
	return storedToken(o.TokenFile)
}

func storedToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if text := strings.TrimSpace(string(data)); err == nil && len(text) >= minTokenLen {
		return text, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the token of the web page: %w", err)
	}
	token := rand.Text()
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("store the token of the web page: %w", err)
	}
	return token, nil
}

// Address returns the address of the web page, or "" if it is not served.
func (w *Web) Address() string {
	if w == nil {
		return ""
	}
	return w.URL
}

// SignInURL returns the URL of a path for the operator at the command line, with the token.
func (w *Web) SignInURL(path string) string {
	address := w.URL + path
	if w.token != "" {
		address += "?token=" + url.QueryEscape(w.token)
	}
	return address
}

// Close stops serving. It does nothing if w is nil or has only the address of another process.
func (w *Web) Close() error {
	if w == nil || w.stop == nil {
		return nil
	}
	err := w.stop()
	w.pages.Close()
	closeAll(w.stores)
	return err
}

func closeAll(stores []*db.Store) {
	for _, store := range stores {
		store.Close()
	}
}

// Listen listens at a flag's address, by default on this machine alone. want describes valid ones.
func Listen(ctx context.Context, flag, address, want string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, wiring.Usagef("%s %q: want %s", flag, address, want)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
}

// ServeUntil serves requests until a context ends.
func ServeUntil(ctx context.Context, listener net.Listener, handler http.Handler, logger *slog.Logger) error {
	server := boundedServer(handler, logger, slog.LevelWarn)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// TokenFile returns the file of the web page's token in a data directory, or "" if dir is empty.
func TokenFile(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "web-token")
}
