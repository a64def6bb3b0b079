package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

// skip is what there is to record of a page that is not worth a request: it is
// still fresh, was fetched lately, or is part of an endless space. It is nil where
// the page is to be requested.
func (s *slice) skip(ctx context.Context, n crawl.Next) (*crawl.Attempt, error) {
	if fetch, why := freshness.ShouldFetch(n.Visit, n.Now, n.MinRefetch); !fetch {
		at := unrequested(n, s.in.Domain, crawl.OutcomeSuccess, "")
		at.Skipped = why
		return &at, nil
	}
	trap, err := s.patternTrap(ctx, n)
	if err != nil || trap.Kind == "" {
		return nil, err
	}
	at := unrequested(n, s.in.Domain, crawl.OutcomeFailed, string(trap.Kind)+": "+trap.Evidence)
	at.Skipped, at.Trap = crawl.ReasonTrap, trap
	return &at, nil
}

// patternTrap says whether a page is one of a pattern that has brought too little
// news. Seeds are a person's decision.
func (s *slice) patternTrap(ctx context.Context, n crawl.Next) (crawl.Trap, error) {
	if len(n.SpentPatterns) == 0 || n.Depth == 0 {
		return crawl.Trap{}, nil
	}
	u, err := urls.Parse(n.URL)
	if err != nil {
		return crawl.Trap{}, fmt.Errorf("stored URL: %w", err)
	}
	for _, pattern := range traps.Patterns(u) {
		if !slices.Contains(n.SpentPatterns, pattern) {
			continue
		}
		seen, duplicates, err := s.store.Pattern(ctx, s.in.Domain, pattern)
		if err != nil && !errors.Is(err, crawl.ErrNotFound) {
			return crawl.Trap{}, err
		}
		if trap, found := traps.FindPattern(pattern, seen, duplicates); found {
			return trap, nil
		}
	}
	return crawl.Trap{}, nil
}

// trapOf is the trap that a link found on a page is, if it is one.
func trapOf(u urls.URL, now time.Time) crawl.Trap {
	trap, _ := traps.Find(u, now)
	return trap
}
