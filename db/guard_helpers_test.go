package db_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/usage"
)

// view is a domain's facts with what is next according to them.
type view struct {
	crawl.Facts
	decide.Pace

	// AttemptID is 0 if nothing is due that may be requested.
	AttemptID int64
	Run       string
	URL       string
	Origin    string
	Attempt   int
	// SlotWait is how long the domain's slot stays closed.
	SlotWait   time.Duration
	SlotReason reasons.Reason
	// DueIn is how long until something is due; negative where nothing will be.
	DueIn time.Duration

	picked *crawl.RunFacts
}

func viewOf(f crawl.Facts) view {
	v := view{
		Facts: f, Pace: decide.PaceOf(f), DueIn: -time.Millisecond,
		SlotWait: max(f.Domain.SlotFree.Sub(f.Now), 0), SlotReason: f.Domain.SlotReason,
	}
	if d := decide.Decide(decide.Facts{Facts: f}, f.Now); d.Attempt != nil {
		v.picked = d.Run
		v.AttemptID, v.Run, v.URL, v.Origin = d.Attempt.ID, d.Run.Name, d.Attempt.URL, d.Attempt.Origin
		v.Attempt = d.Attempt.Number
	}
	for _, r := range f.Runs {
		at := r.Due
		if r.Attempt != nil && !decide.BudgetSpent(r) {
			at = f.Now
		}
		if in := max(at.Sub(f.Now), 0); !at.IsZero() && (v.DueIn < 0 || in < v.DueIn) {
			v.DueIn = in
		}
	}
	return v
}

func (b *bundle) next(t *testing.T, domain string) view {
	t.Helper()
	f, err := b.Next(t.Context(), domain)
	require.NoError(t, err)
	return viewOf(f)
}

// shared names the slots that a request to an address shares with other domains.
func shared(ip string, ipDelay, subnetDelay time.Duration) []crawl.SharedSlot {
	slots := []crawl.SharedSlot{}
	if ip != "" && ipDelay > 0 {
		slots = append(slots, crawl.SharedSlot{Key: "ip:" + ip, Delay: crawl.Millis(ipDelay)})
	}
	if ip != "" && subnetDelay > 0 {
		slots = append(slots, crawl.SharedSlot{Key: "subnet:" + subnet(ip), Delay: crawl.Millis(subnetDelay)})
	}
	return slots
}

func subnet(ip string) string { return politeness.Subnet(netip.MustParseAddr(ip)) }

// startOf asks for the lease of what is next; ip may be empty.
func startOf(n view, domain, ip string) crawl.Start {
	s := crawl.Start{
		AttemptID: n.AttemptID, RunID: n.picked.ID, Domain: domain, Origin: n.Origin, URL: n.URL, Kind: n.picked.Attempt.Kind,
		RetryPriority: retryPriority(*n.picked), Shared: shared(ip, n.IPDelay, n.SubnetDelay),
		SlotHold: crawl.Millis(longHold), MaxDuration: crawl.Millis(longHold), ClaimDuration: crawl.Millis(crawl.ClaimRenewed),
	}
	decide.SetBudgets(*n.picked, &s)
	return s
}

// begin begins the domain's next crawl, which must be due and have its slot free.
func (b *bundle) begin(t *testing.T, domain string) view {
	t.Helper()
	return b.beginAt(t, domain, "")
}

// beginAt is begin at an address.
func (b *bundle) beginAt(t *testing.T, domain, ip string) view {
	t.Helper()
	n := b.next(t, domain)
	require.NotZero(t, n.AttemptID, "nothing is due on %s", domain)
	l, err := b.Begin(t.Context(), startOf(n, domain, ip))
	require.NoError(t, err)
	require.Equal(t, crawl.Lease{Granted: true, AttemptID: n.AttemptID}, l, domain)
	return n
}

// attempted is a successful attempt to record; tests change what they are about.
func attempted(n view, domain string, found ...crawl.Link) crawl.Attempt {
	follow, _ := decide.FollowLinks(*n.picked, *n.picked.Attempt, usage.Usage{})
	return crawl.Attempt{
		ID: n.AttemptID, Domain: domain, Requested: true, Outcome: crawl.OutcomeSuccess, StatusCode: 200,
		EndedAt: time.Now(), Reason: reasons.Delay, Links: found,
		Page:   &crawl.PageUpdate{Visit: &crawl.VisitUpdate{}, Signals: &crawl.Signals{}},
		Follow: follow,
	}
}

// settled fills in what follows from an attempt's outcome and address.
func settled(a crawl.Attempt) crawl.Attempt {
	if a.Shared == nil {
		a.Shared = shared(a.IP, time.Duration(a.IPDelay), time.Duration(a.SubnetDelay))
	}
	if a.SubnetDelay > 0 {
		a.Subnet = subnet(a.IP)
	}
	if a.Outcome == crawl.OutcomeSuccess {
		return a
	}
	a.Page = nil
	if a.RetryIn == nil && a.Outcome != crawl.OutcomeSkipped {
		a.Page = &crawl.PageUpdate{Failed: true}
	}
	return a
}

// finish records an attempt that nobody else has closed.
func (b *bundle) finish(t *testing.T, a crawl.Attempt) view {
	t.Helper()
	rec, err := b.Record(t.Context(), settled(a))
	require.NoError(t, err)
	require.True(t, rec.Closed)
	return viewOf(rec.Facts)
}

// fetch makes and records one successful attempt.
func (b *bundle) fetch(t *testing.T, domain string, found ...string) view {
	t.Helper()
	return b.finish(t, attempted(b.begin(t, domain), domain, links(t, found...)...))
}

// prerequisite asks for the lease of a request for a robots.txt.
func (b *bundle) prerequisite(domain, ip string, ipDelay, subnetDelay time.Duration) crawl.Start {
	return crawl.Start{
		RunID: b.run.ID, Domain: domain, Origin: "http://" + domain, URL: "http://" + domain + "/robots.txt",
		Kind: kinds.Robots, Prerequisite: true, Shared: shared(ip, ipDelay, subnetDelay),
		SlotHold: crawl.Millis(longHold), MaxDuration: crawl.Millis(longHold), ClaimDuration: crawl.Millis(crawl.ClaimRenewed),
	}
}

// takeSlots begins a request for a robots.txt, and remembers the lease for holder.
func (b *bundle) takeSlots(ctx context.Context, s crawl.Start, holder string) (crawl.Lease, error) {
	l, err := b.Begin(ctx, s)
	if l.Granted {
		b.held.Store(s.Domain+" "+holder, l.AttemptID)
	}
	return l, err
}

func (b *bundle) take(t *testing.T, domain, ip, holder string, ipDelay time.Duration) crawl.Lease {
	t.Helper()
	l, err := b.takeSlots(t.Context(), b.prerequisite(domain, ip, ipDelay, 0), holder)
	require.NoError(t, err)
	return l
}

// takeQueued is take for who has waited for its place.
func (b *bundle) takeQueued(t *testing.T, domain, ip, holder string, ipDelay time.Duration) crawl.Lease {
	t.Helper()
	s := b.prerequisite(domain, ip, ipDelay, 0)
	s.Queued = true
	l, err := b.takeSlots(t.Context(), s, holder)
	require.NoError(t, err)
	return l
}

// leased is the crawl that holder has a lease for, see takeSlots.
func (b *bundle) leased(domain, holder string) int64 {
	id, _ := b.held.Load(domain + " " + holder)
	return id.(int64)
}

// release ends a request for a robots.txt, which holder has the slots for.
func (b *bundle) release(
	ctx context.Context, domain, ip, holder string, ended time.Time, delay, ipDelay time.Duration, why reasons.Reason,
) error {
	_, err := b.Record(ctx, settled(crawl.Attempt{
		ID: b.leased(domain, holder), Domain: domain, Requested: true, IP: ip,
		Outcome: crawl.OutcomeSuccess, StatusCode: 200, EndedAt: ended,
		Delay: crawl.Millis(delay), IPDelay: crawl.Millis(ipDelay), Reason: why,
	}))
	return err
}

// giveBack gives slots back for which no request was made.
func (b *bundle) giveBack(t *testing.T, domain, ip, holder string) {
	t.Helper()
	s := b.prerequisite(domain, ip, time.Second, time.Second)
	require.NoError(t, b.Abandon(t.Context(), s, b.leased(domain, holder), 0, false, "not wanted any more"))
}

// retryPriority returns the priority of a retry, as FetchPages passes it to Begin.
func retryPriority(run crawl.RunFacts) *int {
	if decide.LastAttempt(run, *run.Attempt) {
		return nil
	}
	return new(decide.RetryPriority(*run.Attempt))
}
