package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockTick is USER_HZ, which Linux has fixed at 100 for all that read /proc.
const clockTick = 10 * time.Millisecond

// stat holds the values of /proc/<pid>/stat.
type stat struct {
	pid, parent int
	name        string
	cpu         time.Duration
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false // it has ended
	}
	// the name is in parentheses and may hold anything
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	f := strings.Fields(string(data[end+1:]))
	number := func(i int) int {
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return 0
		}
		return n
	}
	return stat{
		pid: pid, parent: number(1), name: string(data[open+1 : end]),
		cpu: time.Duration(number(11)+number(12)) * clockTick,
	}, true
}

// cpuOf is the CPU time of a process so far.
func cpuOf(pid int) time.Duration {
	s, _ := readStat(pid)
	return s.cpu
}

// postgresOf are the processes of a Postgres below a process.
func postgresOf(t testing.TB, root int) (found []stat) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	all := map[int]stat{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := readStat(pid); ok {
				all[pid] = s
			}
		}
	}
	for _, s := range all {
		for p := s.parent; p > 1; p = all[p].parent {
			if p == root && s.name == "postgres" {
				found = append(found, s)
				break
			}
		}
	}
	return found
}

// postgresCPU is the CPU time of a Postgres below a process, that of ended processes
// included that their postmaster has waited for.
func postgresCPU(t testing.TB, root int) (sum time.Duration) {
	t.Helper()
	for _, s := range postgresOf(t, root) {
		sum += s.cpu
	}
	return sum
}

// postgresMemory is the memory of a Postgres below a process in MB. What its processes
// share is counted once, as each has its part of it (PSS).
func postgresMemory(t testing.TB, root int) (sum float64) {
	t.Helper()
	for _, s := range postgresOf(t, root) {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.pid), "smaps_rollup"))
		if err == nil { // else it has ended
			sum += kilobytes(t, data, "Pss")
		}
	}
	return sum
}

// memory returns one field of /proc/<pid>/status in MB: VmHWM is the peak memory, VmRSS the current
// memory, and RssAnon the current memory without file mappings.
func memory(t testing.TB, pid int, name string) float64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	return kilobytes(t, data, name)
}

// kilobytes returns a field that /proc states in kB, converted to MB.
func kilobytes(t testing.TB, data []byte, name string) float64 {
	t.Helper()
	for line := range strings.Lines(string(data)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			kB, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			require.NoError(t, err)
			return kB * 1024 / 1e6
		}
	}
	require.FailNow(t, "no such figure", name)
	return 0
}

// machine says what was measured on.
func machine() string {
	model := "unknown CPU"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				model = strings.Trim(name, "\t :\n")
				break
			}
		}
	}
	return fmt.Sprintf("%d cores of %s, %s %s/%s", runtime.NumCPU(), model, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
