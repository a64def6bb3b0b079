package db

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// write writes the document of these tests.
func write(w *bytes.Buffer) { w.WriteByte('1') }

// placed gives each of such documents a value.
func placed(docs []byte) map[int]int {
	values := map[int]int{}
	for n := range bytes.Count(docs, []byte(",")) + 1 {
		values[n+1] = n
	}
	return values
}

// While many documents wait, those who would bring more are kept back, and let in as
// the groups are taken: nobody is forgotten.
func TestRoomInGroups(t *testing.T) {
	t.Parallel()
	begun, going := make(chan struct{}, 1000), make(chan struct{})
	var taken atomic.Int64
	g := newGroups(func(_ context.Context, docs []byte, _ bool) (map[int]int, error) {
		begun <- struct{}{}
		<-going
		values := placed(docs)
		taken.Add(int64(len(values)))
		return values, nil
	})
	var all sync.WaitGroup
	bring := func(domain string) {
		_, err := g.do(context.WithoutCancel(t.Context()), domain, 0, 1, write)
		require.NoError(t, err)
	}
	count := func(of func() int) int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return of()
	}
	for i := range groupLanes {
		require.NoError(t, g.awaitCapacity(t.Context()))
		all.Go(func() { bring("first " + strconv.Itoa(i)) })
		<-begun
	}
	for i := range maxWaitingDocuments {
		require.NoError(t, g.awaitCapacity(t.Context()))
		all.Go(func() { bring(strconv.Itoa(i)) })
		wait.Until(t, func() bool { return count(func() int { return len(g.waiting) }) == i+1 }, time.Minute, time.Microsecond)
	}

	const more = 5 * maxWaitingDocuments
	for i := range more {
		all.Go(func() {
			if g.awaitCapacity(t.Context()) == nil && i%2 == 0 { // some find nothing to do
				bring("more " + strconv.Itoa(i))
			}
		})
	}
	gaveUp, giveUp := context.WithCancel(t.Context())
	all.Go(func() { require.ErrorIs(t, g.awaitCapacity(gaveUp), context.Canceled) })
	wait.Until(t, func() bool { return count(func() int { return len(g.blocked) }) == more+1 }, time.Minute, time.Millisecond)
	require.Zero(t, taken.Load())
	giveUp()
	close(going)
	all.Wait()
	require.EqualValues(t, groupLanes+maxWaitingDocuments+more/2, taken.Load())
	wait.Until(t, func() bool { return count(func() int { return g.laneCount }) == 0 }, time.Minute, time.Millisecond)

	require.NoError(t, g.awaitCapacity(t.Context()), "there is room where nothing waits")
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, g.awaitCapacity(ended), context.Canceled)
}

// A document that has time waits for others, until one comes that has none.
func TestGroupsLinger(t *testing.T) {
	t.Parallel()
	sizes := make(chan int, 10)
	g := newGroups(func(_ context.Context, docs []byte, _ bool) (map[int]int, error) {
		values := placed(docs)
		sizes <- len(values)
		return values, nil
	})
	patient := func(i int) {
		g.add(&entry[int]{
			domain: strconv.Itoa(i), deadline: time.Now().Add(time.Hour), write: write, ctx: t.Context(), done: make(chan result[int], 1),
		})
	}
	for i := range 10 {
		patient(i)
	}
	_, err := g.do(t.Context(), "urgent", 0, 1, write)
	require.NoError(t, err)
	require.Equal(t, 11, <-sizes)

	_, err = g.do(t.Context(), "patient", 24*time.Hour, 1, write)
	require.NoError(t, err, "nobody waits for long")
	require.Equal(t, 1, <-sizes)

	for i := range maxGroupSize {
		patient(i)
	}
	require.Equal(t, maxGroupSize, <-sizes, "nobody waits once the group is full")
}
