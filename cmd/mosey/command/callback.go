package command

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/notify"
)

// CallbackListenDefault is where owners are listened to, behind a proxy.
const CallbackListenDefault = "127.0.0.1:8471"

// CallbackFlags say where owners of sites tell what is new.
type CallbackFlags struct {
	Callback       string `help:"Listen to owners of sites who tell what is new (IndexNow). This is the public URL under which they reach the listener. Default: off." expert:"" placeholder:"URL"`
	CallbackListen string `help:"Address that the listener has, behind a proxy that gives it its name. Default: 127.0.0.1:8471." expert:"" placeholder:"[HOST]:PORT"`
}

// Callback listens to owners of sites.
type Callback struct {
	// URL is the public address, and Listens the one of this machine.
	URL, Listens string

	http   *http.Server
	server *notify.Server
	store  *db.Store
	done   chan error
}

// address is the public address in its usual form; empty is that it is off.
func (f CallbackFlags) address() (string, error) {
	if f.Callback == "" {
		if f.CallbackListen != "" {
			return "", wiring.Usagef("--callback-listen %s: there is no listener without --callback URL, its public address", f.CallbackListen)
		}
		return "", nil
	}
	address, err := notify.Address(f.Callback)
	if err != nil {
		return "", wiring.Usagef("--callback %q: %s: want the public URL of the listener, such as https://crawler.example", f.Callback, err)
	}
	return address, nil
}

// Open begins to listen; nil is that it is off.
func (f CallbackFlags) Open(ctx context.Context, databaseURL string, logger *slog.Logger) (_ *Callback, err error) {
	address, err := f.address()
	if err != nil || address == "" {
		return nil, err
	}
	at := f.CallbackListen
	if at == "" {
		at = CallbackListenDefault
	}
	listener, err := Listen(ctx, "--callback-listen", at, "an address such as "+CallbackListenDefault)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, listener.Close())
		}
	}()
	store, err := db.OpenNotices(ctx, databaseURL)
	if err != nil {
		return nil, wiring.Describe(err)
	}
	defer func() {
		if err != nil {
			store.Close()
		}
	}()
	if err := wiring.CheckSchema(ctx, store); err != nil {
		return nil, err
	}
	server, err := notify.New(notify.Config{Store: store, URL: address, Logger: logger})
	if err != nil {
		return nil, err
	}
	handler, err := server.Handler()
	if err != nil {
		server.Close()
		return nil, err
	}
	c := &Callback{
		URL: address, Listens: listener.Addr().String(), server: server, store: store, done: make(chan error, 1),
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
			WriteTimeout: 30 * time.Second, IdleTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
			ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		},
	}
	go func() { c.done <- c.http.Serve(listener) }()
	return c, nil
}

// Close stops listening; nil is off.
func (c *Callback) Close() error {
	if c == nil {
		return nil
	}
	err := c.http.Close()
	if served := <-c.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	c.server.Close()
	c.store.Close()
	return err
}

// String tells where it is.
func (c *Callback) String() string { return c.URL + ", from " + c.Listens }
