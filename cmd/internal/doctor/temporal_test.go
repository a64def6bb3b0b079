package doctor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	p := &Target{NoTemporal: errors.New("reach Temporal at 127.0.0.1:1: refused")}
	requireFinding(t, p.look(t, "temporal"), Fault, "127.0.0.1:1", "TEMPORAL_ADDRESS")
	p.NoTemporal = Absent("no Temporal runs")
	requireFinding(t, p.look(t, "temporal"), Skipped, "no Temporal runs")
	for _, name := range []string{"namespace", "attributes", "workers", "backlog", "workflows", "claims"} {
		requireFinding(t, p.look(t, name), Skipped, "no Temporal")
	}
}

func TestVersionsOfWorkers(t *testing.T) {
	t.Parallel()
	ours := "mosey/" + wiring.Version() + " 17@host"
	requireFinding(t, judgeWorkers([]string{ours, ours + "2"}), OK, "2 workers of this version")
	requireFinding(t, judgeWorkers([]string{ours, "mosey/9.9.9 18@other"}), Warning, "mosey/9.9.9 18@other", "mosey migrate")
	requireFinding(t, judgeWorkers([]string{"somebody 18@other"}), Warning, "somebody 18@other", "a separate namespace")
}

func TestWorkflowsThatMakeNoProgress(t *testing.T) {
	t.Parallel()
	describe := func(attempt int32, events, bytes int64) *workflowservice.DescribeWorkflowExecutionResponse {
		return &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{HistoryLength: events, HistorySizeBytes: bytes},
			PendingWorkflowTask:   &workflowpb.PendingWorkflowTaskInfo{Attempt: attempt},
		}
	}
	require.Empty(t, judgeWorkflow("domain/a.example", describe(1, 100, 10_000)))
	requireFinding(t, judgeWorkflow("domain/a.example", describe(9, 100, 10_000)), Fault, "failed 8 times",
		"temporal workflow show --workflow-id domain/a.example")
	requireFinding(t, judgeWorkflow("domain/a.example", describe(1, 45_000, 10_000)), Warning, "45000 events", "terminate")
	requireFinding(t, judgeWorkflow("domain/a.example", describe(1, 100, 45<<20)), Warning, "terminate")
	require.Len(t, limitFindings(make([]Finding, 25)), maxFindings+1)
}
