package wiring

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/reconcile"
	"github.com/mosey-web/mosey/workflows"
)

// reconciler compares what rows want with what runs, while no other process does.
type reconciler struct {
	store    *db.Store
	starter  workflows.Starter
	upgrader upgrader
	logger   *slog.Logger
}

const (
	// lookTimeout bounds one look.
	lookTimeout = time.Minute
	// outcomesEvery and hoursEvery are how often it is added up how attempts have ended.
	outcomesEvery = time.Minute
	hoursEvery    = time.Hour
)

// run looks now and then until the context ends.
func (r reconciler) run(ctx context.Context) {
	var lead *db.Lead
	defer func() {
		if lead != nil {
			lead.Leave()
		}
	}()
	look := reconcile.Reconciler{Store: r.store, Workflows: r.starter, Logger: r.logger}
	var outcomes, hours time.Time // when they were added up
	for wait := reconcile.First; ; wait = reconcile.Every {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		var err error
		if lead, err = r.lead(ctx, lead); err == nil && lead != nil {
			bounded, cancel := context.WithTimeout(ctx, lookTimeout)
			err = errors.Join(look.Look(bounded), r.upgrader.look(bounded))
			if now := time.Now(); err == nil && now.Sub(outcomes) >= outcomesEvery {
				err, outcomes = r.store.AddUpOutcomes(bounded), now
			}
			if now := time.Now(); err == nil && now.Sub(hours) >= hoursEvery {
				err, hours = r.store.AddUpHours(bounded, now), now
			}
			cancel()
		}
		if err != nil && ctx.Err() == nil {
			r.logger.WarnContext(ctx, "could not compare what runs with the database; tried again soon", "error", err)
		}
	}
}

// lead keeps the right to reconcile, or tries to take it.
func (r reconciler) lead(ctx context.Context, lead *db.Lead) (*db.Lead, error) {
	if lead != nil {
		if lead.Lasts(ctx) {
			return lead, nil
		}
		lead.Leave()
	}
	return r.store.Lead(ctx)
}
