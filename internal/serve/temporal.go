package serve

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Temporal is asked whether it is there while somebody looks at pages, so often and for so long
// at the most. A page waits for the first answer alone.
const (
	temporalEvery = 3 * time.Second
	temporalSpan  = time.Second
)

// temporalGone is said on pages while Temporal does not answer. They are shown all the same:
// what they show are rows, and so are changes.
const temporalGone = "Temporal does not answer: nothing new is fetched until it does. What is shown here is in the database, " +
	"and so is what is changed here: it holds from now on."

// presence is whether Temporal is there, as of late.
type presence struct {
	mu   sync.Mutex
	gone bool
	// at is when it was asked last; zero is not yet
	at time.Time
	// asking is closed when the answer is there; nil is that it is not asked
	asking chan struct{}
}

// notice is what is said above a page besides its sentence, if anything.
func (s *Server) notice(ctx context.Context) string {
	if s.Temporal == nil || s.SearchOnly {
		return ""
	}
	p := &s.presence
	p.mu.Lock()
	if p.asking == nil && time.Since(p.at) >= temporalEvery {
		p.asking = make(chan struct{})
		go s.askTemporal(context.WithoutCancel(ctx)) // for others, too
	}
	asking, first := p.asking, p.at.IsZero()
	p.mu.Unlock()
	if first {
		select {
		case <-asking:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return temporalGone
	}
	return ""
}

// askTemporal notes whether Temporal is there.
func (s *Server) askTemporal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, temporalSpan)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- s.Temporal(ctx) }()
	gone := true
	select {
	case err := <-answered:
		gone = err != nil
	case <-ctx.Done(): // also where it is not obeyed
	case <-s.closed:
	}
	p := &s.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone, p.at = gone, time.Now()
	close(p.asking)
	p.asking = nil
}

// load reads what a page shows, with the notice above it.
func (s *Server) load(r *http.Request, p page) (view, error) {
	v, err := p.load(s, r)
	if err != nil {
		return nil, err
	}
	v.noticed(s.notice(r.Context()))
	return v, nil
}
