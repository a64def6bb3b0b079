package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// What is right beside a crawl is right.
func TestDoctorLooksAtTemporal(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 2, 4)
	crawling := h.Start(append([]string{"crawl", "--delay", "10m", "--run", "slow"}, append(s.flags(), s.Seeds()...)...)...)
	wait.Until(t, func() bool { return s.Requests() > 0 }, patience, 10*time.Millisecond)
	only := []string{
		"doctor", "--only", "temporal", "--only", "namespace", "--only", "attributes", "--only", "workers",
		"--only", "backlog", "--only", "workflows", "--only", "claims",
	}
	out := h.Print(only...)
	require.NotRegexp(t, `(?m)^(skipped|warning|fault)`, out)
	output.ContainsOnSameLine(t, out, "ok", "workers", "1 worker of this version")
	require.Zero(t, crawling.Stop().Code)
}

func TestDoctorMissesWorkersAndDispatchers(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	r := h.Execute("doctor", "--only", "workers")
	require.Zero(t, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout, "note", "workers", "no worker polls mosey")
	_, err := store.Pool().Exec(t.Context(), "INSERT INTO crawl_runs (name, settings) VALUES ('lost', '{}')")
	require.NoError(t, err)
	_, err = store.Pool().Exec(t.Context(), `INSERT INTO domains (domain, status, claimed_by, claim_expires_at)
		VALUES ('claimed.example', 'active', 'domain/claimed.example', now() + interval '1 hour')`)
	require.NoError(t, err)
	r = h.Execute("doctor", "--only", "workers", "--only", "claims")
	require.Equal(t, 1, r.Code)
	output.ContainsOnSameLine(t, r.Stdout, "fault", "workers", "no worker polls mosey")
	require.Contains(t, r.Stdout, "and these runs are")
	output.ContainsOnSameLine(t, r.Stdout, "warning", "claims", "active runs have no dispatcher: lost")
	require.Contains(t, r.Stdout, "claimed.example")
}

func TestDoctorMissesANamespace(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	c := h.client()
	h.Setenv("TEMPORAL_NAMESPACE", "nowhere")
	r := h.Execute("doctor", "--only", "namespace")
	require.Equal(t, 1, r.Code)
	output.ContainsOnSameLine(t, r.Stdout, "fault", "namespace", `the namespace "nowhere" does not exist`)
	require.Contains(t, r.Stdout, "temporal operator namespace")
	require.Contains(t, r.Stdout, "Run mosey migrate, or: ")

	// one that lacks what workflows set
	const name = "doctor-without-attributes"
	require.NoError(t, unhurried(t.Context(), func() error {
		_, err := c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		return err
	}))
	h.Setenv("TEMPORAL_NAMESPACE", name)
	wait.Until(t, func() bool {
		r = h.Execute("doctor", "--only",
			"attributes")
		return r.Code == 1
	}, patience, 100*time.Millisecond)
	output.ContainsOnSameLine(t, r.Stdout, "fault", "attributes", "MoseyDomain, MoseyRun, MoseyStatus missing")
	require.Contains(t, r.Stdout, "--type KeywordList")
}
