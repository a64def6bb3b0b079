package network

import (
	"context"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Store keeps outages, so that people see them from another process.
type Store interface {
	SaveOutage(ctx context.Context, o crawl.Outage) error
}

// saveEvery is how often a lasting outage is saved, and saveSpan limits one try.
const (
	saveEvery = 20 * time.Second
	saveSpan  = 10 * time.Second
)

// Journal logs and stores the outages of a worker.
type Journal struct {
	store   Store
	worker  string
	log     *slog.Logger
	changes chan crawl.Outage
}

// NewJournal makes a journal for a worker. Call Run, and give Changed to a Monitor.
func NewJournal(store Store, worker string, log *slog.Logger) *Journal {
	return &Journal{store: store, worker: worker, log: log, changes: make(chan crawl.Outage, 1)}
}

// Changed takes note of an outage or its end; of several at once the last counts.
func (j *Journal) Changed(o crawl.Outage) {
	for {
		select {
		case j.changes <- o:
			return
		default:
		}
		select {
		case <-j.changes:
		default:
		}
	}
}

// Run logs and stores what Changed is told, until the context ends.
func (j *Journal) Run(ctx context.Context) {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	var current, unsaved crawl.Outage // unsaved has ended
	for {
		select {
		case next := <-j.changes:
			unsaved = j.ended(current, next, unsaved)
			current = next
			current.Worker = j.worker
		case <-ticker.C:
		case <-ctx.Done():
			if !current.Since.IsZero() {
				current.Ended = time.Now()
				j.save(context.WithoutCancel(ctx), current)
			}
			return
		}
		if !unsaved.Since.IsZero() && j.save(ctx, unsaved) {
			unsaved = crawl.Outage{}
		}
		if !current.Since.IsZero() {
			j.save(ctx, current)
		}
	}
}

// ended logs a change, and returns the outage that it ends.
func (j *Journal) ended(current, next, unsaved crawl.Outage) crawl.Outage {
	if !next.Since.IsZero() {
		j.log.Warn("this machine's network seems to be down: nothing is held against the sites until it is back",
			"since", next.Since.Format(time.TimeOnly), "seen", next.Reason)
	}
	if current.Since.IsZero() {
		return unsaved
	}
	current.Ended = time.Now()
	switch {
	case next.Since.IsZero() && next.Reason != "":
		j.log.Warn("the network seems to be there", "seen", next.Reason)
	case next.Since.IsZero():
		j.log.Warn("the network is back", "away", current.Ended.Sub(current.Since).Round(time.Second).String())
	}
	return current
}

// save reports whether it could. A database that is away as well is told later.
func (j *Journal) save(ctx context.Context, o crawl.Outage) bool {
	ctx, cancel := context.WithTimeout(ctx, saveSpan)
	defer cancel()
	if err := j.store.SaveOutage(ctx, o); err != nil {
		j.log.Warn("could not store that the network is away", "error", err)
		return false
	}
	return true
}
