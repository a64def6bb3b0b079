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

// Outcome is what Record has returned.
type Outcome struct {
	crawl.Recorded
	Err error
}

// RecordTogether records attempts as if they had all ended while another was being
// recorded. It calls queued once all
// of them wait.
func (s *Store) RecordTogether(ctx context.Context, queued func(), attempts ...crawl.Attempt) []Outcome {
	g := &s.groups
	g.mu.Lock()
	g.lanes += groupLanes
	g.mu.Unlock()
	outcomes := make([]Outcome, len(attempts))
	var all sync.WaitGroup
	for i, a := range attempts {
		all.Go(func() {
			rec, err := s.Record(ctx, a)
			outcomes[i] = Outcome{rec, err}
		})
	}
	for waiting := 0; waiting < len(attempts); {
		g.mu.Lock()
		waiting = len(g.waiting)
		g.mu.Unlock()
	}
	queued()
	g.mu.Lock()
	g.lanes -= groupLanes - 1
	g.mu.Unlock()
	g.run(s.q)
	all.Wait()
	return outcomes
}
