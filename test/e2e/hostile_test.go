package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

// workerMemory is the most that a worker may take, in MB.
const workerMemory = 512

// TestHostile lets all hostile hosts at a worker at once: bombs, endless answers,
// broken protocols, traps, rebinding names. What has to hold is every promise, the
// healthy sites' coverage, the worker's memory, and what is recorded of each host.
// Some have no end, so the run is not waited for. It runs alone: bombs would slow
// the servers of others down.
func TestHostile(t *testing.T) {
	form.Long(t)
	t.Parallel()
	alone(t)
	const redirectsAway = "away.hostile.test"
	s := newSite(t, web.Options{Sites: append(web.Uniform(4, web.Site{Pages: 10}), web.Hostile()...)})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, s.RootCA(), 0o600))
	c := newCluster(t)
	w := start(t, c.environ("SSL_CERT_FILE="+ca), workerBin, s.workerFlags()...)
	input, err := json.Marshal(map[string]any{
		"run": "hostile", "urls": s.Seeds()[:4],
		"settings": map[string]any{"delay": delay.String(), "ip_delay": "0s"},
	})
	require.NoError(t, err)
	require.NoError(t, c.seed(t, "seed/hostile/1", string(input)).Get(t.Context(), nil))
	for i, batch := range batches(s.Seeds()[4:], 20) {
		input, err := json.Marshal(map[string]any{"run": "hostile", "urls": batch})
		require.NoError(t, err)
		c.seed(t, fmt.Sprintf("seed/hostile/%d", i+2), string(input))
	}
	awaitHostileRows(t, c)
	memory := peakMemory(t, w)
	w.signal(syscall.SIGTERM)
	w.wait(t, crawlLimit)
	t.Logf("peak memory of the worker: %d MB", memory)
	require.Less(t, memory, workerMemory)

	requireHostileRows(t, c)
	r := web.Judge(s.Log(), web.Expectations{Plan: s.Plan, Delay: delay, UserAgent: "mosey/", Partial: true})
	require.Zero(t, r.Forbidden)
	for _, v := range r.Violations() {
		// a seed that moves takes its scope along, which the plan does not know
		if v.Breach != web.BreachExtra || v.Key != redirectsAway {
			require.Fail(t, v.String())
		}
	}
	for _, host := range s.Hosts()[:4] {
		require.NotEmpty(t, pagesOf(s.Log(), host), host)
	}
}

// batches cuts a list.
func batches(all []string, size int) (parts [][]string) {
	for len(all) > size {
		parts, all = append(parts, all[:size]), all[size:]
	}
	return append(parts, all)
}

// peakMemory is the most memory that a process has had, in MB.
func peakMemory(t *testing.T, p *process) (megabytes int) {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, found := strings.CutPrefix(s.Text(), "VmHWM:"); found {
			_, err := fmt.Sscanf(rest, "%d", &megabytes)
			require.NoError(t, err)
			return megabytes >> 10
		}
	}
	require.FailNow(t, "no VmHWM")
	return 0
}

func pagesOf(log web.Log, host string) (pages web.Log) {
	for _, r := range log.Pages() {
		if r.Domain() == host {
			pages = append(pages, r)
		}
	}
	return pages
}
