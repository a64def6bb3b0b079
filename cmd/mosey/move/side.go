package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/move"
	"github.com/mosey-web/mosey/internal/stack"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/workflows"
)

// side is the source of a move, or its target: a data directory or a cluster.
type side struct {
	j *journey
	// dir is the data directory; empty is a cluster.
	dir string
	// name is for people, without secrets.
	name string
	url  string
	// own is the address of the data directory's Temporal, while it runs.
	own string

	db *move.Database
	// temporal is nil where it is not asked.
	temporal *wiring.Client
	closers  []func(context.Context) error
}

// sideOf is the side with a database; empty is the data directory.
func sideOf(j *journey, url string) *side {
	return &side{j: j, url: url}
}

// resolve finds the data directory of a side that is one.
func (s *side) resolve() error {
	if s.url != "" || s.dir != "" {
		return nil
	}
	dir, err := datadir.Resolve(s.j.e.DataDir)
	s.dir, s.name = dir, "the data directory "+dir
	return err
}

// exists fails for a data directory without a database.
func (s *side) exists() error {
	if err := s.resolve(); err != nil || s.dir == "" {
		return err
	}
	has, err := postgres.HasCluster(s.dir)
	if err == nil && !has {
		err = fmt.Errorf("%w: %s has no database", crawl.ErrInvalid, s.name)
	}
	return err
}

// start starts what runs in a data directory, for as long as the side is open.
func (s *side) start(ctx context.Context, temporal bool) (err error) {
	if err := s.resolve(); err != nil || s.url != "" {
		return err
	}
	opts := stack.Options{
		DataDir: s.dir, NoUI: true, Logger: s.logger(), Progress: func(text string) { s.j.sayf("%s", text) },
		SearchAttributes: workflows.SearchAttributes(),
	}
	if !temporal {
		opts.TemporalAddress = "none" // given, so that none is started; nobody asks it
	}
	up, err := stack.Up(ctx, opts)
	if err != nil {
		return err
	}
	s.url, s.own = up.DatabaseURL, up.TemporalAddress
	s.closers = append(s.closers, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, command.CloseTimeout)
		defer cancel()
		return up.Close(ctx)
	})
	return nil
}

func (s *side) logger() *slog.Logger { return s.j.e.NewLogger(s.j.e.Stderr, command.ErrorsOnly) }

// migrate brings the database of a target to the newest schema. A data directory without a
// database gets one.
func (s *side) migrate(ctx context.Context) error {
	if err := s.start(ctx, !s.j.KeepTemporal); err != nil {
		return err
	}
	_, _, err := wiring.Migrate(ctx, s.url, func(text string) { s.j.sayf("%s", text) })
	return err
}

// open connects to the database, and to Temporal if that is asked.
func (s *side) open(ctx context.Context, temporal bool) (err error) {
	if err := s.start(ctx, temporal); err != nil {
		return err
	}
	if s.db, err = move.Open(ctx, s.url, s.name); err != nil {
		return wiring.Describe(err)
	}
	s.name = s.db.Name
	s.closers = append(s.closers, func(context.Context) error { s.db.Disconnect(); return nil })
	if !temporal {
		return nil
	}
	environ, address := s.j.temporalOf(s.j.e), ""
	if s.dir != "" {
		// the environment is about the cluster's
		environ, address = withoutTemporal(environ), s.own
	}
	to := wiring.Connection{Env: environ, Address: address}
	if s.temporal, err = wiring.Dial(ctx, to, s.logger(), nil); err != nil {
		return err
	}
	s.closers = append(s.closers, func(context.Context) error { s.temporal.Close(); return nil })
	return nil
}

func withoutTemporal(environ wiring.Env) (kept wiring.Env) {
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "TEMPORAL_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

// close ends all of it, what began last first.
func (s *side) close() error {
	var errs []error
	for _, end := range slices.Backward(s.closers) {
		errs = append(errs, end(context.Background()))
	}
	s.closers = nil
	return errors.Join(errs...)
}

// images is where a side keeps images.
func (s *side) images() string {
	if s.dir != "" {
		return filepath.Join(s.dir, "images")
	}
	return s.j.ImageStore
}
