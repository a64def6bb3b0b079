package activities_test

import (
	"context"
	"errors"
	"sync"

	"github.com/mosey-web/mosey/manners/web"
)

var errAway = errors.New("no connection to Temporal")

// starter stands where the Temporal client is, and records.
type starter struct {
	mu      sync.Mutex
	crawls  []string
	domains []startedDomain
	err     error
}

type startedDomain struct {
	domain, run      string
	pagesPerActivity int
}

func (s *starter) StartCrawl(_ context.Context, run string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crawls = append(s.crawls, run)
	return s.err
}

func (s *starter) StartDomain(_ context.Context, domain, run string, pagesPerActivity int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.domains = append(s.domains, startedDomain{domain, run, pagesPerActivity})
	return s.err
}

// serve is a behaviour of one test.
type serve func(*web.Visit)

func (s serve) Serve(v *web.Visit) { s(v) }
func (serve) Truth() web.Truth     { return web.Truth{} }
