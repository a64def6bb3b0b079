package model_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/reconcile"
)

// compared compares the rows with the workflows, as a worker does periodically. It makes two
// passes, and a third pass if a difference is unconfirmed. It stops early if a workflow is ready.
func (b *bench) compared() error {
	for n := range 3 {
		if b.temporal.away {
			return nil
		}
		if err := b.reconciler.Pass(b.ctx); err != nil {
			return err
		}
		if len(b.ready()) > 0 || n > 0 && !b.reconciler.HasUnconfirmed() {
			return nil
		}
		if err := b.pass(b.ctx, reconcile.Interval); err != nil {
			return err
		}
	}
	return nil
}

// reconciler compares what is the sequence's own: others have left their rows beside.
func newReconciler(b *bench) *reconcile.Reconciler {
	return &reconcile.Reconciler{Store: ownRows{b}, Workflows: b.temporal, Logger: slog.New(slog.DiscardHandler)}
}

// ownRows are the rows of a sequence.
type ownRows struct{ *bench }

func (o ownRows) ExpireClaims(ctx context.Context) (int, error) { return o.store.ExpireClaims(ctx) }

func (o ownRows) ReleaseDomains(ctx context.Context, domains []string) ([]string, error) {
	return o.place.ReleaseDomains(ctx, domains)
}

func (o ownRows) RunsWithWork(ctx context.Context, grace time.Duration) ([]string, error) {
	names, err := o.place.RunsWithWork(ctx, grace)
	return among(names, o.runs), err
}

func (o ownRows) LiveRuns(ctx context.Context) ([]string, error) {
	names, err := o.place.LiveRuns(ctx)
	return among(names, o.runs), err
}

func (o ownRows) DomainsClaimed(ctx context.Context) ([]string, error) {
	names, err := o.place.DomainsClaimed(ctx)
	return among(names, o.domains), err
}

func among(names, own []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(own, name) })
}

// RunningCrawls names the runs that have a dispatcher.
func (c *cluster) RunningCrawls(context.Context) ([]string, error) {
	return c.running(crawl.CrawlWorkflowID(""))
}

// RunningDomains names the domains that have a workflow.
func (c *cluster) RunningDomains(context.Context) ([]string, error) {
	return c.running(crawl.DomainWorkflowID(""))
}

func (c *cluster) running(prefix string) (names []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, errAway
	}
	for _, id := range c.ids() {
		if name, ok := strings.CutPrefix(id, prefix); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// IsDomainRunning reports whether a domain has a workflow.
func (c *cluster) IsDomainRunning(_ context.Context, domain string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flows[crawl.DomainWorkflowID(domain)] != nil, nil
}

// WakeCrawl wakes the dispatcher of a run, if one runs.
func (c *cluster) WakeCrawl(_ context.Context, run string) error {
	return c.send(crawl.CrawlWorkflowID(run), nil, false)
}
