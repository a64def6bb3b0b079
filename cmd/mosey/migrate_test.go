package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// A namespace gets what it lacks, once; what it has of another type is an error.
func TestMigratePreparesTemporal(t *testing.T) {
	t.Parallel()

	t.Run("MakesTheNamespaceAndItsAttributes", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		h.Setenv("TEMPORAL_NAMESPACE", "made-by-migrate")
		out := h.Print("migrate")
		s := newSite(t, 1, 2)
		r := h.Execute(s.crawl(s.Seeds()[0])...)
		require.Zero(t, r.Code, "at once: %s", r.Stderr)
		require.Contains(t, out, `Created the Temporal namespace "made-by-migrate", with a retention of 7 days.`)
		require.Contains(t, out, `Created the search attributes MoseyDomain, MoseyRun, MoseyStatus in the Temporal namespace "made-by-migrate".`)
		require.NotContains(t, h.Print("migrate"), "Made ")
		output.ContainsOnSameLine(t, h.Print("doctor", "--only", "attributes"), "ok", "attributes", "all attributes exist")
		var change command.Change
		h.Decode(&change, "migrate", "--json")
		require.Equal(t, "migrated", change.Action)
	})

	t.Run("RefusesAnAttributeOfAnotherType", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		c := h.client()
		const name = "attributes-of-another-type"
		require.NoError(t, unhurried(t.Context(), func() error {
			_, err := c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
				Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
			})
			return err
		}))
		wait.Until(t, func() bool {
			_, err := c.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
				Namespace: name, SearchAttributes: map[string]enumspb.IndexedValueType{crawl.AttrRun: enumspb.INDEXED_VALUE_TYPE_KEYWORD},
			})
			return err == nil
		}, patience, 100*time.Millisecond)
		h.Setenv("TEMPORAL_NAMESPACE", name)
		h.Fail([]string{"migrate"}, "MoseyRun is a Keyword and should be a KeywordList", "Use a separate namespace for Mosey")
	})

	t.Run("DoesNotNeedTemporal", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("DATABASE_URL", dbtest.UnmigratedURL(t))
		h.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
		r := h.Execute("migrate")
		require.Zero(t, r.Code, r.Stderr)
		require.Contains(t, r.Stdout, "schema version ")
		require.Contains(t, r.Stderr, "search attributes are not checked: reach Temporal at 127.0.0.1:1: ")
	})
}

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("BringsAFreshDatabaseToTheNewestSchemaOnce", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("DATABASE_URL", dbtest.UnmigratedURL(t))
		require.Regexp(t, `\Aschema version \d+, [1-9]\d* migrations? applied\n\z`, h.Print("migrate"))
		require.Regexp(t, `\Aschema version \d+, 0 migrations applied\n\z`, h.Print("migrate"))
		require.Zero(t, h.Execute("status").Code)
	})

	t.Run("LeavesANewerDatabaseAlone", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithDatabase(t)
		_, err := store.Pool().Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, true)")
		require.NoError(t, err)
		h.Fail([]string{"migrate"}, "the database has schema version 1000, but this program knows only ", ": use a newer Mosey")
	})

	t.Run("WorksOnTheDataDirectory", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		r := h.Execute("migrate")
		require.Zero(t, r.Code, r.Stderr)
		require.Regexp(t, `\Aschema version \d+, [1-9]\d* migrations? applied\n\z`, r.Stdout)
		// and so does all that looks into it afterwards
		status := h.Execute("status")
		require.Zero(t, status.Code, status.Stderr)
		require.Contains(t, status.Stderr, "No runs yet.")
	})

	t.Run("IsToldWhoHasTheDataDirectory", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		dir, err := datadir.Lock(t.Context(), h.dir)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dir.Close()) })
		h.Fail([]string{"migrate"}, "data directory "+h.dir+" is in use by another Mosey (pid ", "or choose another directory with --data-dir")
		h.Fail([]string{"up"}, "data directory "+h.dir+" is in use by another Mosey (pid ", "or choose another directory with --data-dir")
		require.NoError(t, dir.Publish(datadir.Info{Ready: true}))
		h.Fail([]string{"status"}, h.dir+" uses an external database: give its address in DATABASE_URL")
	})

	t.Run("NeedsADirectory", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.dir = h.WriteFile("file", "")
		h.Fail([]string{"migrate"}, "data directory "+h.dir+" is not a directory")
		h.Fail([]string{"up"}, "data directory "+h.dir+" is not a directory")
	})
}
