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

// stat is what /proc says about a process.
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

// postgresCPU is the CPU time of the processes of a Postgres below a process, the
// ended ones included that their postmaster has waited for.
func postgresCPU(t testing.TB, root int) time.Duration {
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
	var sum time.Duration
	for _, s := range all {
		for p := s.parent; p > 1; p = all[p].parent {
			if p == root && s.name == "postgres" {
				sum += s.cpu
				break
			}
		}
	}
	return sum
}

// memory is a figure of a process's memory in MB: VmHWM is the most it has had, VmRSS
// what it has now, RssAnon that beside what it shares with files.
func memory(t testing.TB, pid int, name string) float64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
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
