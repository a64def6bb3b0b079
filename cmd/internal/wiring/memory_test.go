package wiring

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

const mb = 1 << 20

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ floor, live, beside, machine, want int64 }{
		"IsTheFloorWhereLittleIsInUse":       {MemoryWithTemporal, 150 * mb, 80 * mb, 24_000 * mb, 448 * mb},
		"FollowsWhatIsInUse":                 {MemoryWithTemporal, 400 * mb, 100 * mb, 24_000 * mb, 1000 * mb},
		"HasLessRoomAboveAGigabyte":          {MemoryWithTemporal, 600 * mb, 100 * mb, 24_000 * mb, 1150 * mb},
		"IsRoomyUpToThere":                   {MemoryWithTemporal, 450 * mb, 100 * mb, 24_000 * mb, 1000 * mb},
		"IsLowerOnASmallMachine":             {MemoryWithTemporal, 50 * mb, 50 * mb, 1000 * mb, 250 * mb},
		"LeavesAQuarterOfTheMachineToOthers": {MemoryWithTemporal, 600 * mb, 100 * mb, 1000 * mb, 750 * mb},
		"DoesNotNeedToKnowTheMachine":        {MemoryWithTemporal, 600 * mb, 100 * mb, 0, 1150 * mb},
	} {
		require.Equal(t, c.want, memoryLimit(c.floor, c.live, c.beside, c.machine), name)
	}
}

func TestMachineMemory(t *testing.T) {
	t.Parallel()
	machine := func(files map[string]string) int64 {
		root := t.TempDir()
		for name, text := range files {
			path := filepath.Join(root, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		return MachineMemory(root)
	}
	const total = "MemTotal:       2048 kB\nMemFree:         1 kB\n"
	require.EqualValues(t, 2*mb, machine(map[string]string{"proc/meminfo": total}))
	require.EqualValues(t, 1*mb, machine(map[string]string{
		"proc/meminfo": total, "proc/self/cgroup": "1:name=systemd:/x\n0::/a/b\n",
		"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1048576\n",
	}), "that of the group above")
	require.EqualValues(t, 1*mb, machine(map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory.max": "1048576\n"}))
	require.EqualValues(t, 2*mb, machine(map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory.max": "8388608000\n"}))
	require.Zero(t, machine(map[string]string{"proc/meminfo": "nonsense"}))
	require.Zero(t, machine(nil))
	if runtime.GOOS == "linux" {
		require.Positive(t, MachineMemory("/"))
	}
}

// The limit is the process's, so nothing runs beside this.
func TestLimitMemory(t *testing.T) { //nolint:paralleltest // see above
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before, beforePercent := debug.SetMemoryLimit(-1), percent()
	t.Cleanup(func() {
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(beforePercent)
	})
	LimitMemory(Env{"GOMEMLIMIT=off"}, MemoryWithTemporal)()
	require.Equal(t, before, debug.SetMemoryLimit(-1), "GOMEMLIMIT wins")
	require.Equal(t, beforePercent, percent(), "nothing else would bound it")
	LimitMemory(Env{"GOMEMLIMIT=1GiB", "GOGC=150"}, MemoryWithTemporal)()
	require.Equal(t, before, debug.SetMemoryLimit(-1), "the runtime has read it")
	require.Equal(t, beforePercent, percent(), "GOGC wins")
	LimitMemory(Env{"GOMEMLIMIT=1GiB"}, MemoryWithTemporal)()
	require.Equal(t, before, debug.SetMemoryLimit(-1), "the runtime has read it")
	require.Equal(t, gcPercent, percent())

	debug.SetGCPercent(beforePercent)
	runtime.GC()
	live, beside := memoryInUse()
	require.Positive(t, live)
	require.Positive(t, beside)
	for _, floor := range []int64{MemoryWithoutTemporal, MemoryWithTemporal} {
		stop := LimitMemory(nil, floor)
		stop()
		require.LessOrEqual(t, debug.SetMemoryLimit(-1), floor, "a test uses little")
		require.Equal(t, gcPercent, percent())
	}
}
