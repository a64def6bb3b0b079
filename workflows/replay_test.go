package workflows_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mosey-web/mosey/workflows"
)

const replay = "testdata/replay"

// TestReplay runs the present code over histories that releases have written.
// Nothing but the histories of old code can show that new code gets on with them,
// so they are never recorded again from the branch under test: see
// tools/replay-record.
func TestReplay(t *testing.T) {
	t.Parallel()
	releases, err := os.ReadDir(replay)
	require.NoError(t, err)
	require.NotEmpty(t, releases)
	for _, release := range releases {
		t.Run(release.Name(), func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(replay, release.Name(), "*.json.gz"))
			require.NoError(t, err)
			for _, kind := range []string{"seed-", "crawl-", "domain-", "recrawl-"} {
				require.Contains(t, strings.Join(files, "\n"), string(filepath.Separator)+kind, "no such history")
			}
			for _, file := range files {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".json.gz"), func(t *testing.T) {
					t.Parallel()
					replayer := worker.NewWorkflowReplayer()
					workflows.Register(replayer)
					require.NoError(t, replayer.ReplayWorkflowHistory(nil, history(t, file)), `workflows that began with the release
would get stuck on this code. Keep the old path behind workflow.GetVersion; do not
record the history again.`)
				})
			}
		})
	}
}

// history reads a file that tools/replay-record has written.
func history(t *testing.T, name string) *historypb.History {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	h, err := client.HistoryFromJSON(text, client.HistoryJSONOptions{})
	require.NoError(t, err)
	require.NoError(t, text.Close())
	return h
}
