package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/serve"
)

// WebPortDefault is where the web page is, if it is free.
const WebPortDefault = "8470"

// WebFlags say where the web page is served, and to whom.
type WebFlags struct {
	Web     string   `help:"Serve the web page at this address, or off. Default: port 8470 of this machine alone, or any that is free." expert:"" placeholder:"[HOST]:PORT|off"`
	WebHost []string `help:"Name by which the web page may be asked for, beside those of this machine. Repeatable." expert:"" placeholder:"NAME"`
}

// Web serves the web page.
type Web struct {
	// URL is its address; empty is none.
	URL string

	http  *http.Server
	store *db.Store
	done  chan error
}

// WebOptions are what a web page needs beside its flags.
type WebOptions struct {
	// DatabaseURL is the database it shows.
	DatabaseURL string
	// TemporalUI is the address of Temporal's web UI with the namespace; empty is unknown.
	TemporalUI string
	// SearchOnly serves nothing but the search.
	SearchOnly bool
	Logger     *slog.Logger
}

// Serve begins to serve the web page; nil is that it is off.
func (f WebFlags) Serve(ctx context.Context, o WebOptions) (_ *Web, err error) {
	if f.Web == "off" {
		return nil, nil //nolint:nilnil // off, which is no mistake
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
		return nil, describe(err)
	}
	hosts := make([]string, len(f.WebHost))
	for i, host := range f.WebHost {
		hosts[i] = strings.ToLower(host)
	}
	server, err := serve.New(serve.Config{
		Store: store, Hosts: hosts, TemporalUI: o.TemporalUI, SearchOnly: o.SearchOnly, TimedOut: db.TimedOut, Logger: o.Logger,
	})
	if err != nil {
		store.Close()
		return nil, err
	}
	w := &Web{
		URL: "http://" + listener.Addr().String(), store: store, done: make(chan error, 1),
		http: &http.Server{
			Handler: server.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
			WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
			ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		},
	}
	go func() { w.done <- w.http.Serve(listener) }()
	return w, nil
}

// listen takes the port that was chosen, or the usual one, or any.
func (f WebFlags) listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	if f.Web == "" {
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", WebPortDefault))
		if err != nil {
			listener, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
		}
		return listener, err
	}
	host, port, err := net.SplitHostPort(f.Web)
	if err != nil {
		return nil, Usagef("--web %q: want an address such as :8470 or 10.0.0.1:8470, or off", f.Web)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--web: %w", err)
	}
	return listener, nil
}

// Address is where the web page is; empty is nowhere.
func (w *Web) Address() string {
	if w == nil {
		return ""
	}
	return w.URL
}

// Close stops serving; nil is off.
func (w *Web) Close() error {
	if w == nil {
		return nil
	}
	err := w.http.Close()
	if served := <-w.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	w.store.Close()
	return err
}
