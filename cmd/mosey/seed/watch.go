package seed

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/workflows"
)

const (
	// watchEvery is how often the view is renewed, unless that would cost more than
	// one part in watchShare of the database's time.
	watchEvery = time.Second
	watchShare = 20
	// endEvery is how often is looked whether the run has ended.
	endEvery = 100 * time.Millisecond
	// watchPatience is how long the database may be away before the command gives
	// up watching; the crawl itself never gives up.
	watchPatience = 5 * time.Minute
)

// watch shows the run's progress until it is over or the context ends.
func (c *CrawlCmd) watch(ctx context.Context, m *command.Crawler, run crawl.Run, view *view) (report.Progress, error) {
	var last report.Progress
	last.Run = run
	last.Status = crawl.RunRunning
	answered := time.Now()
	for {
		asked := time.Now()
		p, err := progress(ctx, m, run.Name)
		pause := max(watchEvery, watchShare*time.Since(asked))
		switch {
		case err == nil:
			last, answered = p, time.Now()
			view.progress(p)
			if p.Status.Ended() {
				return p, nil
			}
		case ctx.Err() == nil && time.Since(answered) > watchPatience:
			return last, err
		}
		if !awaitEnd(ctx, m.Store, run.Name, pause) {
			return last, nil
		}
	}
}

// awaitEnd waits until a run has ended, for a time at the longest. That is one row, where
// its progress is sums. Returns false if the context ends.
func awaitEnd(ctx context.Context, store *db.Store, name string, longest time.Duration) bool {
	over := time.After(longest)
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over:
			return true
		case <-tick.C:
		}
		if run, err := store.Run(ctx, name); err == nil && run.Status.Ended() {
			return true
		}
	}
}

// signalTimeout bounds a signal to Temporal: Ctrl-C must work without it.
const signalTimeout = time.Second

// endDispatcher wakes the CrawlWorkflow of a run that has ended and waits until it has ended,
// too, while there is a worker. A workflow that sleeps would seem to run until the next worker
// starts. It waits for command.CloseTimeout at most, and not where Temporal does not answer.
func endDispatcher(c *command.Crawler, run string) {
	ctx, cancel := context.WithTimeout(context.Background(), command.CloseTimeout)
	defer cancel()
	signal, cancelSignal := context.WithTimeout(ctx, signalTimeout)
	defer cancelSignal()
	id := crawl.CrawlWorkflowID(run)
	err := c.Client.SignalWorkflow(signal, id, "", workflows.SignalWake, workflows.Wake{})
	if err == nil {
		err = c.Client.GetWorkflow(ctx, id, "").Get(ctx, nil)
	}
	if err != nil && !workflows.NotFound(err) {
		c.Logger.DebugContext(ctx, "could not await the end of the CrawlWorkflow", "run", run, "error", err)
	}
}

func progress(ctx context.Context, m *command.Crawler, name string) (report.Progress, error) {
	run, err := m.Store.Run(ctx, name)
	if err != nil {
		return report.Progress{}, err
	}
	return m.Store.Progress(ctx, run)
}
