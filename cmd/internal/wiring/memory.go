package wiring

import (
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// The size of Go's memory in bytes, at most a quarter of the machine's. Below it, collections are
// rarer than by Go's default.
const (
	// MemoryWithTemporal is for a process with the embedded Temporal.
	MemoryWithTemporal = 448 << 20
	// MemoryWithoutTemporal is for a worker alone.
	MemoryWithoutTemporal = 256 << 20
)

const (
	// gcPercent is GOGC below the limit. A process allocates a lot and keeps little.
	gcPercent           = 400
	memoryCheckInterval = 5 * time.Second
	// relaxedMemoryMax is the total memory in bytes above which collections become more frequent.
	relaxedMemoryMax = 1000 << 20
)

// LimitMemory limits this process to bytes, or to 2.25 times its live heap if that is more. Above
// relaxedMemoryMax the factor is 1.75; at 10,000 domains collections take 28 % of the processor
// then. The limit never exceeds three quarters of the machine or control group. Below it Go rarely
// collects. It follows the memory in use, because a process at its limit would only collect.
// GOMEMLIMIT ("off" for no limit) and GOGC in the environment win. Call stop in the end.
func LimitMemory(env Env, bytes int64) (stop func()) {
	limit := env.Get("GOMEMLIMIT")
	if env.Get("GOGC") == "" && limit != "off" {
		debug.SetGCPercent(gcPercent)
	}
	if limit != "" {
		return func() {}
	}
	machine := MachineMemory("/")
	return background(func(ctx context.Context) {
		tick := time.NewTicker(memoryCheckInterval)
		defer tick.Stop()
		for {
			liveHeap, otherMemory := memoryInUse()
			debug.SetMemoryLimit(memoryLimit(bytes, liveHeap, otherMemory, machine))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// memoryLimit computes the limit from the live heap, the other memory and the machine's memory (0
// if unknown). It is at least the floor if the machine has four times as much.
func memoryLimit(floor, liveHeap, otherMemory, machine int64) int64 {
	maximum := int64(1) << 62
	if machine > 0 {
		floor, maximum = min(floor, machine/4), machine/4*3
	}
	relaxed := min(liveHeap*9/4+otherMemory, relaxedMemoryMax)
	return min(max(floor, relaxed, liveHeap*7/4+otherMemory), maximum)
}

// memoryInUse returns the bytes of the live heap after the last collection, and of other memory.
func memoryInUse() (liveHeap, otherMemory int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	bytes := make([]int64, len(samples))
	for i, s := range samples {
		bytes[i] = int64(s.Value.Uint64()) //nolint:gosec // bytes of memory
	}
	return bytes[0], bytes[1] - bytes[2] - bytes[3] - bytes[4] - bytes[5]
}

// MachineMemory returns the least of the machine's memory and the limits of this process's control
// groups (version 2); 0 if unknown.
func MachineMemory(root string) int64 {
	minimum := int64(0)
	consider := func(bytes int64) {
		if bytes > 0 && (minimum == 0 || bytes < minimum) {
			minimum = bytes
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "proc/meminfo")); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 && fields[0] == "MemTotal:" {
			kB, _ := strconv.ParseInt(fields[1], 10, 64) // 0 if not a number
			consider(kB * 1024)
		}
	}
	group := ""
	if text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup")); err == nil {
		_, rest, _ := strings.Cut("\n"+string(text), "\n0::")
		group, _, _ = strings.Cut(rest, "\n")
	}
	for dir := filepath.Join("/", group); ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", dir, "memory.max")) //nolint:gosec // Linux names the group
		if err == nil {
			bytes, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // 0 for "max"
			consider(bytes)
		}
		if dir == "/" {
			return minimum
		}
	}
}

const (
	// minCacheSize and maxCacheSize bound the workflow cache. Evicted workflows are replayed.
	minCacheSize = 1_000
	maxCacheSize = 50_000
	// bytesPerCachedWorkflow is the memory of a cached workflow, measured over 999: 26 KB heap, 20 KB
	// stacks.
	bytesPerCachedWorkflow = 48 << 10
	// cacheMemoryDivisor divides the usable memory: the cache gets one part of so many.
	cacheMemoryDivisor = 4
)

// workflowCacheSize returns the size of the workflow cache for the life of the process. Later runs
// may exceed it, so that evicted workflows are replayed.
func workflowCacheSize(ctx context.Context, runs []crawl.Run, logger *slog.Logger) int {
	limit := int64(math.MaxInt64)
	if os.Getenv("GOMEMLIMIT") != "" { // read by the runtime; else the limit is LimitMemory's, and varies
		limit = debug.SetMemoryLimit(-1)
	}
	memory := usableMemory(MachineMemory("/"), limit)
	size, sizeWithoutLimit := cacheSize(runs, memory), cacheSize(runs, 0)
	if size < sizeWithoutLimit {
		logger.WarnContext(ctx, "the memory is too small to cache the workflows of all active domains: some are replayed at each step, "+
			"which loads Temporal and the CPU. Add memory or workers, or lower max_active_domains",
			"kept", size, "wanted", sizeWithoutLimit, "memory_mb", memory>>20)
	}
	return size
}

// usableMemory returns the memory of the machine or group, or GOMEMLIMIT if less; 0 if unknown.
func usableMemory(machine, limit int64) int64 {
	if limit == math.MaxInt64 || machine > 0 && machine < limit {
		return machine
	}
	return limit
}

// cacheSize returns the number of domains that the runs may have active, with a margin for changes,
// bounded by their share of the memory; a memory of 0 is unknown.
func cacheSize(runs []crawl.Run, memory int64) int {
	domains := 0
	for _, r := range runs {
		if r.Status == crawl.RunRunning {
			domains += *r.Settings.MaxDomains
		}
	}
	size := min(max(domains+domains/10, minCacheSize), maxCacheSize)
	if memory > 0 {
		size = min(size, max(int(memory/cacheMemoryDivisor/bytesPerCachedWorkflow), 1))
	}
	return size
}
