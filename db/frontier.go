package db

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Next is the crawl a domain should make next. It claims nothing, but closes
// attempts whose worker died and whose hold has run out.
func (s *Store) Next(ctx context.Context, domain string) (crawl.Next, error) {
	row, err := retryConflicts(ctx, "next crawl of "+domain, func() (dbsqlc.CrawlNextRow, error) {
		return s.q.CrawlNext(ctx, domain)
	})
	if err != nil {
		return crawl.Next{}, err
	}
	return s.next(row)
}

// Begin takes the slots for one attempt and claims its row, or says what to wait
// for. The slots stay closed even if the process dies: the domain's for hold, those
// of its address and subnet for span, which must cover the longest the request can
// take, and their own delay. ip may be empty. queued says that the caller has
// already waited for a place in a shared slot's queue.
func (s *Store) Begin(
	ctx context.Context, n crawl.Next, domain, ip string, hold, span time.Duration, queued bool,
) (crawl.Permit, error) {
	sh := share(ip, n.IPDelay, n.SubnetDelay)
	row, err := retryConflicts(ctx, "begin crawl of "+n.URL, func() (dbsqlc.CrawlBeginRow, error) {
		return s.q.CrawlBegin(ctx, dbsqlc.CrawlBeginParams{
			CrawlID: n.CrawlID, Domain: domain, Shared: sh.keys, SharedDelayMs: sh.delays,
			HoldMs: ms(hold), SpanMs: ms(span), Queued: queued,
		})
	})
	if err != nil {
		return crawl.Permit{}, err
	}
	return permit(row), nil
}

// Finish closes an attempt and does, in one transaction, all that follows from
// it: see crawl_finish. It returns what comes next for the domain, and whether
// this call closed the attempt: false means that the attempt was taken for
// dead and closed by somebody else, and that nothing was recorded.
func (s *Store) Finish(ctx context.Context, a crawl.Attempt) (crawl.Next, bool, error) {
	p, err := finishParams(a)
	if err != nil {
		return crawl.Next{}, false, err
	}
	row, err := retryConflicts(ctx, "record crawl "+strconv.FormatInt(a.CrawlID, 10), func() (dbsqlc.CrawlFinishRow, error) {
		p.SinceEndMs = sinceMS(a.EndedAt)
		return s.q.CrawlFinish(ctx, p)
	})
	if err != nil {
		return crawl.Next{}, false, err
	}
	n, err := s.next(dbsqlc.CrawlNextRow(row))
	return n, row.Closed, err
}

// Abandon takes an attempt back that was begun but for which no request was made,
// through no fault of the page. The page is pending again.
func (s *Store) Abandon(ctx context.Context, crawlID int64, domain, ip string) error {
	_, err := retryConflicts(ctx, "abandon crawl "+strconv.FormatInt(crawlID, 10), func() (struct{}, error) {
		return struct{}{}, s.q.CrawlAbandon(ctx, dbsqlc.CrawlAbandonParams{
			CrawlID: crawlID, Domain: domain, Shared: share(ip, anyDelay, anyDelay).keys,
		})
	})
	return err
}

func finishParams(a crawl.Attempt) (dbsqlc.CrawlFinishParams, error) {
	sh := share(a.IP, a.IPDelay, a.SubnetDelay)
	health, err := json.Marshal(a.Health)
	if err != nil {
		return dbsqlc.CrawlFinishParams{}, fmt.Errorf("write the health of %s: %w", a.Domain, err)
	}
	p := dbsqlc.CrawlFinishParams{
		ID: a.CrawlID, Domain: a.Domain, Ip: a.IP,
		Outcome: dbsqlc.CrawlOutcome(a.Outcome), StatusCode: int32(a.StatusCode), //nolint:gosec // three digits
		Error: a.Error, DurationMs: a.Duration.Milliseconds(), Bytes: a.Bytes, ContentType: a.ContentType,
		PageDelayMs: ms(a.Delay), Shared: sh.keys, SharedDelayMs: sh.delays, Reason: string(a.Reason), RetryInMs: -1,
		Title: a.Title, Canonical: a.Canonical, Noindex: a.NoIndex, Nofollow: a.NoFollow,
		LinkUrls: make([]string, len(a.Links)), LinkDomains: make([]string, len(a.Links)),
		LinkOrigins: make([]string, len(a.Links)), LinkNofollow: make([]bool, len(a.Links)),
		Redirect: a.Redirect, Origin: a.Origin, RobotsVersion: a.RobotsVersion, RetryAfterMs: ms(a.RetryAfter),
		Health: string(health), Verdict: string(a.Verdict), VerdictReason: a.VerdictReason,
		Permits: string(a.Permits), Skipped: string(a.Skipped), Unchanged: a.Unchanged, Etag: textOrNil(a.Visit.ETag),
		LastModified: timeOrNil(a.Visit.LastModified), Patterns: a.Patterns, NoNews: a.NoNews,
		Trap: string(a.Trap.Kind), TrapEvidence: a.Trap.Evidence,
		LinkTraps: make([]string, len(a.Links)), LinkEvidence: make([]string, len(a.Links)),
	}
	if !a.Visit.FreshUntil.IsZero() {
		p.FreshMs = ms(a.Visit.FreshUntil.Sub(a.Visit.At))
	}
	if a.Visit.Content != (crawl.ContentHash{}) {
		p.ContentHash = a.Visit.Content[:]
	}
	if a.SimHash != nil {
		bits := int64(*a.SimHash) //nolint:gosec // the same 64 bits
		p.Simhash = &bits
	}
	if p.Patterns == nil {
		p.Patterns = []string{}
	}
	if a.Requested {
		p.Holder = "crawl:" + strconv.FormatInt(a.CrawlID, 10)
	}
	if a.RetryIn >= 0 {
		p.RetryInMs = ms(a.RetryIn)
	}
	for i, l := range a.Links {
		p.LinkUrls[i], p.LinkDomains[i], p.LinkOrigins[i] = l.URL, l.Domain, l.Origin
		p.LinkNofollow[i] = l.NoFollow
		p.LinkTraps[i], p.LinkEvidence[i] = string(l.Trap.Kind), l.Trap.Evidence
	}
	return p, nil
}

// shared names the slots that a request to an address shares with other domains.
type shared struct {
	keys   []string
	delays []int64
}

// anyDelay is for those who give slots back: whatever the delays, only what is
// held is touched.
const anyDelay = time.Millisecond

// share leaves out what has no delay.
func share(ip string, ipDelay, subnetDelay time.Duration) shared {
	s := shared{keys: []string{}, delays: []int64{}}
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return s
	}
	if ipDelay > 0 {
		s.keys, s.delays = append(s.keys, "ip:"+ip), append(s.delays, ms(ipDelay))
	}
	if subnetDelay > 0 {
		s.keys, s.delays = append(s.keys, "subnet:"+politeness.Subnet(addr)), append(s.delays, ms(subnetDelay))
	}
	return s
}

// DeferOrigin puts off what is pending for an origin until its robots.txt may be
// asked for again, and returns how many crawls that were.
func (s *Store) DeferOrigin(ctx context.Context, domain, origin string) (int64, error) {
	n, err := s.q.OriginDefer(ctx, dbsqlc.OriginDeferParams{Origin: origin, Domain: domain})
	return n, translate("defer "+origin, err)
}

// TakeSlot takes the slots of a domain and, if ip is not empty and their delays not
// zero, of its address and subnet for a request that is not a page's, as Begin does. holder
// identifies the request to ReleaseSlot.
func (s *Store) TakeSlot(
	ctx context.Context, domain, ip, holder string, hold, span, ipDelay, subnetDelay time.Duration, queued bool,
) (crawl.Permit, error) {
	sh := share(ip, ipDelay, subnetDelay)
	row, err := retryConflicts(ctx, "take the slot of "+domain, func() (dbsqlc.SlotTakeRow, error) {
		return s.q.SlotTake(ctx, dbsqlc.SlotTakeParams{
			Domain: domain, Shared: sh.keys, SharedDelayMs: sh.delays, Holder: holder,
			HoldMs: ms(hold), SpanMs: ms(span), Queued: queued,
		})
	})
	if err != nil {
		return crawl.Permit{}, err
	}
	return permit(dbsqlc.CrawlBeginRow(row)), nil
}

// ReleaseSlot gives back at once what holder holds: no request was made.
func (s *Store) ReleaseSlot(ctx context.Context, domain, ip, holder string) error {
	_, err := retryConflicts(ctx, "release the slot of "+domain, func() (struct{}, error) {
		return struct{}{}, s.q.SlotRelease(ctx, dbsqlc.SlotReleaseParams{
			Domain: domain, Shared: share(ip, anyDelay, anyDelay).keys, Holder: holder,
		})
	})
	return err
}

// FinishRobots logs a request for a robots.txt and gives back its slots: the
// domain is closed for Delay and the address for IPDelay, counted from the
// request's end. A hold that was lost is left alone.
func (s *Store) FinishRobots(ctx context.Context, r crawl.RobotsRequest) error {
	sh := share(r.IP, r.IPDelay, r.SubnetDelay)
	_, err := retryConflicts(ctx, "record the request for "+r.URL, func() (struct{}, error) {
		return struct{}{}, s.q.RequestFinish(ctx, dbsqlc.RequestFinishParams{
			Domain: r.Domain, Ip: r.IP, Shared: sh.keys, SharedDelayMs: sh.delays, Holder: r.Holder, Kind: r.Kind, Url: r.URL,
			SinceEndMs: sinceMS(r.EndedAt), DurationMs: r.Duration.Milliseconds(),
			StatusCode: int32(r.StatusCode), //nolint:gosec // three digits
			DelayMs:    ms(r.Delay), Reason: string(r.Reason), RetryAfterMs: ms(r.RetryAfter),
		})
	})
	return err
}

func permit(row dbsqlc.CrawlBeginRow) crawl.Permit {
	return crawl.Permit{Granted: row.Granted, Wait: fromMS(row.WaitMs), Reason: crawl.Reason(row.Reason)}
}

func (s *Store) next(row dbsqlc.CrawlNextRow) (crawl.Next, error) {
	n := crawl.Next{
		CrawlID: row.CrawlID, Run: row.Run, URL: row.Url, Origin: row.Origin,
		Attempt: int(row.Attempt), MaxAttempts: int(row.MaxAttempts), Patience: fromMS(row.PatienceMs),
		RobotsVerdict: crawl.RobotsVerdict(row.RobotsVerdict), RobotsVersion: row.RobotsVersion,
		RobotsFresh: fromMS(row.RobotsFreshMs), RobotsReason: row.RobotsReason,
		Waits: crawl.Waits{
			Configured: fromMS(row.DelayMs), Domain: fromMS(row.DomainDelayMs), CrawlDelay: fromMS(row.CrawlDelayMs),
		},
		IPDelay: fromMS(row.IpDelayMs), SubnetDelay: fromMS(row.SubnetDelayMs), SlotWait: fromMS(row.SlotWaitMs),
		SlotReason: crawl.Reason(row.SlotReason), DueIn: fromMS(row.DueInMs),
		LatencyFactor: row.LatencyFactor, Depth: int(row.Depth), MinRefetch: fromMS(row.MinRefetchMs),
		Purpose: crawl.Purpose(row.Purpose), BlockOnLogin: row.BlockOnLogin, TDMKnown: row.TdmKnown,
		Now: row.AskedAt,
		Visit: crawl.Visit{
			At: afterEpoch(row.FetchedAt), FreshUntil: afterEpoch(row.FreshUntil), ETag: row.Etag,
			LastModified: afterEpoch(row.LastModified),
		},
		Breaker: crawl.BreakerSettings{Graylist: fromMS(row.GraylistMs), Most: int(row.MaxGraylistings)},
	}
	if err := json.Unmarshal([]byte(row.Health), &n.Health); err != nil {
		return n, fmt.Errorf("read the health of the domain of %s: %w", row.Url, err)
	}
	if len(row.SpentPatterns) > 0 {
		n.SpentPatterns = row.SpentPatterns
	}
	copy(n.Visit.Content[:], row.ContentHash)
	if len(row.Windows) > 0 {
		n.Windows = row.Windows
	}
	return n, nil
}

// Pattern returns how many pages of a pattern of a domain's URLs were seen, and
// how many of them were duplicates.
func (s *Store) Pattern(ctx context.Context, domain, pattern string) (seen, duplicates int, err error) {
	row, err := s.q.PatternGet(ctx, dbsqlc.PatternGetParams{Domain: domain, Pattern: pattern})
	return int(row.Seen), int(row.Duplicates), translate("pattern "+pattern+" of "+domain, err)
}
