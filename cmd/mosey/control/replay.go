package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/workflows"
)

// ReplayCmd replays what runs over this program.
type ReplayCmd struct {
	JSON bool `name:"json" help:"Print one JSON object a workflow."`
}

// replayMost is how many workflows of each kind and status are replayed.
const replayMost = 100

// replayed is what came of a workflow.
type replayed struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
	Type     string `json:"type"`
	Events   int    `json:"events"`
	// Disagrees is where this program would do something else than the history; empty is
	// nowhere.
	Disagrees string `json:"disagrees,omitempty"`
}

// Run replays, and fails if a history disagrees with this program.
func (r *ReplayCmd) Run(ctx context.Context, e *command.Env) error {
	return withRunningTemporal(ctx, e, func(starter workflows.Starter) error {
		// the difference is printed; what the SDK logs of it says no more
		replayer := workflows.Replayer{Client: starter.Client, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
		sample, err := replayer.Sample(ctx, replayMost)
		if err != nil {
			return err
		}
		progress := command.NewProgressLine(e)
		defer progress.Clear()
		count, events, wrong := 0, 0, 0
		for i, w := range sample {
			n, disagrees, err := replayer.Replay(ctx, w)
			if workflows.NotFound(err) {
				continue // it has ended meanwhile, and was removed
			}
			if err != nil {
				return err
			}
			count++
			if events += n; disagrees != nil {
				wrong++
			}
			progress.Show(func(time.Time) string { return fmt.Sprintf("%d of %d workflows replayed", i, len(sample)) })
			if err := r.tell(e, replayed{
				Workflow: w.GetExecution().GetWorkflowId(), RunID: w.GetExecution().GetRunId(), Type: w.GetType().GetName(), Events: n,
			}, disagrees); err != nil {
				return err
			}
		}
		progress.Clear()
		if wrong > 0 {
			return fmt.Errorf("%d of %d workflows would get stuck on this program (mosey %s). First give today's workers a version: "+
				"restart them with --build-id, and mosey deploy that one. Then start this program's beside them with another, and deploy that",
				wrong, count, wiring.Version())
		}
		if !r.JSON {
			fmt.Fprintf(e.Stdout, "%d workflows replayed, with %d events: all of them can go on with this program (mosey %s).\n",
				count, events, wiring.Version())
		}
		return nil
	})
}

// tell prints one workflow: as JSON each, else those that disagree.
func (r *ReplayCmd) tell(e *command.Env, one replayed, disagrees error) error {
	if disagrees != nil {
		one.Disagrees = disagrees.Error()
	}
	switch {
	case r.JSON:
		return command.PrintLines(e.Stdout, []replayed{one})
	case disagrees != nil:
		if _, err := fmt.Fprintf(e.Stdout, "%s disagrees: %s\n", one.Workflow, one.Disagrees); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}
