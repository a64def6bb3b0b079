package cost_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/programs"
	"github.com/mosey-web/mosey/test/race"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/workflows"
)

const temporalEvents = "temporal-events"

const (
	temporalDomains = 5
	temporalPages   = 20
	temporalPatient = 3 * time.Minute
)

// TestTemporal counts the events of the histories of domains from their start to their end,
// with one page an activity and a delay that the workflow waits for, by the `mosey` that
// users have. After some 400 pages of a domain a workflow continues as new, which is five
// events more and no matter for a page.
func TestTemporal(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	w := web.StartT(t, web.Options{
		Sites: web.Uniform(temporalDomains, web.Site{Plain: true, Pages: temporalPages - 1}), CrossLinks: -1,
	})
	temporal, database := startMosey(t, w)
	c, err := client.Dial(client.Options{HostPort: temporal})
	require.NoError(t, err)
	defer c.Close()
	startRun(t, c, database, w.Seeds())
	var events int64
	ended := awaitDomains(t, c)
	for _, x := range ended {
		events += x.GetHistoryLength()
	}
	pages := 0
	for _, record := range w.Log() {
		if record.IsPage() && record.Answered() {
			pages++
		}
	}
	require.GreaterOrEqual(t, pages, temporalDomains*temporalPages)
	judge(t, version(t, database), []finding{{name: temporalEvents, late: float64(events) / float64(pages)}})
}

// startRun hands the seeds of a run over, as the command line does.
func startRun(t *testing.T, c client.Client, database string, seeds []string) {
	t.Helper()
	store, err := db.Open(t.Context(), database)
	require.NoError(t, err)
	defer store.Close()
	run, err := store.EnsureRun(t.Context(), "cost", "test", settings.Settings{
		Delay: new(settings.Duration(time.Second)), IPDelay: new(settings.Duration(0)), PagesPerActivity: new(1),
	})
	require.NoError(t, err)
	require.NoError(t, store.StageSeeds(t.Context(), run.ID, seeds))
	_, err = workflows.Starter{Client: c}.StartSeed(t.Context(), 1, workflows.SeedInput{Run: run.Name, Staged: true})
	require.NoError(t, err)
}

// awaitDomains waits until the workflows of all domains have ended, and returns them.
func awaitDomains(t *testing.T, c client.Client) []*workflow.WorkflowExecutionInfo {
	t.Helper()
	var ended []*workflow.WorkflowExecutionInfo
	wait.Until(t, func() bool {
		found, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: `WorkflowType = "` + workflows.DomainWorkflowName + `" AND ExecutionStatus != "Running"`,
		})
		require.NoError(t, err)
		ended = found.GetExecutions()
		return len(ended) >= temporalDomains
	}, temporalPatient, 200*time.Millisecond, "domains do not end")
	return ended
}

// startMosey starts `mosey` with all that it brings, and returns the addresses of
// its Temporal and of its database.
func startMosey(t *testing.T, w *web.Web) (temporal, database string) {
	t.Helper()
	bin, remove, err := programs.Dir()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, remove()) })
	require.NoError(t, programs.Depend())
	cmd := exec.Command(filepath.Join(bin, "mosey"), "--data-dir", up.Dir(t), "up",
		"--dns-server", w.DNSAddr(), "--allow-network", w.Network().String(), "--contact", "cost@example.org")
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if !strings.HasPrefix(name, "TEMPORAL_") && !strings.HasPrefix(name, "MOSEY_") && name != "DATABASE_URL" {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Stderr = os.Stderr
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
	return up.Start(t, cmd)
}
