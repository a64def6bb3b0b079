package wiring

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	ofrun "github.com/mosey-web/mosey/crawl/settings"
)

func TestCacheSize(t *testing.T) {
	t.Parallel()
	run := func(status crawl.RunStatus, domains int) crawl.Run {
		return crawl.Run{Status: status, Settings: ofrun.Settings{MaxDomains: new(domains)}}
	}
	runs := []crawl.Run{run(crawl.RunRunning, 10_000), run(crawl.RunRunning, 5_000), run(crawl.RunDone, 7_000)}
	require.Equal(t, 16_500, cacheSize(runs, 0))
	require.Equal(t, minCacheSize, cacheSize(nil, 0))
	require.Equal(t, maxCacheSize, cacheSize([]crawl.Run{run(crawl.RunRunning, 1_000_000)}, 0))
	require.Equal(t, 16_500, cacheSize(runs, 8<<30))
	require.Equal(t, 1000, cacheSize(runs, 1000*cacheMemoryDivisor*bytesPerCachedWorkflow), "a quarter of the memory")
	require.Equal(t, 1, cacheSize(runs, 1))
}

func TestUsableMemory(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 5, usableMemory(5, math.MaxInt64))
	require.EqualValues(t, 3, usableMemory(5, 3))
	require.EqualValues(t, 3, usableMemory(0, 3))
	require.EqualValues(t, 5, usableMemory(5, 7))
	require.Zero(t, usableMemory(0, math.MaxInt64))
}
