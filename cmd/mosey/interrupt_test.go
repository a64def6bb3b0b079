package main

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/workflows"
)

// gate is a site that holds its answers back until it is opened.
type gate struct {
	arrived, opened chan struct{}
	once            sync.Once
}

func newGate() *gate { return &gate{arrived: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) Serve(v *web.Visit) {
	g.once.Do(func() { close(g.arrived) })
	select {
	case <-g.opened:
		v.Answer()
	case <-v.R.Context().Done():
		v.Abort()
	}
}

func (*gate) Truth() web.Truth { return web.Healthy{}.Truth() }

// A request that has begun is finished and recorded, whatever is decided meanwhile,
// and the site is charged nothing for it.
func TestRequestsInFlightAreFinished(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	update := func(name string, arg any) func(ctx context.Context, domain string) error {
		return func(ctx context.Context, domain string) error {
			handle, err := h.client().UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
				WorkflowID: "domain/" + domain, UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
			})
			if err != nil {
				return err
			}
			return handle.Get(ctx, nil)
		}
	}
	decisions := map[string]func(ctx context.Context, domain string) error{
		"paused.test": func(_ context.Context, domain string) error {
			h.Print("pause", domain, "--reason", "a quiet night")
			return nil
		},
		"blocked.test": func(_ context.Context, domain string) error {
			h.Print("block", domain, "--reason", "the owner asked")
			return nil
		},
		"pause-update.test": update(workflows.UpdatePause, workflows.Pause{Reason: "a quiet night"}),
		"stop-update.test":  update(workflows.UpdateStop, workflows.Stop{Reason: "enough"}),
		"cancelled.test": func(ctx context.Context, domain string) error {
			return h.client().CancelWorkflow(ctx, "domain/"+domain, "")
		},
		"interrupted.test": func(context.Context, string) error { return nil }, // by Ctrl-C, below
	}
	gates := make(map[string]*gate)
	var sites []web.Site
	for domain := range decisions {
		gates[domain] = newGate()
		sites = append(sites, web.Site{Host: domain, Pages: -1, Plain: true, Behaviour: gates[domain]})
	}
	s := site{web.StartT(t, web.Options{Sites: sites, CrossLinks: -1})}
	c := h.Start(s.crawl(append(s.Seeds(), "--timeout", "20s")...)...)
	for domain, decide := range decisions {
		<-gates[domain].arrived
		require.NoError(t, decide(t.Context(), domain), domain)
	}
	for domain, g := range gates {
		if domain == "interrupted.test" {
			time.AfterFunc(time.Second, func() { close(g.opened) })
			continue
		}
		close(g.opened)
	}
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	for domain := range decisions {
		rep, err := store.Page(t.Context(), domain, s.URL(domain, "/"))
		require.NoError(t, err)
		require.Len(t, rep.Crawls, 1, "%s: there is nothing to try again", domain)
		require.Equal(t, crawl.OutcomeSuccess, rep.Crawls[0].Outcome, "%s: %s", domain, rep.Crawls[0].Error)
		d, err := store.Domain(t.Context(), domain)
		require.NoError(t, err)
		for _, sample := range d.Health.Samples {
			require.True(t, sample.Good(), domain)
		}
		require.Zero(t, d.Health.Penalty, domain)
	}
	s.requireClean(t, web.Expectations{Partial: true})
}

// fickle refuses all pages until it is told to answer.
type fickle struct{ kind atomic.Bool }

func (f *fickle) Serve(v *web.Visit) {
	if f.kind.Load() {
		v.Answer()
		return
	}
	web.Status{Code: 403}.Serve(v)
}

func (*fickle) Truth() web.Truth { return web.Truth{} }

func TestRetryHasACrawlGoOnAtOnce(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	moody := &fickle{}
	const name = "fickle.test"
	s := site{web.StartT(t, web.Options{Sites: []web.Site{{Host: name, Pages: 9, Plain: true, Behaviour: moody}}, CrossLinks: -1})}
	var seeds []string
	for n := range 9 {
		seeds = append(seeds, s.URL(name, "/p/"+strconv.Itoa(n+1)))
	}
	c := h.Start(s.crawl(append(seeds, "--when-done", "wait", "--set", "max_graylistings=1", "--set", "sitemaps=off")...)...)
	wait.Until(t, func() bool {
		d, err := store.Domain(t.Context(), name)
		return err == nil && d.Status == crawl.DomainBlocked && d.Claimed == ""
	}, patience, 10*time.Millisecond)
	output.ContainsOnSameLine(t, h.Print("why", name), "not crawled until ", "the domain is blocked (more than half of the last responses were errors)")
	require.Len(t, s.Log().Pages(), 5, "its robots.txt is no welcome")

	moody.kind.Store(true)
	output.ContainsOnSameLine(t, h.Print("retry", name), "may be crawled again")
	// the front page as a probe, the pages that were left, and the front page they link to
	wait.Until(t, func() bool { return len(s.Log().Pages()) == 5+1+4+1 }, patience, 10*time.Millisecond)
	require.Equal(t, "/", s.Log().Pages()[5].Target)
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, h.Print("audit"), "11 page requests checked again, 0 violations")
}

// Ctrl-C that comes while a crawl is still being set up is no mistake.
func TestInterruptedBeforeItBegins(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	tx, err := store.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE crawl_runs IN EXCLUSIVE MODE")
	require.NoError(t, err)
	c := h.Start(s.crawl(s.Seeds()...)...)
	wait.Until(t, func() bool {
		var waiting bool
		err := store.Pool().QueryRow(t.Context(), `SELECT EXISTS (
			SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
		return err == nil && waiting
	}, patience, 10*time.Millisecond)
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout+r.Stderr, "Stopped. All data is kept.")
}
