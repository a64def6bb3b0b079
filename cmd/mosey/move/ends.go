package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/move"
)

// stands adds to the error that a move ends with how the source stands, and what to do. The
// context may have ended.
func (j *journey) stands(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), standsSpan)
	defer cancel()
	state, lookErr := j.from.db.Look(ctx)
	switch {
	case lookErr != nil:
		return fmt.Errorf("%w\n%s may be closed: give the command again, or open it with --undo (%w)", err, j.from.name, lookErr)
	case state.Step == move.Leaving:
		return fmt.Errorf("%w\n%s stays closed: give the command again, or open it with --undo", err, j.from.name)
	case state.Step == move.Moved:
		return fmt.Errorf("%w\nAll is copied: give the command again to open %s", err, j.to.name)
	}
	return err
}

// standsSpan bounds how long that is asked.
const standsSpan = 10 * time.Second

// finish does what is left of a move whose source is left for good.
func (j *journey) finish(ctx context.Context) error {
	if err := j.to.exists(); err != nil {
		return fmt.Errorf("%w: %s was moved to %s on %s, and not to %s", crawl.ErrInvalid, j.from.name, j.was.Other,
			j.was.At.UTC().Format(time.DateOnly), j.to.name)
	}
	if err := j.to.open(ctx, j.movesTemporal()); err != nil {
		return err
	}
	arrived, err := j.arrived(ctx)
	if err != nil {
		return err
	}
	if !arrived {
		j.sayf("All is copied already: opening %s.", j.to.name)
		state := j.was
		state.Step = move.Arriving
		if err := j.to.db.Reopen(ctx, state); err != nil {
			return err
		}
	}
	j.goOn(ctx)
	return j.done()
}

// arrived reports whether the target of a source that was moved is open. A target that is
// another database is an error.
func (j *journey) arrived(ctx context.Context) (bool, error) {
	other := fmt.Errorf("%w: %s was moved to %s on %s, and %s is another database", crawl.ErrInvalid, j.from.name, j.was.Other,
		j.was.At.UTC().Format(time.DateOnly), j.to.name)
	if err := j.to.db.CheckSource(ctx); err != nil {
		return false, errors.Join(other, err)
	}
	state, err := j.to.db.Look(ctx)
	if err != nil {
		return false, err
	}
	if state.Move == j.was.Move && state.Step == move.Arriving {
		return false, nil
	}
	source, err := j.from.db.Store().Identity(ctx)
	if err != nil {
		return false, err
	}
	target, err := j.to.db.Store().Identity(ctx)
	if err == nil && (source != target || state.Step != "") {
		err = other
	}
	return true, err
}

// undo opens the source again.
func (j *journey) undo(ctx context.Context) error {
	if err := j.from.db.Take(ctx); err != nil {
		return err
	}
	switch j.was.Step {
	case move.Leaving: // the target cannot be open
	case move.Moved:
		if err := j.to.exists(); err != nil {
			return fmt.Errorf("%w: %s was moved to %s: give that as the other side", crawl.ErrInvalid, j.from.name, j.was.Other)
		}
		if err := j.to.open(ctx, false); err != nil {
			return err
		}
		arrived, err := j.arrived(ctx)
		if err != nil {
			return err
		}
		if arrived {
			return fmt.Errorf("%w: %s has been opened, and may have worked since: move it back, into a new place", crawl.ErrInvalid, j.to.name)
		}
		if err := j.to.db.GiveUp(ctx, j.was); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: %s is not being moved: there is nothing to undo", crawl.ErrInvalid, j.from.name)
	}
	if err := j.from.db.Reopen(ctx, j.was); err != nil {
		return err
	}
	return j.Tell(j.e, command.Change{Did: "opened", Says: j.from.name + " is open again. What has been copied may be dropped."})
}
