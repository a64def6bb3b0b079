package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
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
