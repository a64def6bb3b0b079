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
	g := groups[int]{together: func(_ context.Context, docs []byte) (map[int]int, error) {
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
		_, err := g.do(context.WithoutCancel(t.Context()), domain, 1, func(w *bytes.Buffer) { w.WriteByte('1') })
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
