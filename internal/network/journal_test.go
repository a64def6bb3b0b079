package network_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/network"
)

// notes is a store of outages that may be away.
type notes struct {
	mu    sync.Mutex
	away  bool
	saved []crawl.Outage
}

func (n *notes) SaveOutage(_ context.Context, o crawl.Outage) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return errors.New("the database is away")
	}
	n.saved = append(n.saved, o)
	return nil
}

func (n *notes) take(away bool) []crawl.Outage {
	n.mu.Lock()
	defer n.mu.Unlock()
	saved := n.saved
	n.saved, n.away = nil, away
	return saved
}

func TestJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &notes{}
		j := network.NewJournal(store, "a worker", slog.New(slog.NewTextHandler(&log, nil)))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { j.Run(ctx) })
		settle := func() { time.Sleep(time.Millisecond); synctest.Wait() }

		began := time.Now()
		j.Notify(crawl.Outage{Since: began, Reason: "nothing answers"})
		settle()
		require.Equal(t, []crawl.Outage{{Worker: "a worker", Since: began, Reason: "nothing answers"}}, store.take(false))
		require.Contains(t, log.String(), "seems to be down")
		time.Sleep(time.Minute)
		require.Len(t, store.take(true), 3, "it is still seen")

		j.Notify(crawl.Outage{})
		settle()
		require.Contains(t, log.String(), `the network is back" away=1m0s`)
		require.Empty(t, store.take(false))
		time.Sleep(time.Minute)
		saved := store.take(false)
		require.Len(t, saved, 1, "once the database is back")
		require.WithinDuration(t, began.Add(time.Minute), saved[0].Ended, time.Second)

		j.Notify(crawl.Outage{Since: time.Now(), Reason: "again"})
		settle()
		j.Notify(crawl.Outage{Reason: "only a.example cannot be reached"})
		settle()
		require.Contains(t, log.String(), `the network seems to be up" seen="only a.example cannot be reached"`)
		require.Len(t, store.take(false), 2)

		j.Notify(crawl.Outage{Since: time.Now(), Reason: "at the end"})
		settle()
		stop()
		running.Wait()
		saved = store.take(false)
		require.Len(t, saved, 2)
		require.False(t, saved[1].Ended.IsZero(), "a worker that stops knows of no outage any more")
	})
}
