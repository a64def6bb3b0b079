//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/wait"
)

// buildNextVersion builds a worker of another version: its DomainWorkflow takes a step more
// before each fetch, which no history of this version agrees with, and carries a field more,
// which this version does not know.
func buildNextVersion(t *testing.T) (bin string) {
	t.Helper()
	changed := map[string]string{}
	change := func(file, line, with string) {
		source, err := filepath.Abs(filepath.Join("..", "..", "workflows", file))
		require.NoError(t, err)
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		before, after, found := strings.Cut(string(text), line)
		require.True(t, found, "%s has no line %q", file, line)
		changed[source] = before + with + after
	}
	fetch := "\terr := workflow.ExecuteActivity(withFetchOptions(ctx, d.fetchSummary(), d.state.Backoff), act.FetchPages,\n"
	change("domain.go", fetch, "\td.state.Upgraded = true\n"+
		"\tif err := workflow.Sleep(ctx, time.Millisecond); err != nil {\n\t\treturn err\n\t}\n"+fetch)
	state := "type DomainState struct {\n"
	change("domain_state.go", state, state+"\tUpgraded bool `json:\"upgraded\"`\n")
	return buildWorker(t, changed)
}

// TestUpgrade replaces the workers by those of another version in the middle of a crawl, and
// takes that back. A domain sleeps and a dispatcher waits for ever meanwhile: they are woken.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	form.Long(t)
	next := buildNextVersion(t)
	beside(t)
	const delay = 400 * time.Millisecond
	// pages enough that no domain is done before the last deployment
	sites := web.Uniform(5, web.Site{Pages: 220, Plain: true})
	s := newSite(t, web.Options{Sites: sites})
	c := newCluster(t)
	worker := func(bin, version string) *process {
		p := start(t, c.environ("TEMPORAL_WORKER_BUILD_ID="+version), bin, s.workerFlags()...)
		t.Cleanup(func() {
			p.end()
			// a history that code does not agree with is no failure: the task is tried again and again
			require.NotContains(t, strings.ToLower(p.out.String()), "nondeterminis")
			require.NotContains(t, p.out.String(), "panic")
		})
		return p
	}
	mosey := func(exit int, args ...string) string {
		p := start(t, c.environ(), moseyBin, args...)
		require.Equal(t, exit, p.wait(t, 3*time.Minute), p.out)
		return p.out.String()
	}
	// known waits until a worker of a version asks for tasks; else the version is refused.
	known := func(version string) {
		wait.Until(t, func() bool {
			return strings.Contains(mosey(0, "deploy", "--json"), fmt.Sprintf(`"build_id":%q`, version))
		}, time.Minute, time.Second)
	}
	count := func(query string) int64 {
		res, err := c.client.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		require.NoError(t, err)
		return res.GetCount()
	}
	// on waits until so many workflows are pinned to a version: a new execution is after its first
	// step.
	on := func(version string, want int) {
		query := "ExecutionStatus = 'Running' AND TemporalWorkflowVersioningBehavior = 'Pinned' AND " +
			"TemporalWorkerDeploymentVersion = 'mosey:" + version + "'"
		wait.Until(t, func() bool { return count(query) == int64(want) }, time.Minute, 100*time.Millisecond, "%s", version)
	}
	more := func(pages int) {
		want := len(s.Log().Pages()) + pages
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= want }, 2*time.Minute, 10*time.Millisecond)
	}

	require.Contains(t, mosey(2, "deploy", "v1"), "first start workers with --build-id v1")
	require.Contains(t, mosey(0, "deploy"), "No versions: no worker was started with --build-id")
	worker(workerBin, "v1")
	known("v1")
	require.Contains(t, mosey(0, "deploy", "v1"), "Version v1 is current.")
	for _, run := range []string{"crawl", "held"} {
		input, err := json.Marshal(map[string]any{
			"run": run, "urls": s.Seeds(), "settings": map[string]any{"delay": delay.String(), "ip_delay": "0s"},
		})
		require.NoError(t, err)
		require.NoError(t, c.seed(t, "seed/"+run+"/1", string(input)).Get(t.Context(), nil))
	}
	mosey(0, "pause", "run:held", "--reason", "its dispatcher sleeps")
	more(30)
	all := len(sites) + 2 // two dispatchers
	on("v1", all)
	require.Contains(t, mosey(0, "replay"), "all can continue on this program")

	worker(next, "v2")
	known("v2")
	require.Contains(t, mosey(0, "deploy", "v2"), "Version v1: no workflows remain. Stop its workers: mosey/")
	on("v1", 0)
	on("v2", all)
	more(30)
	require.Contains(t, mosey(1, "replay"), "disagrees: ")

	require.Contains(t, mosey(0, "deploy", "v1"), "Version v2: no workflows. Deploy it (mosey deploy v2), or stop its workers: mosey/")
	on("v2", 0)
	on("v1", all)
	more(30)

	require.Contains(t, mosey(2, "deploy", "--unversioned"), "no unversioned worker polls the task queues: start one first")
	worker(workerBin, "")
	var back *process
	wait.Until(t, func() bool { // once it has asked for tasks
		back = start(t, c.environ(), moseyBin, "deploy", "--unversioned")
		return back.wait(t, 3*time.Minute) == 0
	}, time.Minute, time.Second)
	require.Contains(t, back.out.String(), "Workers without a version are ")
	on("v1", 0)
	more(30)
	mosey(0, "resume", "run:held")
	c.waitDone(t, "crawl", 5*time.Minute)
	c.waitDone(t, "held", 5*time.Minute)
	r := s.judge(t, web.Expectations{Delay: delay, Refetches: len(s.Log().Pages()), UserAgent: "mosey/"})
	t.Log(r)
	require.Empty(t, r.Missing)
	for _, status := range []string{"Failed", "TimedOut", "Terminated"} {
		require.Zero(t, count("ExecutionStatus = '"+status+"'"), status)
	}
}
