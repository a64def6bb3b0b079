package db_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

var workersSeed = flag.Uint64("workers.seed", 0, "seed of TestWorkerShares; 0 is a new one")

const (
	workerSpan = 35 * time.Second
	workerMost = 16
)

// fleetModel models the state and the behaviour of workers, apart from their rows.
type fleetModel struct {
	*db.Store

	random  *rand.Rand
	now     time.Duration // passes for the rows by moving what they have back
	limit   int           // 0 is none
	workers []*workerModel
	told    []string
}

// workerModel models a worker. share is its limit of concurrent requests, which expires at
// until. flight has the latest end of each request in flight.
type workerModel struct {
	id     int32
	asked  int64
	share  int
	until  time.Duration
	flight []time.Duration
	wanted int
	dead   bool
}

func (w *workerModel) held(now time.Duration) int {
	if now < w.until {
		return max(w.share, len(w.flight))
	}
	return len(w.flight)
}

func newFleetModel(t *testing.T, seed uint64) *fleetModel {
	t.Helper()
	return &fleetModel{Store: dbtest.New(t), random: rand.New(rand.NewPCG(seed, 0))}
}

func (m *fleetModel) enter(t *testing.T, most int) *workerModel {
	t.Helper()
	id, err := m.StartWorker(t.Context(), crawl.Worker{
		Identity: "mosey/1 1@test", Host: "test", Version: "1", Role: "all", MaxFetches: most, MaxRequestDuration: workerSpan,
	})
	require.NoError(t, err)
	w := &workerModel{id: id, wanted: most}
	m.workers = append(m.workers, w)
	return w
}

// use returns the worker's next report.
func (m *fleetModel) use(w *workerModel) crawl.WorkerUse {
	w.asked++
	return crawl.WorkerUse{CallCount: w.asked, InFlight: len(w.flight), MaxInFlight: w.held(m.now), Demand: max(w.wanted, len(w.flight))}
}

// renew renews a worker's share. lost means that the worker does not receive the response.
func (m *fleetModel) renew(t *testing.T, w *workerModel, lost bool) {
	t.Helper()
	s, err := m.RenewShare(t.Context(), w.id, m.use(w))
	require.NoError(t, err)
	if !lost {
		w.share, w.until = s.Share, m.now+s.Lease
		require.Equal(t, m.limit, s.MaxFetches)
	}
}

// jump puts the database's clock forward, or back.
func (m *fleetModel) jump(t *testing.T, d time.Duration) {
	t.Helper()
	_, err := m.Pool().Exec(t.Context(), `UPDATE workers SET seen_at = seen_at - $1::interval,
		share_until = share_until - $1::interval, permits_held_until = permits_held_until - $1::interval`, d)
	require.NoError(t, err)
}

// pass has time pass: for the rows, and for requests, which end in time.
func (m *fleetModel) pass(t *testing.T, d time.Duration) {
	t.Helper()
	m.jump(t, d)
	m.now += d
	for _, w := range m.workers {
		var on []time.Duration
		for _, end := range w.flight {
			if end > m.now {
				on = append(on, end)
			}
		}
		w.flight = on
	}
}

func (m *fleetModel) setLimit(t *testing.T, n int) {
	t.Helper()
	require.NoError(t, m.SetFleetLimit(t.Context(), crawl.FleetLimit{MaxFetches: n, SetBy: "test"}))
	m.limit = n
}

// holding is how many requests workers hold by the rows, and how many are in flight.
func (m *fleetModel) holding(t *testing.T) (held, flight int) {
	t.Helper()
	require.NoError(t, m.Pool().QueryRow(t.Context(),
		"SELECT coalesce(sum(permits_held), 0) FROM workers WHERE stopped_at IS NULL AND permits_held_until > clock_timestamp()").Scan(&held))
	for _, w := range m.workers {
		flight += len(w.flight)
	}
	return held, flight
}

// step does something at random.
func (m *fleetModel) step(t *testing.T) {
	t.Helper()
	did := func(format string, args ...any) { m.told = append(m.told, fmt.Sprintf(format, args...)) }
	var alive []*workerModel
	for _, w := range m.workers {
		if !w.dead {
			alive = append(alive, w)
		}
	}
	dice := m.random.IntN(100)
	if len(alive) == 0 || dice < 4 && len(alive) < 6 {
		did("%d begins", m.enter(t, 1+m.random.IntN(workerMost)).id)
		return
	}
	w := alive[m.random.IntN(len(alive))]
	switch {
	case dice < 30:
		lost := m.random.IntN(5) == 0
		did("%d renews, lost %t", w.id, lost)
		m.renew(t, w, lost)
	case dice < 34:
		late := m.use(w)
		m.renew(t, w, false)
		_, err := m.RenewShare(t.Context(), w.id, late)
		require.ErrorIs(t, err, crawl.ErrNotFound)
		did("%d renews, and once more what came late", w.id)
	case dice < 65:
		if m.now < w.until && len(w.flight) < w.share {
			w.flight = append(w.flight, m.now+workerSpan)
			did("%d asks a site", w.id)
		}
	case dice < 80:
		if len(w.flight) > 0 {
			w.flight = w.flight[1:]
			did("%d has an answer", w.id)
		}
	case dice < 84:
		w.wanted = m.random.IntN(workerMost)
	case dice < 94:
		d := time.Duration(m.random.IntN(20)) * time.Second
		did("%s pass", d)
		m.pass(t, d)
	case dice < 96:
		did("%d dies", w.id)
		w.dead, w.flight = true, nil
	case dice < 97:
		did("%d ends", w.id)
		w.dead, w.flight = true, nil
		require.NoError(t, m.StopWorker(t.Context(), w.id))
	default:
		n := m.random.IntN(12)
		did("the limit is %d", n)
		m.setLimit(t, n)
	}
}

// TestWorkerShares runs random steps: workers start, renew, die or lose responses, and the limit
// changes. The shares in the rows never exceed the limit, except for shares granted before it was
// lowered. Workers never have more requests in flight than their shares allow.
func TestWorkerShares(t *testing.T) {
	t.Parallel()
	seed := *workersSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	m := newFleetModel(t, seed)
	before := 0
	for range 1500 {
		m.step(t)
		held, flight := m.holding(t)
		tail := m.told[max(0, len(m.told)-40):]
		require.LessOrEqual(t, flight, held, "-workers.seed %d\n%v", seed, tail)
		if m.limit > 0 && held > m.limit {
			require.LessOrEqual(t, held, before, "-workers.seed %d: limit %d\n%v", seed, m.limit, tail)
		}
		before = held
	}
	// in calm all of the limit is used
	m.setLimit(t, 10)
	m.pass(t, 10*time.Minute)
	for _, w := range m.workers {
		w.dead = true
	}
	var all []*workerModel
	for range 3 {
		all = append(all, m.enter(t, workerMost))
	}
	m.settle(t, all)
	require.Equal(t, 10, all[0].share+all[1].share+all[2].share)
	for _, w := range all {
		require.GreaterOrEqual(t, w.share, 3)
	}
}

// settle has workers renew until they have what they are to have.
func (m *fleetModel) settle(t *testing.T, workers []*workerModel) {
	t.Helper()
	for range 4 {
		for _, w := range workers {
			m.renew(t, w, false)
		}
	}
}

func TestWorkerShare(t *testing.T) {
	t.Parallel()

	t.Run("WithoutALimitIsItsOwn", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		a, b := m.enter(t, 256), m.enter(t, 7)
		m.settle(t, []*workerModel{a, b})
		require.Equal(t, []int{256, 7}, []int{a.share, b.share})
	})

	t.Run("IsLittleForWhoWantsLittle", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		m.setLimit(t, 20)
		all := []*workerModel{m.enter(t, 256), m.enter(t, 256), m.enter(t, 256)}
		all[0].wanted, all[1].wanted, all[2].wanted = 2, 200, 200
		m.settle(t, all)
		require.Equal(t, []int{2, 9, 9}, []int{all[0].share, all[1].share, all[2].share})
		all[1].wanted = 3
		m.settle(t, all)
		require.Equal(t, []int{2, 3, 15}, []int{all[0].share, all[1].share, all[2].share})
	})

	t.Run("OfOneThatDiedIsFreeOnceItsRequestsMustHaveEnded", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		m.setLimit(t, 6)
		dead, other := m.enter(t, 256), m.enter(t, 256)
		m.renew(t, dead, false)
		require.Equal(t, 6, dead.share, "it is alone")
		m.renew(t, other, false)
		require.Zero(t, other.share, "nothing was handed back")
		m.renew(t, dead, false)
		require.Equal(t, 3, dead.share)
		m.renew(t, dead, false) // hands it back
		m.pass(t, 14*time.Second)
		m.renew(t, other, false)
		require.Equal(t, 3, other.share)
		m.pass(t, 2*time.Second) // its share ends, its requests may go on
		m.renew(t, other, false)
		require.Equal(t, 3, other.share)
		m.pass(t, workerSpan)
		m.renew(t, other, false)
		require.Equal(t, 6, other.share)
	})

	t.Run("OfOneThatDidNotHearOfTheFirstLimitCountsAsLongAsItsOldOne", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		deaf, other := m.enter(t, workerMost), m.enter(t, workerMost)
		m.renew(t, deaf, false) // for 30 seconds
		m.pass(t, 10*time.Second)
		m.setLimit(t, 6)
		m.renew(t, deaf, true) // for 15 seconds, but it does not hear that
		m.pass(t, 18*time.Second)
		require.Less(t, m.now, deaf.until)
		deaf.flight = append(deaf.flight, m.now+workerSpan)
		m.pass(t, 34*time.Second)
		m.renew(t, other, false)
		require.Len(t, deaf.flight, 1)
		require.Zero(t, other.share)
		m.pass(t, 4*time.Second)
		m.renew(t, other, false)
		require.Empty(t, deaf.flight)
		require.Equal(t, 6, other.share)
	})

	t.Run("StaysWithinTheLimitWhenTheClockIsPutForward", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		m.setLimit(t, 6)
		all := []*workerModel{m.enter(t, workerMost), m.enter(t, workerMost), m.enter(t, workerMost)}
		m.settle(t, all)
		for _, w := range all {
			w.flight = []time.Duration{m.now + workerSpan, m.now + workerSpan}
		}
		m.jump(t, time.Hour)
		for range 3 {
			for _, w := range all {
				m.renew(t, w, false)
				require.Equal(t, 2, w.share)
			}
			held, flight := m.holding(t)
			require.Equal(t, []int{6, 6}, []int{held, flight})
		}
		// one that died before counts once more, and no longer than its requests may take
		all[0].dead = true
		m.pass(t, 2*time.Minute)
		m.renew(t, all[1], false)
		m.renew(t, all[2], false)
		m.renew(t, all[1], false)
		require.Equal(t, 3, all[1].share)
	})

	t.Run("OfOneThatIsHeardOfCountsNoLongerForAClockThatWasPutBack", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		m.setLimit(t, 6)
		heard, other := m.enter(t, workerMost), m.enter(t, workerMost)
		m.renew(t, heard, false)
		m.jump(t, -time.Hour)
		m.renew(t, heard, false)
		m.pass(t, 70*time.Second)
		m.renew(t, other, false)
		require.Equal(t, 6, other.share)
	})

	t.Run("OfOneThatStoppedIsFreeAtOnce", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		m.setLimit(t, 6)
		all := []*workerModel{m.enter(t, 256), m.enter(t, 256)}
		m.settle(t, all)
		require.NoError(t, m.StopWorker(t.Context(), all[0].id))
		m.renew(t, all[1], false)
		require.Equal(t, 6, all[1].share)
	})

	t.Run("ChangesTurnsWhereThereAreMoreWorkersThanPlaces", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		m.setLimit(t, 2)
		for range 5 {
			m.renew(t, m.enter(t, 256), false)
		}
		_, err := m.Pool().Exec(t.Context(), "UPDATE workers SET share_until = now() + interval '1 hour'")
		require.NoError(t, err)
		had := map[int32]int{}
		for turn := range 5 {
			total := 0
			for _, w := range m.workers {
				var part int
				require.NoError(t, m.Pool().QueryRow(t.Context(), "SELECT worker_fair_share($1, 2, now() + $2::interval)",
					w.id, time.Duration(turn)*30*time.Second).Scan(&part))
				had[w.id] += part
				total += part
			}
			require.Equal(t, 2, total)
		}
		for _, w := range m.workers {
			require.Equal(t, 2, had[w.id])
		}
	})

	t.Run("IsUnknownForAWorkerThatHasNoRow", func(t *testing.T) {
		t.Parallel()
		m := newFleetModel(t, 1)
		_, err := m.RenewShare(t.Context(), 7, crawl.WorkerUse{CallCount: 1})
		require.ErrorIs(t, err, crawl.ErrNotFound)
	})
}

func TestFleet(t *testing.T) {
	t.Parallel()
	m := newFleetModel(t, 1)
	m.setLimit(t, 6)
	stopped, died, works := m.enter(t, 4), m.enter(t, 4), m.enter(t, 4)
	for _, w := range []*workerModel{stopped, died, works} {
		m.renew(t, w, false)
	}
	require.NoError(t, m.StopWorker(t.Context(), stopped.id))
	m.pass(t, 2*time.Hour)
	m.renew(t, works, false)
	f, err := m.Fleet(t.Context(), false, 10)
	require.NoError(t, err)
	require.Equal(t, crawl.FleetLimit{MaxFetches: 6, SetBy: "test", SetAt: f.Limit.SetAt}, f.Limit)
	require.Len(t, f.Workers, 2, "who has died is not known to have")
	require.True(t, f.Workers[0].HasLease)
	require.False(t, f.Workers[1].CountsAgainstLimit)
	m.enter(t, 4) // notices it
	f, err = m.Fleet(t.Context(), true, 10)
	require.NoError(t, err)
	require.Len(t, f.Workers, 4)
	require.Equal(t, died.id, f.Workers[2].ID)
	require.True(t, f.Workers[2].Lost)
	require.False(t, f.Workers[3].Lost)
	require.False(t, f.Workers[3].StoppedAt.IsZero())
	_, err = m.Pool().Exec(context.Background(), "DELETE FROM workers")
	require.Error(t, err, "attempts name them")
}
