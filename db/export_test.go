package db

import (
	"context"
	"sync"

	"github.com/mosey-web/mosey/crawl"
)

// What tests of migrations need: programs that know other files.
var (
	Files        = files
	MigrateFiles = migrate
	SchemaFiles  = schemaOf
)

// Outcome holds the results of one call of Record.
type Outcome struct {
	crawl.RecordResult
	Err error
}

// RecordTogether records attempts as if they had all ended while another was being
// recorded. It calls queued once all of them wait.
func (s *Store) RecordTogether(ctx context.Context, queued func(), attempts ...crawl.Attempt) []Outcome {
	outcomes := make([]Outcome, len(attempts))
	together(s.records, len(attempts), queued, func(i int) {
		rec, err := s.Record(ctx, attempts[i])
		outcomes[i] = Outcome{rec, err}
	})
	return outcomes
}

// BeginTogether begins attempts likewise.
func (s *Store) BeginTogether(ctx context.Context, starts ...crawl.Start) ([]crawl.Lease, []error) {
	leases, errs := make([]crawl.Lease, len(starts)), make([]error, len(starts))
	together(s.begins, len(starts), func() {}, func(i int) { leases[i], errs[i] = s.Begin(ctx, starts[i]) })
	return leases, errs
}

// together has n calls wait for each other.
func together[R any](g *groups[R], n int, queued func(), call func(int)) {
	g.mu.Lock()
	g.laneCount += groupLanes
	g.mu.Unlock()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { call(i) })
	}
	for waiting := 0; waiting < n; {
		g.mu.Lock()
		waiting = len(g.waiting)
		g.mu.Unlock()
	}
	queued()
	g.mu.Lock()
	g.laneCount -= groupLanes - 1
	g.mu.Unlock()
	g.serveLane()
	all.Wait()
}
