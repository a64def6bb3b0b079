package move

import (
	"context"
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
	landed, err := j.meet(ctx, !j.KeepTemporal)
	if err != nil {
		return err
	}
	switch landed {
	case opened:
	case waiting:
		j.sayf("All is copied already: opening %s.", j.to.name)
		state := j.was
		state.Step = move.Arriving
		if err := j.to.db.Reopen(ctx, state); err != nil {
			return err
		}
	case givenUp:
		return fmt.Errorf("%w: the copy at %s was given up: open %s again with --undo", crawl.ErrInvalid, j.to.name, j.from.name)
	case movedOn, foreign:
		return j.another()
	}
	return j.goOn(ctx)
}

// meet opens the target of a source that was moved, takes it, and looks what became of the copy.
func (j *journey) meet(ctx context.Context, temporal bool) (landing, error) {
	if err := j.to.exists(); err != nil {
		return foreign, fmt.Errorf("%w: %s was moved to %s on %s: give that as the other side", crawl.ErrInvalid, j.from.name, j.was.Other,
			j.was.At.UTC().Format(time.DateOnly))
	}
	if err := j.to.open(ctx, temporal); err != nil {
		return foreign, err
	}
	if err := j.to.db.Take(ctx); err != nil {
		return foreign, err
	}
	return j.landing(ctx)
}

// landing is what became of a source's copy at the target.
type landing int

const (
	// foreign is that there is none.
	foreign landing = iota
	// waiting is that it was not opened.
	waiting
	// givenUp is that it never will be.
	givenUp
	// opened is that it may have worked since.
	opened
	// movedOn is that it has been opened, and is left itself.
	movedOn
)

// landing looks for the copy of a source that was moved.
func (j *journey) landing(ctx context.Context) (landing, error) {
	made, err := j.to.db.IsMade(ctx)
	if err != nil || !made {
		return foreign, err
	}
	if err := j.to.db.CheckSource(ctx); err != nil {
		return foreign, err
	}
	state, err := j.to.db.Look(ctx)
	if err != nil {
		return foreign, err
	}
	same, err := j.to.db.SameCrawl(ctx, j.from.db)
	switch its := state.Move == j.was.Move; {
	case err != nil:
		return foreign, err
	case its && state.Step == move.Arriving:
		return waiting, nil
	case its && state.Step == move.GivenUp:
		return givenUp, nil
	case same && state.Step == "":
		return opened, nil
	case same && (state.Step == move.Leaving || state.Step == move.Moved):
		return movedOn, nil
	}
	return foreign, nil
}

// another is that the target holds no copy of the source.
func (j *journey) another() error {
	return fmt.Errorf("%w: %s was moved to %s on %s, and %s is another database", crawl.ErrInvalid, j.from.name, j.was.Other,
		j.was.At.UTC().Format(time.DateOnly), j.to.name)
}

// undo opens the source again.
func (j *journey) undo(ctx context.Context) error {
	if err := j.from.db.Take(ctx); err != nil {
		return err
	}
	switch j.was.Step {
	case move.Leaving: // the target cannot be open
	case move.Moved:
		if err := j.takeBack(ctx); err != nil {
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

// takeBack sees to it that the copy of a source that was moved is never opened.
func (j *journey) takeBack(ctx context.Context) error {
	landed, err := j.meet(ctx, false)
	if err != nil {
		return err
	}
	switch landed {
	case waiting:
		return j.to.db.GiveUp(ctx, j.was)
	case givenUp: // by an undo that was killed
		return nil
	case opened, movedOn:
		return fmt.Errorf("%w: %s has been opened, and may have worked since: move it back, into a new place", crawl.ErrInvalid, j.to.name)
	case foreign:
	}
	if !j.Force {
		return fmt.Errorf("%w: if you know that the copy is lost and was never opened, --undo --force opens %s again", j.another(), j.from.name)
	}
	return nil
}
