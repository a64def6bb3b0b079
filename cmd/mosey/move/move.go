package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/move"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// Cmd moves a crawl.
type Cmd struct {
	command.Answer

	ToDatabase   string        `name:"to-database" secret:"" help:"Move the data directory's crawl to this Postgres, whose database is empty." placeholder:"URL"`
	FromDatabase string        `name:"from-database" secret:"" help:"Move the crawl of this Postgres into the data directory, which is new." placeholder:"URL"`
	Temporal     string        `help:"The cluster's Temporal. Default: that of the environment (TEMPORAL_ADDRESS)." placeholder:"HOST:PORT"`
	KeepTemporal bool          `help:"Move the database alone: Temporal stays where it is."`
	NoTemporal   bool          `help:"With --from-database: the cluster's Temporal is gone. Its schedules are lost."`
	ImageStore   string        `help:"Where the cluster keeps images, to copy them there, or from there: a directory, or the URL of a bucket (s3://)." placeholder:"DIR|URL"`
	LeaveImages  bool          `help:"Leave images where they are."`
	Wait         time.Duration `help:"How long to wait for requests in flight. Default: 2m." default:"2m" placeholder:"DURATION"`
	DryRun       bool          `help:"Say what would be moved, and change nothing."`
	Undo         bool          `help:"Open what is being left again, unless the other has been opened."`
	Force        bool          `help:"With --undo: although the other is another database by now. Only if you know that the copy is lost and was never opened."`
}

// Run moves.
func (c *Cmd) Run(ctx context.Context, e *command.Env) (err error) {
	if err := c.check(e); err != nil {
		return err
	}
	j := &journey{Cmd: c, e: e, view: command.NewProgressLine(e)}
	defer func() { err = errors.Join(err, j.close()) }()
	if err := j.plan(ctx); err != nil {
		return refused(err)
	}
	switch {
	case c.Undo:
		return refused(j.undo(ctx))
	case c.DryRun:
		return refused(j.tell(ctx))
	}
	return refused(j.run(ctx))
}

// refused tells a mistake of the person who gave the command from trouble.
func refused(err error) error {
	if errors.Is(err, crawl.ErrInvalid) {
		return wiring.Usagef("%w", err)
	}
	return err
}

// check refuses flags that say nothing, or two things.
func (c *Cmd) check(e *command.Env) error {
	if c.ToDatabase == "" && c.FromDatabase == "" {
		return wiring.Usagef("want --to-database URL, to move the data directory's crawl to a cluster, " +
			"or --from-database URL, to move a cluster's into the data directory")
	}
	both := c.ToDatabase != "" && c.FromDatabase != ""
	if c.ToDatabase == c.FromDatabase {
		return wiring.Usagef("--to-database and --from-database are the same")
	}
	if url := e.Environ.Get("DATABASE_URL"); url != "" && url != c.ToDatabase && url != c.FromDatabase {
		return wiring.Usagef("DATABASE_URL names neither side of the move: unset it, or give it as --from-database or --to-database")
	}
	if both && (c.Temporal != "" || c.NoTemporal) {
		return wiring.Usagef("--temporal and --no-temporal: from one database to another Temporal stays where it is: leave them out")
	}
	c.KeepTemporal = c.KeepTemporal || both
	if c.NoTemporal && c.FromDatabase == "" {
		return wiring.Usagef("--no-temporal goes with --from-database: a cluster needs a Temporal to move to")
	}
	if c.KeepTemporal && (c.Temporal != "" || c.NoTemporal) || c.NoTemporal && c.Temporal != "" {
		return wiring.Usagef("--temporal, --keep-temporal and --no-temporal: want one of them")
	}
	if !c.KeepTemporal && !c.NoTemporal && c.temporalOf(e).Get("TEMPORAL_ADDRESS") == "" && !c.DryRun && !c.Undo {
		return wiring.Usagef("which Temporal does the cluster have? Give --temporal HOST:PORT or TEMPORAL_ADDRESS; " +
			"--keep-temporal moves the database alone")
	}
	if c.ImageStore != "" && (c.LeaveImages || both) {
		return wiring.Usagef("--image-store: images are left where they are with --leave-images, and from one database to another")
	}
	if c.ImageStore != "" {
		if err := imagestore.Validate(c.ImageStore); err != nil {
			return wiring.Usagef("--image-store: %w", err)
		}
	}
	c.LeaveImages = c.LeaveImages || both
	if c.Wait < 0 || c.Wait > 24*time.Hour {
		return wiring.Usagef("--wait %s: want 0s to 24h", c.Wait)
	}
	if c.DryRun && c.Undo {
		return wiring.Usagef("--dry-run and --undo: want one of them")
	}
	if c.Force && !c.Undo {
		return wiring.Usagef("--force goes with --undo")
	}
	return nil
}

// temporalOf is the environment that names the cluster's Temporal.
func (c *Cmd) temporalOf(e *command.Env) wiring.Env {
	if c.Temporal == "" {
		return e.Environ
	}
	return append(slices.Clip(e.Environ), "TEMPORAL_ADDRESS="+c.Temporal)
}

// movesTemporal says that what Temporal alone knows is moved, too.
func (c *Cmd) movesTemporal() bool { return !c.KeepTemporal && !c.NoTemporal }

// journey is a move under way.
type journey struct {
	*Cmd

	e        *command.Env
	from, to *side
	// was is where the source stood when the command began.
	was move.State
	// schedules and seedings are what was moved of Temporal.
	schedules, seedings []string
	copied              move.Copied
	images              int64
	began               time.Time
	view                *command.ProgressLine
}

func (j *journey) close() error {
	j.view.Clear()
	var errs []error
	for _, s := range []*side{j.to, j.from} {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}

// sayf tells what is done next.
func (j *journey) sayf(format string, args ...any) {
	j.view.Clear()
	fmt.Fprintf(j.e.Stderr, format+"\n", args...)
}

// plan opens the source, and looks where it stands.
func (j *journey) plan(ctx context.Context) (err error) {
	j.began = time.Now()
	j.from, j.to = sideOf(j, j.FromDatabase), sideOf(j, j.ToDatabase)
	if err := j.from.exists(); err != nil {
		return err
	}
	if err := j.from.open(ctx, j.movesTemporal() && !j.DryRun && !j.Undo); err != nil {
		return err
	}
	if err := j.from.db.CheckSource(ctx); err != nil {
		return err
	}
	j.was, err = j.from.db.Look(ctx)
	return err
}

// run moves, or does what an earlier try has left to do.
func (j *journey) run(ctx context.Context) error {
	if err := j.from.db.Take(ctx); err != nil {
		return err
	}
	switch j.was.Step {
	case move.Arriving, move.GivenUp:
		return fmt.Errorf("%w: %s is no source: it was being filled itself, from %s", crawl.ErrInvalid, j.from.name, j.was.Other)
	case move.Moved:
		return j.finish(ctx)
	case move.Leaving: // of an earlier try, which is begun anew
	}
	if err := j.carry(ctx); err != nil {
		return j.stands(ctx, err)
	}
	return j.goOn(ctx)
}

// carry moves all but what only Temporal knows.
func (j *journey) carry(ctx context.Context) error {
	if err := j.checkImages(ctx); err != nil {
		return err
	}
	if err := j.openTarget(ctx); err != nil {
		return err
	}
	// before it is taken, for an error that says more, and after that, when nobody else fills it
	if err := j.to.db.CheckTarget(ctx, j.from.db); err != nil {
		return err
	}
	if err := j.to.db.Take(ctx); err != nil {
		return err
	}
	if err := j.to.db.CheckTarget(ctx, j.from.db); err != nil {
		return err
	}
	if err := j.checkTemporals(ctx); err != nil {
		return err
	}
	if err := j.copyImages(ctx); err != nil { // most of them, while the crawl still goes on
		return err
	}
	state, err := j.shut(ctx)
	if err != nil {
		return err
	}
	if err := j.fill(ctx, state); err != nil {
		return err
	}
	return j.arrive(ctx, state)
}

// openTarget makes the target ready to be filled.
func (j *journey) openTarget(ctx context.Context) error {
	if err := j.to.migrate(ctx); err != nil {
		return err
	}
	return j.to.open(ctx, !j.KeepTemporal)
}

// shut closes the source: first for requests, and, once those in flight have ended, for all.
func (j *journey) shut(ctx context.Context) (move.State, error) {
	j.sayf("Closing %s: no request begins there any more.", j.from.name)
	state, err := j.from.db.Close(ctx, j.to.name, command.Whoami())
	if err != nil {
		return state, err
	}
	if err := j.from.db.Unseal(ctx); err != nil { // of an earlier try
		return state, err
	}
	left, err := j.from.db.Settle(ctx, j.Wait, func(flying int64) {
		j.view.Show(func(time.Time) string { return fmt.Sprintf("waiting for the requests in flight: %d", flying) })
	})
	if err != nil {
		return state, err
	}
	if left > 0 {
		j.sayf("%d of the requests in flight have not ended within %s. If they are made, they count as lost, and their pages are tried again.",
			left, j.Wait)
	}
	if !j.KeepTemporal {
		if err := j.releaseClaims(ctx); err != nil {
			return state, err
		}
	}
	return state, j.from.db.Seal(ctx)
}

// releaseClaims ends all claims: the workflows that have them stay behind.
func (j *journey) releaseClaims(ctx context.Context) error {
	claimed, err := j.from.db.Store().DomainsClaimed(ctx)
	if err != nil {
		return err
	}
	for len(claimed) > 0 {
		n := min(len(claimed), claimsBatch)
		if _, err := j.from.db.Store().ReleaseDomains(ctx, claimed[:n]); err != nil {
			return err
		}
		claimed = claimed[n:]
	}
	return nil
}

// claimsBatch is how many claims end in a transaction.
const claimsBatch = 1000

// fill brings rows and images to the target, which stays closed.
func (j *journey) fill(ctx context.Context, state move.State) (err error) {
	if err := j.freeNamespace(ctx); err != nil {
		return err
	}
	j.sayf("Copying the rows to %s.", j.to.name)
	j.copied, err = move.Copy(ctx, j.from.db, j.to.db, state, command.Whoami(), func(p move.Progress) {
		j.view.Show(func(now time.Time) string { return progress(p, now.Sub(j.began)) })
	})
	if err != nil {
		return err
	}
	if j.copied.Shift > clockTold || j.copied.Shift < -clockTold {
		j.sayf("The clock of %s differs by %s: the slots of hosts are moved by that.", j.to.name, j.copied.Shift)
	}
	return j.copyImages(ctx) // those of the last minutes
}

// clockTold is from what difference on a person is told of the clocks.
const clockTold = 100 * time.Millisecond

// arrive makes the target the one to work with.
func (j *journey) arrive(ctx context.Context, state move.State) error {
	// From here on there is no way back but to move back.
	if err := j.from.db.Leave(ctx, state); err != nil {
		return err
	}
	state.Step = move.Arriving
	return j.to.db.Reopen(ctx, state)
}
