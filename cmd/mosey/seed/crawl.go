package seed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/cmd/mosey/crawler"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/workflows"
)

// CrawlCmd crawls until the run is done.
type CrawlCmd struct {
	wiring.FetchFlags
	crawler.ListenFlags

	Seeds []string `arg:"" optional:"" name:"seed" help:"URL or host, file of them (one per line), or - for standard input. Without seeds, the run resumes."`
	Run_  string   `name:"run" help:"Name of the run. An existing run resumes. Default: default." default:"default" placeholder:"NAME"` //nolint:revive // Run is the method

	command.RunSettings

	For    time.Duration `help:"Stop after this time, as Ctrl-C does. Default: no limit." placeholder:"DURATION"`
	Detach bool          `help:"Let a running Mosey crawl (mosey up, or the workers of DATABASE_URL and TEMPORAL_ADDRESS). Ctrl-C then ends the command and not the run."`
	JSON   bool          `name:"json" help:"Print one JSON object per line."`
}

// Help refers to the other settings and flags.
func (*CrawlCmd) Help() string {
	return "Give the other settings of the run with --set: mosey set --help lists them. The request flags, " +
		"such as --user-agent, --timeout and --allow-network, apply too: mosey up --help lists them."
}

func (c *CrawlCmd) validate() error {
	err := errors.Join(crawl.ValidateRunName(c.Run_), c.RunSettings.Validate())
	if err == nil && c.For < 0 {
		err = fmt.Errorf("--for %s: want a positive duration", c.For)
	}
	return command.AsUsage(err)
}

// Run crawls until the run is done, the context ends or --for is over.
func (c *CrawlCmd) Run(ctx context.Context, e *command.Env) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	seeds, err := readSeeds(ctx, c.Seeds, e.Stdin)
	if err != nil {
		return err
	}
	view := newView(e, c.JSON)
	defer view.close()
	for _, bad := range seeds.bad.Examples {
		view.note(bad)
	}
	if seeds.bad.Count > len(seeds.bad.Examples) {
		view.note(fmt.Sprintf("%d lines skipped: not URLs or host names", seeds.bad.Count))
	}
	c.ImageLocation = c.ImageStore
	open := crawler.Open
	if c.Detach {
		open = crawler.Attach
	}
	m, err := open(ctx, e, c.ListenFlags, e.NewLogger(view, slog.LevelWarn), view.note)
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		err = errors.Join(err, m.Close())
		if stopped && err == nil {
			flags := strings.Join(append([]string{c.Run_}, e.Process...), " ")
			view.note("Stopped. All data is kept. To resume the run:\n  mosey crawl --run " + flags)
		}
	}()
	run, before, err := c.begin(ctx, e, m, seeds.urls)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // Ctrl-C came before the crawl began
		stopped = true
		return nil
	}
	if err != nil {
		return err
	}
	if warning := c.ContactWarning(); warning != "" && !c.Detach {
		view.note("Warning: " + warning + ".")
	}
	at := addresses{web: m.Web, temporal: m.Stack.UIURL, metrics: m.Telemetry.Address()}
	view.begin(run, at, len(seeds.urls), before, c.Detach)
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	last, err := c.watch(ctx, m, run, view)
	if err != nil {
		return err
	}
	switch {
	case c.Detach && ctx.Err() != nil:
		view.note(fmt.Sprintf("Run %s continues without this command. To show it, and to stop it:\n  mosey status %s\n  mosey stop run:%s",
			run.Name, run.Name, run.Name))
	case last.Status == crawl.RunRunning:
		stopped = true
		view.note("Stopping after the requests in flight.")
		last, err = c.stop(ctx, m, run)
	case !c.Detach && last.Status.Ended():
		endDispatcher(m, run.Name)
		awaitDomains(m, run.Name)
	}
	var detailErr, waitingErr error
	if err == nil {
		last.Detail, detailErr = m.Store.Detail(context.WithoutCancel(ctx), run.ID, command.MaxNamedInRun)
		last.KeywordsWaiting, waitingErr = m.Store.KeywordsWaiting(context.WithoutCancel(ctx), report.KeywordsBound)
	}
	view.end(last)
	return errors.Join(err, detailErr, waitingErr, idleError(before, last))
}

// idleError returns an error if the call requested nothing although pages are left.
func idleError(before, last report.Progress) error {
	if last.Status != crawl.RunDone || last.Attempts() > before.Attempts() || last.Detail == nil || last.ObstacleTotal == 0 {
		return nil
	}
	return fmt.Errorf("run %s could not request anything: %s", last.Name, explain.DomainFailure(last.Obstacles[0]))
}

// begin stores the settings and seeds, and starts the run. before is its earlier progress.
func (c *CrawlCmd) begin(
	ctx context.Context, e *command.Env, m *crawler.Crawler, seeds []string,
) (run crawl.Run, before report.Progress, err error) {
	if err := wiring.CheckNamespace(ctx, m.Client, m.Store); err != nil {
		return run, before, crawler.DescribeForeign(e, err)
	}
	switch run, err = m.Store.Run(ctx, c.Run_); {
	case errors.Is(err, crawl.ErrNotFound) && len(seeds) == 0:
		return run, before, wiring.Usagef("run %q does not exist yet: give a URL as its seed, such as https://example.org/", c.Run_)
	case err == nil && run.Status == crawl.RunPaused:
		return run, before, fmt.Errorf("run %s is %s: resume it with mosey resume run:%s", run.Name, run.Reason, run.Name)
	}
	if run, err = m.Store.EnsureRun(ctx, c.Run_, command.CurrentUser(), c.Settings); err != nil {
		return run, before, err
	}
	if before, err = m.Store.Progress(ctx, run); err != nil {
		return run, before, err
	}
	if err := m.Store.StageSeeds(ctx, run.ID, seeds); err != nil {
		return run, before, err
	}
	if !c.Detach {
		if c.ImageStore, err = command.ImageLocation(e, c.ImageStore); err != nil {
			return run, before, err
		}
		if set := run.Settings; c.ImageStore == "" && (*set.Images == settings.ImagesStore || *set.Thumbnails) {
			return run, before, wiring.Usagef("run %s stores images, and no image store is given: "+
				"name the directory or bucket of this cluster's workers with --image-store", run.Name)
		}
		// Resume the run before serving its domains: without a run their workflows would end.
		if err := m.Store.StartRun(ctx, run.ID); err != nil {
			return run, before, err
		}
		if err := m.StartWorker(ctx, e, c.FetchFlags); err != nil {
			return run, before, err
		}
	}
	return run, before, c.seed(ctx, m, run)
}

func (c *CrawlCmd) seed(ctx context.Context, m *crawler.Crawler, run crawl.Run) error {
	starter := workflows.Starter{Client: m.Client}
	seeding, err := StartSeeding(ctx, m.Store, starter, run, c.Settings)
	if err != nil {
		return err
	}
	if err := starter.AwaitStarted(ctx, seeding); err != nil && ctx.Err() == nil {
		return fmt.Errorf("store the seeds: %w", err)
	}
	return nil
}

// StartSeeding starts a run's next SeedWorkflow, which stores staged seeds and resumes the run.
func StartSeeding(
	ctx context.Context, store *db.Store, starter workflows.Starter, run crawl.Run, set settings.Settings,
) (client.WorkflowRun, error) {
	n, err := store.NextSeeding(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	seeding, err := starter.StartSeed(ctx, n, workflows.SeedInput{Run: run.Name, Staged: true, Settings: set})
	if err != nil {
		if strings.Contains(err.Error(), "search attribute") {
			err = fmt.Errorf("%w: Mosey needs the attributes %s and %s (Keyword) and %s (KeywordList): create them with "+
				"temporal operator search-attribute create", err, crawl.AttrDomain, crawl.AttrStatus, crawl.AttrRun)
		}
		return nil, err
	}
	return seeding, nil
}

// stop stops the run after draining the worker. Otherwise due domains would find their run stopped
// and end their workflows, and all would start anew when the run is resumed.
func (*CrawlCmd) stop(ended context.Context, m *crawler.Crawler, run crawl.Run) (report.Progress, error) {
	m.Worker.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), crawler.CloseTimeout)
	defer cancel()
	change := crawl.RunChange{Action: crawl.ChangeStop, SetBy: command.CurrentUser(), Event: stopEvent(ended)}
	if _, err := m.Store.ChangeRun(ctx, run.Name, change); err != nil && !errors.Is(err, crawl.ErrInvalid) {
		return report.Progress{}, err // the run is already done
	}
	endDispatcher(m, run.Name)
	m.Worker.Stop()
	m.Worker = nil
	// the requests in flight took their time
	ctx, cancel = context.WithTimeout(context.Background(), crawler.CloseTimeout)
	defer cancel()
	return progress(ctx, m, run.Name)
}

// stopEvent returns the event that ended the context of a command.
func stopEvent(ctx context.Context) string {
	switch cause := context.Cause(ctx).Error(); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "when --for was over"
	case strings.HasPrefix(cause, "terminated"):
		return "with SIGTERM"
	}
	return "with Ctrl-C"
}

const (
	// minWatchInterval is the least interval of the view, which takes at most one part in
	// watchLoadDivisor of the database's time.
	minWatchInterval = time.Second
	watchLoadDivisor = 20
	endPollInterval  = 100 * time.Millisecond
	// watchTimeout bounds an outage before the command stops watching; the crawl never ends because
	// of an outage.
	watchTimeout = 5 * time.Minute
)

func (c *CrawlCmd) watch(ctx context.Context, m *crawler.Crawler, run crawl.Run, view *view) (report.Progress, error) {
	last, lastSuccess := report.Progress{Run: run}, time.Now()
	last.Status = crawl.RunRunning
	for {
		pollStart := time.Now()
		p, err := progress(ctx, m, run.Name)
		pause := max(minWatchInterval, watchLoadDivisor*time.Since(pollStart))
		switch {
		case err == nil:
			last, lastSuccess = p, time.Now()
			var latest []report.LatestRequest
			if view.e.Terminal && !view.json {
				latest, err = m.Store.LatestRequests(ctx, run.ID, maxLatestDrawn)
				if err != nil {
					m.Logger.DebugContext(ctx, "could not read the latest requests", "error", err)
				}
			}
			view.progress(p, latest)
			if p.Status.Ended() {
				return p, nil
			}
		case ctx.Err() == nil && time.Since(lastSuccess) > watchTimeout:
			return last, err
		}
		if !awaitEnd(ctx, m.Store, run.Name, pause) {
			return last, nil
		}
	}
}

// awaitEnd waits until a run has ended, at most for timeout. It reads one row, because progress
// needs sums. It returns false if the context ends.
func awaitEnd(ctx context.Context, store *db.Store, name string, timeout time.Duration) bool {
	deadline := time.After(timeout)
	tick := time.NewTicker(endPollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-deadline:
			return true
		case <-tick.C:
		}
		if run, err := store.Run(ctx, name); err == nil && run.Status.Ended() {
			return true
		}
	}
}

// endDispatcher wakes the CrawlWorkflow of an ended run and waits up to crawler.CloseTimeout for
// its end. Otherwise it would seem to run until the next worker starts.
func endDispatcher(c *crawler.Crawler, run string) {
	ctx, cancel := context.WithTimeout(context.Background(), crawler.CloseTimeout)
	defer cancel()
	signal, cancelSignal := context.WithTimeout(ctx, command.WakeTimeout)
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

// domainsTimeout is longer than the last steps of domain workflows take on a busy machine.
const domainsTimeout = 3 * time.Second

// awaitDomains waits up to domainsTimeout for the end of the domain workflows that serve an ended
// run. They have nothing left to do, but would also seem to run without a worker.
func awaitDomains(c *crawler.Crawler, run string) {
	ctx, cancel := context.WithTimeout(context.Background(), domainsTimeout)
	defer cancel()
	query := fmt.Sprintf("%s = '%s' AND ExecutionStatus = 'Running'", crawl.AttrRun, run)
	for {
		n, err := c.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err != nil || n.GetCount() == 0 {
			return // at worst a later worker completes the workflows
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(endPollInterval):
		}
	}
}

func progress(ctx context.Context, m *crawler.Crawler, name string) (report.Progress, error) {
	run, err := m.Store.Run(ctx, name)
	if err != nil {
		return report.Progress{}, err
	}
	return m.Store.Progress(ctx, run)
}
