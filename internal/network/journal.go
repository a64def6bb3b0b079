package network

import (
	"context"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Store stores outages, so that other processes can show them.
type Store interface {
	SaveOutage(ctx context.Context, o crawl.Outage) error
}

// saveInterval is the interval for saving a lasting outage, and saveTimeout the timeout of a save.
const (
	saveInterval = 20 * time.Second
	saveTimeout  = 10 * time.Second
)

// Journal logs and stores the outages of a worker.
type Journal struct {
	store   Store
	worker  string
	log     *slog.Logger
	changes chan crawl.Outage
}

// NewJournal returns a journal for a worker. Call Run, and pass Changed to a Monitor.
func NewJournal(store Store, worker string, log *slog.Logger) *Journal {
	return &Journal{store: store, worker: worker, log: log, changes: make(chan crawl.Outage, 1)}
}

// Notify passes an outage or its end to Run. A newer one replaces one that Run has not read yet.
func (j *Journal) Notify(o crawl.Outage) {
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

// Run logs and stores the outages from Notify, until the context ends.
func (j *Journal) Run(ctx context.Context) {
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	var current, unsaved crawl.Outage // unsaved has ended
	for {
		select {
		case next := <-j.changes:
			unsaved = j.endOutage(current, next, unsaved)
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

func (j *Journal) endOutage(current, next, unsaved crawl.Outage) crawl.Outage {
	if !next.Since.IsZero() {
		j.log.Warn("the network of this machine seems to be down: failures are not counted against sites until it is back",
			"since", next.Since.Format(time.TimeOnly), "seen", next.Reason)
	}
	if current.Since.IsZero() {
		return unsaved
	}
	current.Ended = time.Now()
	switch {
	case next.Since.IsZero() && next.Reason != "":
		j.log.Warn("the network seems to be up", "seen", next.Reason)
	case next.Since.IsZero():
		j.log.Warn("the network is back", "away", current.Ended.Sub(current.Since).Round(time.Second).String())
	}
	return current
}

// save reports whether it succeeded. Run retries if the database is also unreachable.
func (j *Journal) save(ctx context.Context, o crawl.Outage) bool {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := j.store.SaveOutage(ctx, o); err != nil {
		j.log.Warn("could not store a network outage", "error", err)
		return false
	}
	return true
}
