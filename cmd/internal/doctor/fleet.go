package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

const (
	// workersLooked bounds the workers that are looked at.
	workersLooked = 1000
	// workersNamed is how many a finding names.
	workersNamed = 3
	// workerSilent is for how long a worker has not been heard of when that is a finding: it says
	// that it lives every ten seconds.
	workerSilent = 2 * time.Minute
)

// lookFleet looks for workers that have died and nobody has started again, and for a limit
// that is in the way.
func lookFleet(ctx context.Context, store *db.Store) ([]Finding, error) {
	fleet, err := store.Fleet(ctx, false, workersLooked)
	if err != nil {
		return nil, err
	}
	use, err := store.FleetUse(ctx)
	if err != nil {
		return nil, err
	}
	var silent []string
	works := 0
	for _, w := range fleet.Workers {
		if fleet.Now.Sub(w.SeenAt) < workerSilent {
			works++
			continue
		}
		silent = append(silent, w.Identity+" since "+explain.Stamp(w.SeenAt))
	}
	var found []Finding
	if len(silent) > 0 {
		found = append(found, one(Note,
			"If one still runs, see in its log why it does not reach the database: it begins no requests. "+
				"Else nothing is to be done: others have taken over.",
			"%s not heard of: %s", explain.Count(int64(len(silent)), "worker"), strings.Join(silent[:min(len(silent), workersNamed)], "; "))...)
	}
	if use.Full() {
		found = append(found, one(Note, "Raise it if the machines and the line can bear more: mosey workers --max-fetches N, or 0 for none.",
			"%s", explain.Limited(use))...)
	}
	return orFine(found, "%s", explain.Count(int64(works), "worker")), nil
}

// forgottenMost are how many domains are looked at.
const forgottenMost = 1_000

func lookForgotten(ctx context.Context, store *db.Store) ([]Finding, error) {
	open, err := store.HalfForgotten(ctx, forgottenMost)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return fine("what was to be erased is"), nil
	}
	var names, commands []string
	for _, f := range open {
		names = append(names, fmt.Sprintf("%s since %s", f.Domain, explain.Stamp(f.AskedAt)))
		commands = append(commands, fmt.Sprintf("mosey block %s --reason TEXT --forget", f.Domain))
	}
	return one(Fault, "Give the command again, unless it runs: "+strings.Join(commands[:min(len(commands), examplesMost)], "; ")+".",
		"what the pages of %s said is not all erased: %s", explain.Count(int64(len(open)), "domain"), named(names)), nil
}
