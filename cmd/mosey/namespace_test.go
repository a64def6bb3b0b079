package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/wait"
)

// Workflows and task queues have the same names for every database: in one namespace the
// workers of two would take each other's tasks.
func TestNamespaceOfAnotherDatabase(t *testing.T) {
	form.Long(t)
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	require.Zero(t, h.Execute(s.crawl(s.Seeds()[0])...).Code)
	mine := identityOf(t, h)

	// another database, in the same namespace
	other, store := newHarnessWithDatabase(t)
	_, err := store.Pool().Exec(t.Context(), "UPDATE installation SET identity = gen_random_uuid()") // it is a copy
	require.NoError(t, err)
	other.Setenv("TEMPORAL_ADDRESS", h.environ.Get("TEMPORAL_ADDRESS"))
	other.Setenv("TEMPORAL_NAMESPACE", h.environ.Get("TEMPORAL_NAMESPACE"))
	whose := `the Temporal namespace "` + h.environ.Get("TEMPORAL_NAMESPACE") + `" belongs to the database ` + mine +
		", and not to the given database " + identityOf(t, other)

	requests := s.Requests()
	other.Fail(s.crawl(s.Seeds()[0], "--run", "theirs"), whose, "TEMPORAL_NAMESPACE=…", "temporal workflow terminate", "mosey/database")
	other.Fail(append([]string{"crawl", "--detach"}, s.Seeds()[0]), whose)
	other.Fail([]string{"up"}, whose)
	other.Fail([]string{"schedule", "add", "nightly", "--run", "theirs", "--older-than", "1h", "--every", "1h"}, whose)
	require.Equal(t, requests, s.Requests())
	_, err = store.Run(t.Context(), "theirs")
	require.ErrorIs(t, err, crawl.ErrNotFound, "nothing is stored by a command that is refused")

	// its own is not in its way, and goes on being its own
	require.Zero(t, h.Execute(s.crawl(s.Seeds()[0])...).Code)

	// once it is given free, it is the next one's
	require.NoError(t, h.client().TerminateWorkflow(t.Context(), crawl.DatabaseWorkflowID, "", "that database is gone"))
	require.Zero(t, other.Execute(s.crawl(s.Seeds()[0], "--run", "theirs")...).Code)
	h.Fail(s.crawl(s.Seeds()[0]), "belongs to the database "+identityOf(t, other))
}

// Two Moseys crawl at the same time, each with a database and a namespace of its own in one
// Temporal. Nothing of one is the other's: no row, no workflow, no request and no schedule.
func TestTwoMoseysShareATemporal(t *testing.T) {
	t.Parallel()
	const runs, pages = 2, 20
	type mosey struct {
		*commandHarness
		site

		store *db.Store
		crawl *started
	}
	var all [runs]mosey
	for i := range all {
		h, store := newHarnessWithStack(t)
		_, err := store.Pool().Exec(t.Context(), "UPDATE installation SET identity = gen_random_uuid()") // it is a copy
		require.NoError(t, err)
		all[i] = mosey{commandHarness: h, store: store, site: newSite(t, i+1, pages)}
	}
	require.NotEqual(t, identityOf(t, all[0].commandHarness), identityOf(t, all[1].commandHarness))
	for i, m := range all {
		// the same run, with the same name, of other sites: each has a web of its own
		all[i].crawl = m.Start(m.site.crawl(append(m.Seeds(), "--run", "same", "--delay", "50ms")...)...)
	}
	for _, m := range all {
		wait.Until(t, func() bool { return m.Requests() > 3 }, patience, 5*time.Millisecond)
	}
	for i, m := range all {
		m.Print("schedule", "add", fmt.Sprintf("of-%d", i), "--run", "same", "--older-than", "1h", "--every", "24h")
	}
	for i, m := range all {
		r := m.crawl.Wait()
		require.Zero(t, r.Code, r.Stderr)
		domains := i + 1
		m.requireClean(t, web.Expectations{Delay: 50 * time.Millisecond})
		require.Len(t, m.Log().Pages(), domains*(pages+1), "each page once, and by its own Mosey")
		var stored int
		require.NoError(t, m.store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM domains").Scan(&stored))
		require.Equal(t, domains, stored)
		list := m.Print("schedule", "list")
		require.Contains(t, list, fmt.Sprintf("of-%d", i))
		require.NotContains(t, list, fmt.Sprintf("of-%d", 1-i))
		workflows, err := m.client().ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowType = 'DomainWorkflow'",
		})
		require.NoError(t, err)
		ids := map[string]bool{}
		for _, w := range workflows.GetExecutions() {
			ids[w.GetExecution().GetWorkflowId()] = true
		}
		require.Len(t, ids, domains)
		require.Contains(t, m.Print("doctor", "--only", "namespace"), "ok")
	}
}

// The workflow that tells whose a namespace is waits without making events.
func TestDatabaseWorkflowSleeps(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	for range 2 { // the second worker has no use for it
		require.Zero(t, h.Execute(s.crawl(s.Seeds()[0])...).Code)
	}
	d, err := h.client().DescribeWorkflowExecution(t.Context(), crawl.DatabaseWorkflowID, "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, d.GetWorkflowExecutionInfo().GetStatus())
	require.LessOrEqual(t, d.GetWorkflowExecutionInfo().GetHistoryLength(), int64(4), "it was started, and looked at once")
	require.NotContains(t, h.Print("status"), "database")
}

// identityOf returns the identity of a harness's database.
func identityOf(t *testing.T, h *commandHarness) string {
	t.Helper()
	store, err := db.Open(t.Context(), h.environ.Get("DATABASE_URL"))
	require.NoError(t, err)
	defer store.Close()
	identity, err := store.Identity(t.Context())
	require.NoError(t, err)
	return identity
}

// Where the Temporal is the data directory's own, it ends with the command that is refused.
func TestDataDirectoryOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithDatabase(t)
	s := newSite(t, 1, 2)
	r := h.Execute(s.crawl(s.Seeds()[0])...)
	require.Zero(t, r.Code, r.Stderr)
	other, store := newHarnessWithDatabase(t)
	_, err := store.Pool().Exec(t.Context(), "UPDATE installation SET identity = gen_random_uuid()") // it is a copy
	require.NoError(t, err)
	other.dir = h.dir
	other.Fail(s.crawl(s.Seeds()[0]), "belongs to the database ", "choose another data directory with --data-dir", "delete "+h.dir+"/temporal")
}
