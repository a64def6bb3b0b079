package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Next closes attempts of dead workers whose lease has ended, and returns the facts of a domain.
func (s *Store) Next(ctx context.Context, domain string) (crawl.Facts, error) {
	data, err := retryConflicts(ctx, "read the facts of "+domain, func() ([]byte, error) { return s.q.DomainNext(ctx, domain) })
	return s.facts(data, err)
}

// Facts returns the facts of a domain and changes nothing.
func (s *Store) Facts(ctx context.Context, domain string) (crawl.Facts, error) {
	data, err := s.q.DomainFacts(ctx, domain)
	return s.facts(data, translate("read the facts of "+domain, err))
}

// PageFacts returns the facts of a page: its last crawl in each run of its domain, open or closed.
func (s *Store) PageFacts(ctx context.Context, domain, url string) (crawl.Facts, error) {
	data, err := s.q.PageFacts(ctx, dbsqlc.PageFactsParams{Domain: domain, Url: url})
	return s.facts(data, translate("read the facts of "+url, err))
}

// Abandon undoes an attempt that failed through no fault of the page, which is pending again. The
// slots close for their delays; with a delay of 0 all are free at once. unreachable is set if the
// domain could not be reached for an unknown reason.
func (s *Store) Abandon(
	ctx context.Context, start crawl.Start, attemptID int64, delay time.Duration, unreachable bool, reason string,
) error {
	return s.abandon(ctx, start, dbsqlc.AttemptUndoParams{AttemptID: attemptID, Error: reason, DelayMs: ms(delay), Unreachable: unreachable})
}

func (s *Store) abandon(ctx context.Context, start crawl.Start, p dbsqlc.AttemptUndoParams) error {
	p.Domain = start.Domain
	for _, slot := range start.Shared {
		p.Shared, p.SharedDelayMs = append(p.Shared, slot.Key), append(p.SharedDelayMs, min(slot.Delay.Count(), p.DelayMs))
	}
	return retry(ctx, "abandon crawl "+strconv.FormatInt(p.AttemptID, 10), func() error { return s.q.AttemptUndo(ctx, p) })
}

// ExtendLease extends an attempt's lease of its domain from now on, unless the attempt has lost it.
func (s *Store) ExtendLease(ctx context.Context, domain string, attemptID int64, hold time.Duration) error {
	op := "extend the lease of crawl " + strconv.FormatInt(attemptID, 10)
	return translate(op, s.q.AttemptExtendLease(ctx, dbsqlc.AttemptExtendLeaseParams{Domain: domain, AttemptID: attemptID, HoldMs: ms(hold)}))
}

// Withdraw is Abandon for an attempt that had a connection to the site. Its row stays for audits,
// but counts for nothing. robots is the version of the robots.txt that allowed it.
func (s *Store) Withdraw(
	ctx context.Context, start crawl.Start, attemptID int64, delay time.Duration, unreachable bool, reason string, robots int64,
) error {
	return s.abandon(ctx, start, dbsqlc.AttemptUndoParams{
		AttemptID: attemptID, Error: reason, DelayMs: ms(delay), Unreachable: unreachable, RobotsVersion: &robots,
	})
}

// Pending counts the pending attempts of a domain in some runs, up to limit.
func (s *Store) Pending(ctx context.Context, domain string, runs []int64, limit int) (int64, error) {
	n, err := s.q.AttemptsPending(ctx, dbsqlc.AttemptsPendingParams{Runs: runs, Domain: domain, Max: int32Of(limit)})
	return n, translate("count pending pages", err)
}

// DeferOrigin defers the pending attempts of an origin until an instant; with schemeless, also
// those of seeds without a scheme. It returns their number.
func (s *Store) DeferOrigin(ctx context.Context, domain, origin string, until time.Time, schemeless bool) (int64, error) {
	n, err := s.q.OriginDefer(ctx, dbsqlc.OriginDeferParams{Origin: origin, Domain: domain, Until: until, Schemeless: schemeless})
	return n, translate("defer "+origin, err)
}

// ExpireRobots has an origin's robots.txt requested before the next page of the origin.
func (s *Store) ExpireRobots(ctx context.Context, origin string) error {
	return translate("expire the robots.txt of "+origin, s.q.RobotsExpire(ctx, origin))
}

// facts decodes the facts from a query.
func (s *Store) facts(data []byte, err error) (f crawl.Facts, _ error) {
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("read the facts of a domain: %w", err)
	}
	for i := range f.Runs {
		set, err := s.settingsOf(f.Runs[i].SettingsDocument)
		if err != nil {
			return f, fmt.Errorf("read the settings of run %s: %w", f.Runs[i].Name, err)
		}
		f.Runs[i].Settings, f.Runs[i].SettingsDocument = set, nil
	}
	return f, nil
}

// maxCachedSettings bounds the settings in the cache.
const maxCachedSettings = 1000

// settingsOf decodes settings and caches them by their text, because every page needs them.
func (s *Store) settingsOf(data []byte) (settings.Settings, error) {
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	if set, ok := s.settings[string(data)]; ok {
		return set, nil
	}
	var set settings.Settings
	if err := json.Unmarshal(data, &set); err != nil {
		return set, err
	}
	set = set.WithDefaults()
	if s.settings == nil || len(s.settings) >= maxCachedSettings {
		s.settings = make(map[string]settings.Settings)
	}
	s.settings[string(data)] = set
	return set, nil
}
