package workflows_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/mosey-web/mosey/workflows"
)

// TestReplay runs the present code over histories that releases have written.
// Nothing but the histories of old code can show that new code gets on with them,
// so they are never recorded again from the branch under test: see
// tools/replay-record.
func TestReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "replay", "*", "*.json"))
	require.NoError(t, err)
	for _, kind := range []string{"seed-", "crawl-", "domain-", "recrawl-"} {
		require.Contains(t, strings.Join(files, "\n"), string(filepath.Separator)+kind, "no such history")
	}
	for _, file := range files {
		name, err := filepath.Rel(filepath.Join("testdata", "replay"), file)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".json"), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			workflows.Register(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(nil, file), `workflows that began with the release
would get stuck on this code. Keep the old path behind workflow.GetVersion; do not
record the history again.`)
		})
	}
}
