package workflows_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/workflows"
)

const (
	// recordedMax bounds the bytes kept of a workflow type's histories, each of which
	// shows something that the others do not.
	recordedMax = 400 << 10
)

// TestRecordHistories writes the histories that TestReplay reads, from all
// workflows on the Temporal that the TEMPORAL_* variables name.
// tools/replay-record runs it on the code of a release, which must also have run
// these workflows.
func TestRecordHistories(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MOSEY_REPLAY_RECORD")
	if dir == "" {
		t.Skip("set MOSEY_REPLAY_RECORD to a directory to record histories")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opts, err := envconfig.LoadDefaultClientOptions()
	require.NoError(t, err)
	c, err := client.DialContext(ctx, opts)
	require.NoError(t, err)
	defer c.Close()

	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, kind := range []string{workflows.SeedWorkflowName, workflows.CrawlWorkflowName, workflows.DomainWorkflowName} {
		histories := distinct(histories(ctx, t, c, kind))
		require.NotEmpty(t, histories, "no %s has run there", kind)
		for name, text := range histories {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644))
		}
	}
}

// history is a recorded execution.
type history struct {
	name     string
	text     []byte
	activity string // the last one
	seen     map[string]bool
}

// histories are the executions of a workflow type, the oldest first.
func histories(ctx context.Context, t *testing.T, c client.Client, kind string) []history {
	t.Helper()
	var list []history
	for _, e := range executions(ctx, t, c, kind) {
		h := history{name: strings.ReplaceAll(e.GetExecution().GetWorkflowId(), "/", "-"), seen: map[string]bool{}}
		events := c.GetWorkflowHistory(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(), false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			h.add(t, event)
		}
		h.text = append(h.text, "\n]}\n"...)
		t.Logf("%s: %d bytes", h.name, len(h.text))
		list = append(list, h)
	}
	return list
}

func executions(ctx context.Context, t *testing.T, c client.Client, kind string) []*workflowpb.WorkflowExecutionInfo {
	t.Helper()
	var list []*workflowpb.WorkflowExecutionInfo
	in := &workflowservice.ListWorkflowExecutionsRequest{Query: `WorkflowType = "` + kind + `"`}
	for {
		page, err := c.ListWorkflow(ctx, in)
		require.NoError(t, err)
		list = append(list, page.GetExecutions()...)
		if in.NextPageToken = page.GetNextPageToken(); len(in.GetNextPageToken()) == 0 {
			break
		}
	}
	slices.SortFunc(list, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return cmp.Or(a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime()),
			cmp.Compare(a.GetExecution().GetRunId(), b.GetExecution().GetRunId()))
	})
	return list
}

// add writes an event as JSON on a line of its own, which keeps diffs readable.
func (h *history) add(t *testing.T, event *historypb.HistoryEvent) {
	t.Helper()
	anonymize(event.ProtoReflect())
	text, err := protojson.Marshal(event)
	require.NoError(t, err)
	separator := ",\n"
	if len(h.text) == 0 {
		separator = `{"events":[` + "\n"
	}
	line := bytes.NewBufferString(separator)
	require.NoError(t, json.Compact(line, text)) // protojson's spaces are random
	h.text = append(h.text, line.Bytes()...)
	before := h.activity
	if name := event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(); name != "" {
		h.activity = name
	}
	h.seen[fmt.Sprint(event.GetEventType(), before, h.activity)] = true
	h.seen[fmt.Sprint(
		event.GetActivityTaskStartedEventAttributes().GetAttempt() > 1,
		event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId() != "",
		event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput().GetName(),
	)] = true
	h.seen[fmt.Sprint(
		branches(event.GetActivityTaskCompletedEventAttributes().GetResult()),
		string(event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().
			GetIndexedFields()[crawl.AttrStatus].GetData()),
	)] = true
}

// branches is what a workflow decides by in an activity's result.
func branches(result *commonpb.Payloads) map[string]any {
	fields := map[string]any{}
	for _, p := range result.GetPayloads() {
		if json.Unmarshal(p.GetData(), &fields) != nil {
			return nil // no object
		}
	}
	if fields["next_in"] != nil {
		fields["next_in"] = "some time"
	}
	maps.DeleteFunc(fields, func(name string, _ any) bool {
		return !slices.Contains([]string{"next", "kind", "hops", "defer", "done", "finished", "ended", "next_in"}, name)
	})
	return fields
}

// shape is the set of what happens in a history.
func (h *history) shape() string { return strings.Join(slices.Sorted(maps.Keys(h.seen)), "\n") }

// distinct keeps the shortest of each shape, as far as there is room, by file name.
func distinct(all []history) map[string][]byte {
	slices.SortStableFunc(all, func(a, b history) int { return cmp.Compare(len(a.text), len(b.text)) })
	shapes := map[string]bool{}
	kept := map[string][]byte{}
	size := 0
	for _, h := range all {
		if shapes[h.shape()] || size+len(h.text) > recordedMax {
			continue
		}
		size += len(h.text)
		shapes[h.shape()] = true
		name := h.name
		for n := 'b'; kept[name] != nil; n++ {
			name = h.name + "-" + string(n) // another execution of the same workflow
		}
		kept[name] = h.text
	}
	return kept
}

// anonymize takes out what tells of the machine that the history comes from.
func anonymize(m protoreflect.Message) {
	if q, ok := m.Interface().(*taskqueuepb.TaskQueue); ok && q.GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
		q.Name = "sticky"
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Name() == "identity":
			m.Set(f, protoreflect.ValueOfString("worker"))
		case f.Name() == "build_id", f.Name() == "binary_checksum", f.Name() == "worker_version":
			m.Clear(f)
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				anonymize(v.List().Get(i).Message())
			}
		default:
			anonymize(v.Message())
		}
		return true
	})
}
