package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/workflows"
)

// DeployCmd makes a version of the workers the current one, or lists the versions.
type DeployCmd struct {
	command.ChangePrinter
	wiring.DeploymentFlag

	BuildID     string `arg:"" optional:"" help:"Version to make current: the --build-id of running workers. Default: list the versions."`
	Unversioned bool   `help:"Make the workers without a version current."`
	NoWait      bool   `help:"Do not wait for the workflows of other versions."`
}

// Validate refuses flags that do not go together.
func (d *DeployCmd) Validate() error {
	switch {
	case d.BuildID != "" && d.Unversioned:
		return errors.New("give a version or --unversioned")
	case d.NoWait && d.isList():
		return errors.New("--no-wait needs a version or --unversioned")
	case d.BuildID != "":
		return wiring.CheckBuildID("version", d.BuildID)
	}
	return nil
}

func (d *DeployCmd) isList() bool { return d.BuildID == "" && !d.Unversioned }

// Run deploys, or lists.
func (d *DeployCmd) Run(ctx context.Context, e *command.Env) error {
	return withRunningTemporal(ctx, e, func(starter workflows.Starter) error {
		to := workflows.Deployment{Client: starter.Client, Name: d.Deployment, Now: time.Now}
		if d.isList() {
			return d.list(ctx, e, to)
		}
		versions, current, err := to.Versions(ctx)
		if err != nil {
			return err
		}
		if d.Unversioned && len(versions) == 0 {
			return d.Print(e, command.Change{Action: "deployed", Message: "Workers without a version are already current."})
		}
		if err := d.setCurrent(ctx, to); err != nil {
			return err
		}
		if current == "" && !d.Unversioned {
			if err := d.warnUnversioned(ctx, e, to); err != nil {
				return err
			}
		}
		remaining, err := to.CountOutdated(ctx, d.BuildID)
		if err != nil {
			return err
		}
		if !d.JSON {
			fmt.Fprintf(e.Stdout, "%s current. New workflows start on it; %s.\n", d.subject(), remainingText(remaining))
		}
		if !d.NoWait {
			if remaining, err = d.watch(ctx, e, to, remaining); err != nil {
				return err
			}
		}
		return d.report(ctx, e, to, remaining)
	})
}

func (d *DeployCmd) warnUnversioned(ctx context.Context, e *command.Env, to workflows.Deployment) error {
	n, err := to.Unversioned(ctx)
	if err != nil || n == 0 {
		return err
	}
	fmt.Fprintf(e.Stderr, "Version %s continues %s of workers without a version. If it is another program "+
		"and its mosey replay reports disagreement, undo the deployment: mosey deploy --unversioned\n",
		d.BuildID, explain.Count(n, "workflow"))
	return nil
}

func (d *DeployCmd) subject() string {
	if d.Unversioned {
		return "Workers without a version are"
	}
	return "Version " + d.BuildID + " is"
}

func remainingText(remaining int64) string {
	switch remaining {
	case 0:
		return "no workflow remains on another version"
	case 1:
		return "1 workflow of another version moves to it at its next step"
	}
	return fmt.Sprintf("%d workflows of other versions move to it at their next step", remaining)
}

func (d *DeployCmd) setCurrent(ctx context.Context, to workflows.Deployment) error {
	err := to.SetCurrent(ctx, d.BuildID)
	if !errors.Is(err, crawl.ErrInvalid) {
		return err
	}
	versions, _, listErr := to.Versions(ctx)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	if d.Unversioned {
		return wiring.Usagef("%w: first start workers without --build-id", err)
	}
	var known []string
	for _, v := range versions {
		known = append(known, v.BuildID)
	}
	return wiring.Usagef("%w: first start workers with --build-id %s; versions in Temporal: %s",
		err, d.BuildID, cmp.Or(strings.Join(known, ", "), "none"))
}

const (
	// deployPoll is the pause between polls, and deployWakes the number of workflows woken by each.
	deployPoll  = 2 * time.Second
	deployWakes = workflows.WakesPerSecond * int(deployPoll/time.Second)
)

// watch wakes workflows on other versions until all have moved or the context ends, after which the
// workers continue. It returns an error if another version becomes current.
func (d *DeployCmd) watch(ctx context.Context, e *command.Env, to workflows.Deployment, remaining int64) (int64, error) {
	waker, progress := workflows.NewWaker(to), command.NewProgressLine(e)
	defer progress.Clear()
	for {
		if _, _, err := waker.Wake(ctx, deployWakes); err != nil && ctx.Err() == nil {
			return remaining, err
		}
		if now := waker.Current; ctx.Err() == nil && now != d.BuildID {
			return remaining, fmt.Errorf("another deployment replaced this one: version %q is current", now)
		}
		select {
		case <-ctx.Done():
			return remaining, nil
		case <-time.After(deployPoll):
		}
		n, err := to.CountOutdated(ctx, d.BuildID)
		if ctx.Err() != nil {
			return remaining, nil
		}
		if err != nil || n == 0 {
			return n, err
		}
		remaining = n
		progress.Show(func(time.Time) string { return fmt.Sprintf("%d workflows of other versions remain", remaining) })
	}
}

// report removes unused versions and reports the remaining ones.
func (d *DeployCmd) report(ctx context.Context, e *command.Env, to workflows.Deployment, remaining int64) error {
	ctx = context.WithoutCancel(ctx)
	versions, _, err := to.Versions(ctx)
	if err != nil {
		return err
	}
	var lines []string
	newer := slices.ContainsFunc(versions, func(v workflows.Version) bool { return v.Current }) // newest first
	for _, v := range versions {
		if v.Current {
			newer = false
			continue
		}
		line, err := d.remove(ctx, to, v, newer)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	change := command.Change{Action: "deployed", Version: d.BuildID, Count: &remaining, Message: strings.Join(lines, "\n")}
	if d.JSON {
		change.Message = d.subject() + " current. " + change.Message
	} else if len(lines) == 0 {
		return nil
	}
	return d.Print(e, change)
}

// remove removes an unused version and reports the result. A version newer than the current one
// waits.
func (d *DeployCmd) remove(ctx context.Context, to workflows.Deployment, v workflows.Version, isNewer bool) (string, error) {
	switch {
	case v.Workflows > 0:
		ids, err := to.Open(ctx, v.BuildID, 3)
		return fmt.Sprintf("Version %s: its workers must finish the remaining %d workflows: %s",
			v.BuildID, v.Workflows, strings.Join(ids, ", ")), err
	case len(v.Workers) > 0:
		workers := strings.Join(v.Workers, ", ")
		if isNewer {
			return fmt.Sprintf("Version %s: no workflows. Deploy it (mosey deploy %s), or stop its workers: %s",
				v.BuildID, v.BuildID, workers), nil
		}
		return fmt.Sprintf("Version %s: no workflows remain. Stop its workers: %s", v.BuildID, workers), nil
	}
	err := to.Remove(ctx, v.BuildID)
	if errors.Is(err, crawl.ErrInvalid) {
		return fmt.Sprintf("Version %s: no workflows remain. Its workers stopped less than five minutes ago, "+
			"so the next deployment removes it.", v.BuildID), nil
	}
	return fmt.Sprintf("Version %s: no workflows remain; it is removed.", v.BuildID), err
}

func (d *DeployCmd) list(ctx context.Context, e *command.Env, of workflows.Deployment) error {
	versions, current, err := of.Versions(ctx)
	if err != nil {
		return err
	}
	if d.JSON {
		return command.PrintLines(e.Stdout, versions)
	}
	if len(versions) == 0 {
		fmt.Fprintf(e.Stderr, "No versions: no worker was started with --build-id in the deployment %s.\n", d.Deployment)
		return nil
	}
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VERSION\tCREATED\tWORKFLOWS\tWORKERS\t")
	for _, v := range versions {
		mark := ""
		if v.Current {
			mark = "current"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\n", explain.OneLine(v.BuildID), explain.Stamp(v.Created), v.Workflows, len(v.Workers), mark)
	}
	if current == "" {
		fmt.Fprintln(t, "none\t\t\t\tcurrent: workers without a version")
	}
	return command.Flush(t)
}

// ReplayCmd replays running workflows on this program.
type ReplayCmd struct {
	JSON bool `name:"json" help:"Print one JSON object per workflow."`
}

const maxReplays = 100

type replayResult struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
	Type     string `json:"type"`
	Events   int    `json:"events"`
	// Difference describes the first difference from the history.
	Difference string `json:"difference,omitempty"`
}

// Run replays, and fails if a history disagrees with this program.
func (r *ReplayCmd) Run(ctx context.Context, e *command.Env) error {
	return withRunningTemporal(ctx, e, func(starter workflows.Starter) error {
		// the difference is printed; the SDK's log adds nothing
		replayer := workflows.Replayer{Client: starter.Client, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
		sample, err := replayer.Sample(ctx, maxReplays)
		if err != nil {
			return err
		}
		progress := command.NewProgressLine(e)
		defer progress.Clear()
		count, events, failed := 0, 0, 0
		for i, w := range sample {
			n, disagrees, err := replayer.Replay(ctx, w)
			if workflows.NotFound(err) {
				continue // ended meanwhile and removed
			}
			if err != nil {
				return err
			}
			count++
			if events += n; disagrees != nil {
				failed++
			}
			progress.Show(func(time.Time) string { return fmt.Sprintf("%d of %d workflows replayed", i, len(sample)) })
			if err := r.print(e, replayResult{
				Workflow: w.GetExecution().GetWorkflowId(), RunID: w.GetExecution().GetRunId(), Type: w.GetType().GetName(), Events: n,
			}, disagrees); err != nil {
				return err
			}
		}
		progress.Clear()
		if failed > 0 {
			return fmt.Errorf("%d of %d workflows cannot continue on this program (mosey %s). First give today's workers a version: "+
				"restart them with --build-id, and deploy it with mosey deploy. Then start this program's workers with another version, and deploy it",
				failed, count, wiring.Version())
		}
		if !r.JSON {
			fmt.Fprintf(e.Stdout, "%d workflows replayed, with %d events: all can continue on this program (mosey %s).\n",
				count, events, wiring.Version())
		}
		return nil
	})
}

func (r *ReplayCmd) print(e *command.Env, result replayResult, difference error) error {
	if difference != nil {
		result.Difference = difference.Error()
	}
	switch {
	case r.JSON:
		return command.PrintLines(e.Stdout, []replayResult{result})
	case difference != nil:
		if _, err := fmt.Fprintf(e.Stdout, "%s disagrees: %s\n", result.Workflow, result.Difference); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}
