package wiring

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// What Go's memory may grow to before collections become as frequent as Go's default
// has them, in bytes; less on a machine of less than four times as much.
const (
	// MemoryOfAll is for a process with the embedded Temporal.
	MemoryOfAll = 448 << 20
	// MemoryOfWorker is for a worker alone.
	MemoryOfWorker = 256 << 20
)

const (
	// gcPercent is how much a process may allocate between two collections, in percent
	// of what is alive, as long as it stays below the limit: it allocates a lot and
	// keeps little.
	gcPercent = 400
	// memoryEvery is how often the limit follows what is in use.
	memoryEvery = 5 * time.Second
)

// LimitMemory holds this process's memory to a number of bytes, or one and three quarters
// of what is in use where that is more, and to three quarters of what the machine or its
// control group has. Up to there it collects seldom. The limit follows what is in use, since
// one that is too low would have the process do nothing but collect. What the
// environment says wins: GOMEMLIMIT is the limit then, none if it is "off", and GOGC how
// often is collected. Call stop in the end.
func LimitMemory(env Env, bytes int64) (stop func()) {
	limit := env.Get("GOMEMLIMIT")
	if env.Get("GOGC") == "" && limit != "off" {
		debug.SetGCPercent(gcPercent)
	}
	if limit != "" {
		return func() {}
	}
	machine := machineMemory("/")
	return background(func(ctx context.Context) {
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for {
			live, beside := memoryInUse()
			debug.SetMemoryLimit(memoryLimit(bytes, live, beside, machine))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// memoryLimit is the limit for so many bytes that are alive in the heap and so many
// beside it, on a machine of so many; 0 means unknown. It is at least the floor, where
// the machine has four times as much.
func memoryLimit(floor, live, beside, machine int64) int64 {
	most := int64(1) << 62
	if machine > 0 {
		floor, most = min(floor, machine/4), machine/4*3
	}
	return min(max(floor, live+live*3/4+beside), most)
}

// memoryInUse is what the last collection has found alive, and what Go needs beside
// its heap.
func memoryInUse() (live, beside int64) {
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

// machineMemory is the least of the machine's memory and the limits of the control
// groups (version 2) that this process is in; 0 where Linux does not say.
func machineMemory(root string) int64 {
	least := int64(0)
	consider := func(bytes int64) {
		if bytes > 0 && (least == 0 || bytes < least) {
			least = bytes
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "proc/meminfo")); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 && fields[0] == "MemTotal:" {
			kB, _ := strconv.ParseInt(fields[1], 10, 64) // 0 if it is not a number
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
			return least
		}
	}
}
