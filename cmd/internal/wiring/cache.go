package wiring

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// cacheLeast and cacheMost bound the cache of workflows. One that falls out is replayed at its
	// next step.
	cacheLeast = 1_000
	cacheMost  = 50_000
	// cachedBytes is what a workflow takes that is kept in memory: 26 KB of heap and 20 KB of stacks, of
	// 999 that slept.
	cachedBytes = 48 << 10
	// cacheShare is which part of the memory that the process may use is for them, one in so many.
	cacheShare = 4
)

// cacheOf is how many workflows are kept in memory. It holds for the life of the process: a run
// that begins later, with more domains, has workflows replayed that have fallen out.
func cacheOf(ctx context.Context, runs []crawl.Run, logger *slog.Logger) int {
	limit := int64(math.MaxInt64)
	if os.Getenv("GOMEMLIMIT") != "" { // which the runtime has read; else the limit is LimitMemory's, and follows what is in use
		limit = debug.SetMemoryLimit(-1)
	}
	memory := usableMemory(MachineMemory("/"), limit)
	size, wanted := cacheSize(runs, memory), cacheSize(runs, 0)
	if size < wanted {
		logger.WarnContext(ctx, "the memory is not enough to keep the workflows of all active domains: some are replayed at each step, "+
			"which costs Temporal and the processor. More memory, more workers or a smaller max_active_domains helps",
			"kept", size, "wanted", wanted, "memory_mb", memory>>20)
	}
	return size
}

// usableMemory is what this process may use: the machine's or its control group's, or less if
// GOMEMLIMIT says so. 0 is unknown.
func usableMemory(machine, limit int64) int64 {
	if limit == math.MaxInt64 || machine > 0 && machine < limit {
		return machine
	}
	return limit
}

// cacheSize is that number. It is the domains that the runs may have active at the same time, and a
// few more for those that come and go. No more are kept than fit into their share of the memory; a
// memory of 0 is unknown.
func cacheSize(runs []crawl.Run, memory int64) int {
	domains := 0
	for _, r := range runs {
		if r.Status == crawl.RunRunning {
			domains += *r.Settings.MaxDomains
		}
	}
	size := min(max(domains+domains/10, cacheLeast), cacheMost)
	if memory > 0 {
		size = min(size, max(int(memory/cacheShare/cachedBytes), 1))
	}
	return size
}
