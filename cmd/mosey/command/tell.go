package command

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/workflows"
)

// teller tells who crawls of a change that is stored. What is not told is found out, later.
type teller struct {
	store *db.Store
	// temporal calls fn if there is a Temporal that is known to run.
	temporal func(ctx context.Context, fn func(workflows.Starter) error) error
}

// domain has the dispatchers of a domain's runs look at it now.
func (t teller) domain(ctx context.Context, domain string) error {
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

// run has a run's dispatcher look at it now, and with wake its domains that sleep decide again.
func (t teller) run(ctx context.Context, run crawl.Run, wake bool) error {
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
		group.SetLimit(wakeParallel)
		for _, d := range claimed {
			group.Go(func() error { return starter.StartDomain(ctx, d, run.Name, *run.Settings.PagesPerActivity) })
		}
		return group.Wait()
	})
}

// webChanges are those that are made on the web page. It is safe for concurrent use.
type webChanges struct {
	teller

	logger *slog.Logger
	// untold is until when nobody is told, since it failed just now
	untold atomic.Pointer[time.Time]
}

// untoldSpan is for how long nobody is told after that has failed. A person who changes many
// domains at once would wait for each of them.
const untoldSpan = 15 * time.Second

// told tries for a while to tell who crawls, and logs where that fails.
func (w *webChanges) told(ctx context.Context, tell func(context.Context) error) {
	if until := w.untold.Load(); until != nil && time.Now().Before(*until) {
		return
	}
	if err := tryTelling(ctx, tell); err != nil {
		until := time.Now().Add(untoldSpan)
		w.untold.Store(&until)
		w.logger.Warn("could not tell the running crawl, which finds out by itself", "error", err)
	}
}

// ChangeRun is serve.Changes.
func (w *webChanges) ChangeRun(ctx context.Context, name string, c crawl.RunChange) error {
	run, err := w.store.ChangeRun(ctx, name, c)
	if err != nil {
		return err
	}
	w.told(ctx, func(ctx context.Context) error { return w.run(ctx, run, c.Action == crawl.ChangeSet) })
	return nil
}

// changedDomain tells who crawls of a change to a domain, if it was made.
func (w *webChanges) changedDomain(ctx context.Context, domain string, err error) error {
	if err != nil {
		return err
	}
	w.told(ctx, func(ctx context.Context) error { return w.domain(ctx, domain) })
	return nil
}

// SetControl is serve.Changes.
func (w *webChanges) SetControl(ctx context.Context, domain string, c crawl.Control) error {
	return w.changedDomain(ctx, domain, w.store.SetControl(ctx, domain, c))
}

// LiftControls is serve.Changes.
func (w *webChanges) LiftControls(ctx context.Context, domain, by string, kinds ...crawl.ControlType) error {
	return w.changedDomain(ctx, domain, w.store.LiftControls(ctx, domain, by, kinds...))
}

// RecrawlNow is serve.Changes.
func (w *webChanges) RecrawlNow(ctx context.Context, name string, page urls.URL) error {
	run, err := w.store.Run(ctx, name)
	if err == nil {
		_, err = w.store.RecrawlNow(ctx, run, []urls.URL{page})
	}
	return w.changedDomain(ctx, page.Domain(), err)
}

// RetryDomain is serve.Changes.
func (w *webChanges) RetryDomain(ctx context.Context, domain string) error {
	return w.changedDomain(ctx, domain, w.store.RetryDomain(ctx, domain))
}

// WithWeb calls fn with the options of a web page. Its database is that of WithDatabase.
func WithWeb(ctx context.Context, e *Env, logger *slog.Logger, readOnly bool, fn func(WebOptions) error) error {
	return WithDatabase(ctx, e, func(url string) error {
		o := WebOptions{DatabaseURL: url, TemporalUI: TemporalUI(e), Temporal: temporalAnswers(e), Logger: logger}
		if readOnly {
			return fn(o)
		}
		store, err := wiring.OpenStore(ctx, url, nil)
		if err != nil {
			return err
		}
		defer store.Close()
		o.Changes, o.By = &webChanges{teller: tellerOf(e, store), logger: logger}, Whoami()
		if e.Environ.Get("DATABASE_URL") == "" {
			dir, err := datadir.Resolve(e.DataDir)
			if err != nil {
				return err
			}
			o.TokenFile = tokenFile(dir)
		}
		return fn(o)
	})
}
