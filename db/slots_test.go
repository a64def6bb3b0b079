package db_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

const address = "192.0.2.7"

func TestDomainSlot(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})

	t.Run("OneOfManyGetsIt", func(t *testing.T) {
		t.Parallel()
		const n = 24
		permits := make([]crawl.Lease, n)
		together(t, n, func(i int) (err error) {
			permits[i], err = b.Begin(t.Context(), b.prerequisite("many.example", "", 0, 0))
			return err
		})
		granted := 0
		for _, p := range permits {
			if p.Granted {
				granted++
				continue
			}
			require.Equal(t, reasons.InFlight, p.Reason)
			require.Greater(t, p.Wait, longHold/2)
			require.LessOrEqual(t, p.Wait, longHold)
		}
		require.Equal(t, 1, granted)
	})

	t.Run("StaysClosedFromTheEndOfTheRequest", func(t *testing.T) {
		t.Parallel()
		const domain = "gap.example"
		require.True(t, b.take(t, domain, "", "a", 0).Granted)
		require.NoError(t, b.release(t.Context(), domain, "", "a", time.Now().Add(-30*time.Second),
			time.Minute, 0, reasons.CrawlDelay))
		p := b.take(t, domain, "", "b", 0)
		require.False(t, p.Granted)
		require.Equal(t, reasons.CrawlDelay, p.Reason)
		require.LessOrEqual(t, p.Wait, 30*time.Second)
		require.Greater(t, p.Wait, 10*time.Second)
	})

	t.Run("IsFreeWhenTheDelayHasPassed", func(t *testing.T) {
		t.Parallel()
		const domain = "passed.example"
		require.True(t, b.take(t, domain, "", "a", 0).Granted)
		require.NoError(t, b.release(t.Context(), domain, "", "a", time.Now().Add(-time.Minute),
			30*time.Second, 0, reasons.Delay))
		require.True(t, b.take(t, domain, "", "b", 0).Granted)
	})

	t.Run("FreesItselfAtTheEndOfALostHold", func(t *testing.T) {
		t.Parallel()
		const domain, hold = "lost.example", 300 * time.Millisecond
		const takenAt = "SELECT updated_at FROM politeness_slots WHERE key = 'domain:lost.example'"
		takeFor(t, b, domain, hold)
		first := one[time.Time](t, b, takenAt)
		eventually(t, "the hold ends", func() bool { return b.take(t, domain, "", "heir", 0).Granted })
		require.GreaterOrEqual(t, one[time.Time](t, b, takenAt).Sub(first), hold)
	})

	t.Run("IsKeptByWhoHasIt", func(t *testing.T) {
		t.Parallel()
		const domain, hold = "kept.example", 300 * time.Millisecond
		const left = "SELECT extract(epoch FROM free_at - clock_timestamp()) FROM politeness_slots WHERE key = 'domain:kept.example'"
		p := takeFor(t, b, domain, hold)
		require.NoError(t, b.ExtendLease(t.Context(), domain, p.AttemptID+1, longHold))
		require.LessOrEqual(t, one[float64](t, b, left), hold.Seconds(), "it is another's")
		require.NoError(t, b.ExtendLease(t.Context(), domain, p.AttemptID, longHold))
		require.Greater(t, one[float64](t, b, left), (longHold / 2).Seconds())
		require.NoError(t, b.ExtendLease(t.Context(), domain, p.AttemptID, hold))
		require.Greater(t, one[float64](t, b, left), (longHold / 2).Seconds(), "its delay is part of it")
		require.False(t, b.take(t, domain, "", "other", 0).Granted)
	})

	t.Run("IsNotGivenBackByWhoLostIt", func(t *testing.T) {
		t.Parallel()
		const domain = "zombie.example"
		require.True(t, b.take(t, domain, "", "zombie", 0).Granted)
		b.expire(t, "domain:"+domain)
		require.True(t, b.take(t, domain, "", "heir", 0).Granted)
		require.NoError(t, b.release(t.Context(), domain, "", "zombie", time.Now(), 0, 0, reasons.Delay))
		p := b.take(t, domain, "", "third", 0)
		require.False(t, p.Granted)
		require.Equal(t, reasons.InFlight, p.Reason)
		require.NoError(t, b.release(t.Context(), domain, "", "heir", time.Now(), 0, 0, reasons.Delay))
		require.True(t, b.take(t, domain, "", "third", 0).Granted)
	})

	t.Run("ClosesOneDomainOnly", func(t *testing.T) {
		t.Parallel()
		require.True(t, b.take(t, "one.example", "", "a", 0).Granted)
		require.True(t, b.take(t, "two.example", "", "a", 0).Granted)
		require.False(t, b.take(t, "one.example", "", "b", 0).Granted)
	})
}

// span is when a request was made, on this process's monotonic clock.
type span struct{ began, ended time.Time }

// TestSlotsKeepGaps has many workers make requests as fast as they may, and
// judges by its own clock.
func TestSlotsKeepGaps(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const workers, each, delay, ipDelay = 6, 3, 40 * time.Millisecond, 15 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	byDomain := make(map[string][]span)
	together(t, workers, func(i int) error {
		domain := []string{"a.example", "b.example"}[i%2]
		for n := range each {
			s, err := request(ctx, b, domain, strconv.Itoa(i)+"/"+strconv.Itoa(n), delay, ipDelay)
			if err != nil {
				return err
			}
			mu.Lock()
			byDomain[domain] = append(byDomain[domain], s)
			mu.Unlock()
		}
		return nil
	})
	requireGaps(t, byDomain["a.example"], workers/2*each, delay)
	requireGaps(t, byDomain["b.example"], workers/2*each, delay)
	requireGaps(t, append(byDomain["a.example"], byDomain["b.example"]...), workers*each, ipDelay)
}

// request asks for the slots impatiently, and holds them for a moment.
func request(
	ctx context.Context, b *bundle, domain, holder string, delay, ipDelay time.Duration,
) (span, error) {
	start := b.prerequisite(domain, address, ipDelay, 0)
	for {
		p, err := b.takeSlots(ctx, start, holder)
		if err != nil {
			return span{}, err
		}
		if p.Granted {
			began := time.Now()
			ended := time.Now()
			return span{began, ended},
				b.release(ctx, domain, address, holder, ended, delay, ipDelay, reasons.Delay)
		}
		start.Queued = p.Reason == reasons.IP
		<-time.After(min(p.Wait, 10*time.Millisecond))
	}
}

func requireGaps(t *testing.T, spans []span, n int, gap time.Duration) {
	t.Helper()
	require.Len(t, spans, n)
	slices.SortFunc(spans, func(x, y span) int { return cmp.Compare(x.began.Sub(y.began), 0) })
	for i := range spans[1:] {
		require.GreaterOrEqual(t, spans[i+1].began.Sub(spans[i].ended), gap)
	}
}

func TestAddressSlot(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})

	t.Run("IsSharedByDomains", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.10"
		require.True(t, b.take(t, "a.shared.example", address, "a", time.Minute).Granted)
		p := b.take(t, "b.shared.example", address, "b", time.Minute)
		require.False(t, p.Granted)
		require.Equal(t, reasons.IP, p.Reason)
		require.Equal(t, time.Minute, p.Wait, "a request in flight ends long before its hold")
		require.True(t, b.take(t, "c.shared.example", "192.0.2.8", "c", time.Minute).Granted, "another address")
		require.True(t, b.take(t, "b.shared.example", "", "b", time.Minute).Granted,
			"who does not get the address must not have taken the domain")
	})

	t.Run("StaysClosedFromTheEndOfTheRequest", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.11"
		require.True(t, b.take(t, "a.ended.example", address, "a", time.Minute).Granted)
		require.NoError(t, b.release(t.Context(), "a.ended.example", address, "a", time.Now().Add(-20*time.Second),
			10*time.Minute, time.Minute, reasons.Delay))
		p := b.take(t, "b.ended.example", address, "b", time.Minute)
		require.Equal(t, reasons.IP, p.Reason)
		require.LessOrEqual(t, p.Wait, 40*time.Second)
		require.Greater(t, p.Wait, 10*time.Second)
		p = b.take(t, "a.ended.example", address, "a", time.Minute)
		require.Equal(t, reasons.Delay, p.Reason, "the domain's own delay is longer")
		require.Greater(t, p.Wait, 5*time.Minute)
		b.expire(t, "ip:"+address)
		p = b.take(t, "c.ended.example", address, "c", time.Minute)
		require.Equal(t, reasons.IP, p.Reason, "who comes later must not overtake who waits")
		require.True(t, b.takeQueued(t, "b.ended.example", address, "b", time.Minute).Granted)
	})

	t.Run("RestsForItsOwnHoldWhenAWorkerDies", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.16"
		dead := b.prerequisite("slow.dead.example", address, time.Second, 0)
		dead.MaxDuration = crawl.Millis(time.Second)
		p, err := b.Begin(t.Context(), dead)
		require.NoError(t, err)
		require.True(t, p.Granted)
		eventually(t, "the address is free, whatever the domain's delay", func() bool {
			return b.takeQueued(t, "b.dead.example", address, "b", time.Second).Granted
		})
		require.False(t, b.take(t, "slow.dead.example", "", "c", 0).Granted)
	})

	t.Run("GivesWaitersPlacesADelayApart", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.12"
		const gap = 10 * time.Second
		free := closedAddress(t, b, "closed.places.example", address)
		for i := range 5 {
			before := b.clock(t)
			p := b.take(t, "places"+strconv.Itoa(i)+".example", address, "w", gap)
			requireUntil(t, b, p, before, free.Add(time.Duration(i)*apart(gap)))
		}
	})

	t.Run("GivesAWaiterOnePlaceOnly", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.13"
		const gap = 10 * time.Second
		free := closedAddress(t, b, "closed.place.example", address)
		before := b.clock(t)
		requireUntil(t, b, b.take(t, "a.place.example", address, "a", gap), before, free)
		for range 3 {
			before = b.clock(t)
			requireUntil(t, b, b.takeQueued(t, "a.place.example", address, "a", gap), before, free)
		}
		p := b.take(t, "closed.place.example", address, "x", gap)
		require.Equal(t, reasons.CrawlDelay, p.Reason, "its own domain is what it waits for")
		before = b.clock(t)
		requireUntil(t, b, b.take(t, "b.place.example", address, "b", gap), before, free.Add(apart(gap)))
	})

	t.Run("IsNotTakenWhenTheDomainIsClosed", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.14"
		require.True(t, b.take(t, "a.closed.example", "", "a", time.Minute).Granted)
		require.False(t, b.take(t, "a.closed.example", address, "b", time.Minute).Granted)
		require.True(t, b.take(t, "b.closed.example", address, "c", time.Minute).Granted)
	})

	t.Run("IsLockedAfterANewDomain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{}) // its own, to see who waits
		require.True(t, b.take(t, "a.example", address, "a", time.Second).Granted)
		b.expire(t, "ip:"+address)
		tx, err := b.Pool().Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context()) //nolint:errcheck // it was committed
		_, err = tx.Exec(t.Context(), "INSERT INTO politeness_slots (key) VALUES ('domain:new.example')")
		require.NoError(t, err)
		granted := make(chan bool, 1)
		go func() {
			p, err := b.Begin(t.Context(), b.prerequisite("new.example", address, time.Second, 0))
			granted <- err == nil && p.Granted
		}()
		eventually(t, "the other waits for the domain", func() bool { return b.blocked(t) })
		// and must not have the address by then, or this were a deadlock
		_, err = tx.Exec(t.Context(), "SELECT FROM politeness_slots WHERE key = $1 FOR UPDATE NOWAIT", "ip:"+address)
		require.NoError(t, err)
		require.NoError(t, tx.Commit(t.Context()))
		require.True(t, <-granted)
	})

	t.Run("IsNotThereWithoutADelayOrAnAddress", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.15"
		require.True(t, b.take(t, "a.none.example", address, "a", 0).Granted)
		require.True(t, b.take(t, "b.none.example", address, "b", 0).Granted)
		require.True(t, b.take(t, "c.none.example", "", "c", time.Minute).Granted)
		require.True(t, b.take(t, "d.none.example", "", "d", time.Minute).Granted)
		require.Empty(t, column[string](t, b, "SELECT key FROM politeness_slots WHERE key = $1", "ip:"+address))
	})
}

// closedAddress leaves an address closed, and a domain for longer, and returns
// until when the address is.
func closedAddress(t *testing.T, b *bundle, domain, address string) time.Time {
	t.Helper()
	require.True(t, b.take(t, domain, address, "first", time.Second).Granted)
	require.NoError(t, b.release(t.Context(), domain, address, "first", time.Now(),
		longHold, 10*time.Minute, reasons.CrawlDelay))
	b.exec(t, "UPDATE politeness_slots SET avg_hold_ms = 0 WHERE key = $1", "ip:"+address) // so that places are a delay apart
	return one[time.Time](t, b, "SELECT free_at FROM politeness_slots WHERE key = 'ip:"+address+"'")
}

// requireUntil wants a wait for the address that ends at an instant of the
// database's clock, asked for between before and now.
func requireUntil(t *testing.T, b *bundle, p crawl.Lease, before, until time.Time) {
	t.Helper()
	require.False(t, p.Granted)
	require.Equal(t, reasons.IP, p.Reason)
	require.GreaterOrEqual(t, p.Wait, until.Sub(b.clock(t)), "sent too early")
	require.LessOrEqual(t, p.Wait, until.Sub(before)+time.Millisecond, "sent too late")
}

func TestSubnetSlot(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	take := func(domain, ip string, subnetDelay time.Duration) crawl.Lease {
		p, err := b.takeSlots(t.Context(), b.prerequisite(domain, ip, time.Second, subnetDelay), domain)
		require.NoError(t, err)
		return p
	}
	require.True(t, take("a.example", "192.0.2.1", time.Minute).Granted)
	p := take("b.example", "192.0.2.2", time.Minute)
	require.False(t, p.Granted)
	require.Equal(t, reasons.Subnet, p.Reason)
	require.Equal(t, time.Minute, p.Wait)
	require.Greater(t, take("c.example", "192.0.2.3", time.Minute).Wait, 90*time.Second, "the next place")
	require.True(t, take("d.example", "192.0.3.1", time.Minute).Granted, "another subnet")
	require.True(t, take("e.example", "192.0.2.5", 0).Granted, "who does not pace subnets")

	b.finish(t, crawl.Attempt{
		ID: b.leased("a.example", "a.example"), Domain: "a.example", Requested: true, IP: "192.0.2.1",
		Outcome: crawl.OutcomeSuccess, StatusCode: 200,
		EndedAt: time.Now().Add(-time.Hour), IPDelay: crawl.Millis(time.Second), SubnetDelay: crawl.Millis(time.Minute),
	})
	waited := b.prerequisite("b.example", "192.0.2.2", time.Second, time.Minute)
	waited.Queued = true
	p, err := b.Begin(t.Context(), waited)
	require.NoError(t, err)
	require.True(t, p.Granted, "the subnet's delay is over: %+v", p)
	var subnet string
	var delay int64
	require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT subnet::text, subnet_delay_ms FROM audit_requests").Scan(&subnet, &delay))
	require.Equal(t, "192.0.2.0/24", subnet)
	require.EqualValues(t, 60_000, delay)
}

// takeFor takes the slot of a domain that shares nothing, for so long.
func takeFor(t *testing.T, b *bundle, domain string, hold time.Duration) crawl.Lease {
	t.Helper()
	s := b.prerequisite(domain, "", 0, 0)
	s.SlotHold, s.MaxDuration = crawl.Millis(hold), crawl.Millis(hold)
	p, err := b.Begin(t.Context(), s)
	require.NoError(t, err)
	require.True(t, p.Granted)
	return p
}

// apart returns the time between two places in the queue of a slot whose requests take no time.
func apart(delay time.Duration) time.Duration { return (delay * 33 / 32).Truncate(time.Millisecond) }
