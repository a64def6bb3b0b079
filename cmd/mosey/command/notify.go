package command

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/serve"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/workflows"
)

// notifier notifies crawlers of a stored change. They find out by themselves later if it fails.
type notifier struct {
	store *db.Store
	// temporal calls fn if a Temporal is known to run.
	temporal func(ctx context.Context, fn func(workflows.Starter) error) error
}

func (t notifier) notifyDomain(ctx context.Context, domain string) error {
	runs, err := t.store.DomainRuns(ctx, domain)
	if err != nil || len(runs) == 0 {
		return err
	}
	return t.temporal(ctx, func(starter workflows.Starter) error {
		if err := starter.WakeDomain(ctx, domain); err != nil {
			return err
		}
		for _, run := range runs {
			if err := starter.StartCrawl(ctx, run); err != nil {
				return err
			}
		}
		return nil
	})
}

// notifyRun makes a run's dispatcher check it now; with wake its sleeping domains decide again.
func (t notifier) notifyRun(ctx context.Context, run crawl.Run, wake bool) error {
	if run.Status == crawl.RunDone {
		return nil
	}
	return t.temporal(ctx, func(starter workflows.Starter) error {
		if err := starter.StartCrawl(ctx, run.Name); err != nil || !wake {
			return err
		}
		claimed, err := t.store.ClaimedDomains(ctx, run.ID)
		if err != nil {
			return err
		}
		var group errgroup.Group
		group.SetLimit(maxParallelWakes)
		for _, d := range claimed {
			group.Go(func() error { return starter.StartDomain(ctx, d, run.Name, *run.Settings.PagesPerActivity) })
		}
		return group.Wait()
	})
}

// NewWebChanges returns the changes of a web page beside a running Temporal.
func NewWebChanges(store *db.Store, starter workflows.Starter, logger *slog.Logger) serve.Changes {
	return &webChanges{logger: logger, notifier: notifier{store, func(_ context.Context, fn func(workflows.Starter) error) error {
		return fn(starter)
	}}}
}

// webChanges makes the changes of the web page. It is safe for concurrent use.
type webChanges struct {
	notifier

	logger *slog.Logger
	// suspendedUntil suspends notifications until a time after a failure
	suspendedUntil atomic.Pointer[time.Time]
}

// suspendDuration suspends notifications after a failure, so that many changes do not each wait.
const suspendDuration = 15 * time.Second

// notify tries for a while to notify the crawlers, and logs a failure.
func (w *webChanges) notify(ctx context.Context, send func(context.Context) error) {
	if until := w.suspendedUntil.Load(); until != nil && time.Now().Before(*until) {
		return
	}
	if err := notifyWithTimeout(ctx, send); err != nil {
		until := time.Now().Add(suspendDuration)
		w.suspendedUntil.Store(&until)
		w.logger.Warn("could not notify the running crawl, which notices the change later", "error", err)
	}
}

// ChangeRun implements serve.Changes.
func (w *webChanges) ChangeRun(ctx context.Context, name string, c crawl.RunChange) error {
	run, err := w.store.ChangeRun(ctx, name, c)
	if err != nil {
		return err
	}
	w.notify(ctx, func(ctx context.Context) error { return w.notifyRun(ctx, run, c.Action == crawl.ChangeSet) })
	return nil
}

func (w *webChanges) afterDomainChange(ctx context.Context, domain string, err error) error {
	if err != nil {
		return err
	}
	w.notify(ctx, func(ctx context.Context) error { return w.notifyDomain(ctx, domain) })
	return nil
}

// SetControl implements serve.Changes.
func (w *webChanges) SetControl(ctx context.Context, domain string, c crawl.Control) error {
	return w.afterDomainChange(ctx, domain, w.store.SetControl(ctx, domain, c))
}

// LiftControls implements serve.Changes.
func (w *webChanges) LiftControls(ctx context.Context, domain, by string, kinds ...crawl.ControlType) error {
	return w.afterDomainChange(ctx, domain, w.store.LiftControls(ctx, domain, by, kinds...))
}

// RecrawlNow implements serve.Changes.
func (w *webChanges) RecrawlNow(ctx context.Context, name string, page urls.URL) error {
	run, err := w.store.Run(ctx, name)
	if err == nil {
		_, err = w.store.RecrawlNow(ctx, run, []urls.URL{page})
	}
	return w.afterDomainChange(ctx, page.Domain(), err)
}

// RetryDomain implements serve.Changes.
func (w *webChanges) RetryDomain(ctx context.Context, domain string) error {
	return w.afterDomainChange(ctx, domain, w.store.RetryDomain(ctx, domain))
}

// WithWeb calls fn with the options of a web page. Its database is WithDatabase's.
func WithWeb(ctx context.Context, e *Env, logger *slog.Logger, readOnly bool, fn func(WebOptions) error) error {
	return WithDatabase(ctx, e, func(url string) error {
		o := WebOptions{DatabaseURL: url, TemporalUI: TemporalUI(e), Logger: logger}
		o.Temporal = func(ctx context.Context) error {
			c, err := DialTemporal(ctx, e)
			if c != nil {
				c.Close()
			}
			return err
		}
		if readOnly {
			return fn(o)
		}
		store, err := wiring.OpenStore(ctx, url, nil)
		if err != nil {
			return err
		}
		defer store.Close()
		o.Changes, o.User = &webChanges{notifier: newNotifier(e, store), logger: logger}, CurrentUser()
		if e.Environ.Get("DATABASE_URL") == "" {
			dir, err := datadir.Resolve(e.DataDir)
			if err != nil {
				return err
			}
			o.TokenFile = TokenFile(dir)
		}
		return fn(o)
	})
}

// CurrentUser names the operator at the command line: user@host.
func CurrentUser() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name[:min(len(name), crawl.ControlByMax)]
}

// WakeTimeout bounds a signal to Temporal: commands must work without it, and a busy Temporal takes
// seconds.
const WakeTimeout = 5 * time.Second

// WakeDomain makes the dispatchers of a domain's runs check it now. It reports a failure; they find
// out later by themselves.
func WakeDomain(ctx context.Context, e *Env, store *db.Store, domain string) {
	Notify(ctx, e, "crawl, which notices the change later", func(ctx context.Context) error {
		return newNotifier(e, store).notifyDomain(ctx, domain)
	})
}

// Notify tries for a while to notify the crawlers, and reports a failure.
func Notify(ctx context.Context, e *Env, recipient string, send func(context.Context) error) {
	if err := notifyWithTimeout(ctx, send); err != nil {
		fmt.Fprintf(e.Stderr, "mosey: could not notify the running %s: %v\n", recipient, err)
	}
}

func notifyWithTimeout(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, WakeTimeout)
	defer cancel()
	return send(ctx)
}

func newNotifier(e *Env, store *db.Store) notifier {
	return notifier{store, func(ctx context.Context, fn func(workflows.Starter) error) error { return WithTemporal(ctx, e, fn) }}
}

// DialTemporal connects to the running Temporal; nil means that no Temporal is known to run.
func DialTemporal(ctx context.Context, e *Env) (*wiring.Client, error) {
	address := ""
	if wiring.TemporalAddress(e.Environ) == "" {
		if e.Environ.Get("DATABASE_URL") != "" {
			return nil, nil //nolint:nilnil // unknown Temporal
		}
		dir, err := datadir.Resolve(e.DataDir)
		if err != nil {
			return nil, err
		}
		info, running, err := datadir.AwaitReady(ctx, dir, e.note)
		if err != nil || !running || info.TemporalAddress == "" { // a command has the database alone
			return nil, err
		}
		address = info.TemporalAddress
	}
	return wiring.Dial(ctx, e.Environ, address, e.NewLogger(e.Stderr, ErrorsOnly), nil)
}

// WithTemporal calls fn if a Temporal is known to run.
func WithTemporal(ctx context.Context, e *Env, fn func(workflows.Starter) error) error {
	c, err := DialTemporal(ctx, e)
	if c == nil || err != nil {
		return err
	}
	defer c.Close()
	// Both are external and may not belong together.
	if e.Environ.Get("DATABASE_URL") != "" {
		err := WithStore(ctx, e, func(store *db.Store) error { return wiring.CheckNamespace(ctx, c, store) })
		if err != nil {
			return err
		}
	}
	return fn(workflows.Starter{Client: c})
}

// PrepareTemporal prepares the namespace of the environment's Temporal, if any, and reports its
// actions. It only warns of an unreachable Temporal, which may be started later.
func PrepareTemporal(ctx context.Context, e *Env) (actions []string, err error) {
	if wiring.TemporalAddress(e.Environ) == "" {
		return nil, nil // our own is prepared at each start
	}
	dialing, cancel := context.WithTimeout(ctx, prepareTimeout)
	c, err := DialTemporal(dialing, e)
	cancel()
	if wiring.IsUsage(err) {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(e.Stderr,
			"mosey: the database is migrated, and the search attributes are not checked: %v: give the command again later\n", err)
		return nil, nil
	}
	defer c.Close()
	return wiring.PrepareNamespace(ctx, c)
}

const prepareTimeout = 10 * time.Second

// NotifyRun makes a run's dispatcher check it now. With wake, sleeping domains decide again.
func NotifyRun(ctx context.Context, e *Env, store *db.Store, run crawl.Run, wake bool) {
	Notify(ctx, e, "crawl, which notices the change later", func(ctx context.Context) error {
		return newNotifier(e, store).notifyRun(ctx, run, wake)
	})
}

const maxParallelWakes = 16

// TemporalUI returns the web UI of the running Mosey, up to the namespace, or "" if unknown.
func TemporalUI(e *Env) string {
	if wiring.TemporalAddress(e.Environ) != "" {
		return "" // an external UI's address is unknown
	}
	info, running, err := RunningMosey(e)
	if err != nil || !running {
		return ""
	}
	return NamespaceURL(e, info.UIURL)
}

// NamespaceURL returns the URL of Temporal's web UI up to the namespace, or "" if ui is empty.
func NamespaceURL(e *Env, ui string) string {
	if ui == "" {
		return ""
	}
	return ui + "/namespaces/" + cmp.Or(e.Environ.Get("TEMPORAL_NAMESPACE"), "default")
}
