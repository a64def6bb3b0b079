package temporal

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

// The list of workflows has few indexes, and can be searched as before.
func TestList(t *testing.T) {
	t.Parallel()
	domain := sdk.NewSearchAttributeKeyKeyword("TestDomain")
	runs := sdk.NewSearchAttributeKeyKeywordList("TestRun")
	cfg := Config{Dir: t.TempDir(), NoUI: true, SearchAttributes: map[string]enumspb.IndexedValueType{
		"TestDomain": domain.GetValueType(), "TestRun": runs.GetValueType(),
	}}
	server, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	c := dial(t, server)
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "one", TaskQueue: "none",
		TypedSearchAttributes: sdk.NewSearchAttributes(domain.ValueSet("example.org"), runs.ValueSet([]string{"small-web"})),
	}, "Unknown")
	require.NoError(t, err)
	queries := []string{
		"", `WorkflowId = "one"`, `WorkflowType = "Unknown" AND ExecutionStatus = "Running"`, `TestDomain = "example.org"`,
		`TestRun = "small-web"`, `TaskQueue = "none"`, `StartTime > "2020-01-01T00:00:00Z" AND RootWorkflowId = "one"`,
	}
	for _, query := range queries {
		require.Equal(t, []string{"one"}, list(t, c, query), query)
	}
	c.Close()
	require.NoError(t, server.Stop())
	require.ElementsMatch(t, keptIndexes, indexes(t, cfg.Dir))

	server, err = Start(t.Context(), cfg)
	require.NoError(t, err, "again, on the same file")
	c = dial(t, server)
	for _, query := range queries {
		require.Equal(t, []string{"one"}, list(t, c, query), query)
	}
	c.Close()
	require.NoError(t, server.Stop())
}

func indexes(t *testing.T, dir string) (names []string) {
	t.Helper()
	db, err := sql.Open(sqliteplugin.PluginName, "file:"+filepath.Join(dir, DatabaseFile)+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	names, err = listIndexes(t.Context(), tx)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	return names
}

func dial(t *testing.T, s *Server) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: s.Address(), Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	return c
}

// list returns the IDs of the workflows that a search finds. The list follows what
// happens after a moment.
func list(t *testing.T, c client.Client, query string) []string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		res, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		require.NoError(t, err)
		if found := res.GetExecutions(); len(found) > 0 || time.Now().After(deadline) {
			var ids []string
			for _, e := range found {
				ids = append(ids, e.GetExecution().GetWorkflowId())
			}
			return ids
		}
		time.Sleep(20 * time.Millisecond)
	}
}
