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
)

// While many documents wait, those who would bring more are kept back, and let in as
// the groups are taken: nobody is forgotten.
func TestRoomInGroups(t *testing.T) {
	t.Parallel()
	begun, going := make(chan struct{}, 1000), make(chan struct{})
	var taken atomic.Int64
	g := groups[int]{wake: make(chan struct{}, 1), together: func(_ context.Context, docs []byte) (map[int]int, error) {
		begun <- struct{}{}
		<-going
		values := map[int]int{}
		for n := range bytes.Count(docs, []byte(",")) + 1 {
			values[n+1] = n
			taken.Add(1)
		}
		return values, nil
	}}
	var all sync.WaitGroup
	bring := func(domain string) {
		_, err := g.do(context.WithoutCancel(t.Context()), domain, 0, 1, func(w *bytes.Buffer) { w.WriteByte('1') })
		require.NoError(t, err)
	}
	count := func(of func() int) int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return of()
	}
	for i := range groupLanes {
		require.NoError(t, g.room(t.Context()))
		all.Go(func() { bring("first " + strconv.Itoa(i)) })
		<-begun
	}
	for i := range groupsAhead {
		require.NoError(t, g.room(t.Context()))
		all.Go(func() { bring(strconv.Itoa(i)) })
		require.Eventually(t, func() bool { return count(func() int { return len(g.waiting) }) == i+1 }, time.Minute, time.Microsecond)
	}

	const more = 5 * groupsAhead
	for i := range more {
		all.Go(func() {
			if g.room(t.Context()) == nil && i%2 == 0 { // some find nothing to do
				bring("more " + strconv.Itoa(i))
			}
		})
	}
	gaveUp, giveUp := context.WithCancel(t.Context())
	all.Go(func() { require.ErrorIs(t, g.room(gaveUp), context.Canceled) })
	require.Eventually(t, func() bool { return count(func() int { return len(g.kept) }) == more+1 }, time.Minute, time.Millisecond)
	require.Zero(t, taken.Load())
	giveUp()
	close(going)
	all.Wait()
	require.EqualValues(t, groupLanes+groupsAhead+more/2, taken.Load())
	require.Eventually(t, func() bool { return count(func() int { return g.lanes }) == 0 }, time.Minute, time.Millisecond)

	require.NoError(t, g.room(t.Context()), "there is room where nothing waits")
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, g.room(ended), context.Canceled)
}

// A document that has time waits for others, until one comes that has none.
func TestGroupsLinger(t *testing.T) {
	t.Parallel()
	sizes := make(chan int, 10)
	g := groups[int]{wake: make(chan struct{}, 1), together: func(_ context.Context, docs []byte) (map[int]int, error) {
		values := map[int]int{}
		for n := range bytes.Count(docs, []byte(",")) + 1 {
			values[n+1] = n
		}
		sizes <- len(values)
		return values, nil
	}}
	write := func(w *bytes.Buffer) { w.WriteByte('1') }
	for i := range 10 {
		g.add(&entry[int]{
			domain: strconv.Itoa(i), by: time.Now().Add(time.Hour), write: write, ctx: t.Context(), done: make(chan result[int], 1),
		})
	}
	_, err := g.do(t.Context(), "urgent", 0, 1, write)
	require.NoError(t, err)
	require.Equal(t, 11, <-sizes)

	_, err = g.do(t.Context(), "patient", 24*time.Hour, 1, write)
	require.NoError(t, err, "nobody waits for long")
	require.Equal(t, 1, <-sizes)

	for i := range groupMax {
		g.add(&entry[int]{
			domain: strconv.Itoa(i), by: time.Now().Add(time.Hour), write: write, ctx: t.Context(), done: make(chan result[int], 1),
		})
	}
	require.Equal(t, groupMax, <-sizes, "nobody waits once the group is full")
}
