package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
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

// recordHistories writes the histories that the replay test of package workflows reads:
// what the workflows of all tests have done. tools/replay-record runs it on the code of a
// release.
func recordHistories(dir, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, kind := range []string{
		workflows.SeedWorkflowName, workflows.CrawlWorkflowName, workflows.DomainWorkflowName, workflows.RecrawlWorkflowName,
	} {
		var all []history
		for n := range temporalStack.taken.Load() {
			list, err := histories(ctx, address, namespaceName(n+1), kind)
			if err != nil {
				return err
			}
			all = append(all, list...)
		}
		if len(all) == 0 {
			return fmt.Errorf("no %s has run", kind)
		}
		for name, text := range distinct(all) {
			if err := writeHistory(filepath.Join(dir, name+".json.gz"), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeHistory compresses a history into a file, the same bytes for the same text.
func writeHistory(name string, text []byte) error {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, compressed.Bytes(), 0o644)
}

// history is a recorded execution.
type history struct {
	name     string
	text     []byte
	activity string // the last one
	seen     map[string]bool
}

// fileName makes a file's name, for Windows too, of a workflow's id.
var fileName = strings.NewReplacer("/", "-", ":", "-")

// histories are the executions of a workflow type in a namespace, the oldest first.
func histories(ctx context.Context, address, namespace, kind string) ([]history, error) {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	executions, err := executions(ctx, c, kind)
	if err != nil {
		return nil, err
	}
	var list []history
	for _, e := range executions {
		h := history{name: fileName.Replace(e.GetExecution().GetWorkflowId()), seen: map[string]bool{}}
		// a schedule names the workflows that it starts
		if prefix := strings.ToLower(strings.TrimSuffix(kind, "Workflow")) + "-"; !strings.HasPrefix(h.name, prefix) {
			h.name = prefix + h.name
		}
		events := c.GetWorkflowHistory(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(), false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return nil, err
			}
			if err := h.add(event); err != nil {
				return nil, err
			}
		}
		if h.activity == "" {
			continue // it has done nothing yet
		}
		h.text = append(h.text, "\n]}\n"...)
		list = append(list, h)
	}
	return list, nil
}

func executions(ctx context.Context, c client.Client, kind string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	var list []*workflowpb.WorkflowExecutionInfo
	in := &workflowservice.ListWorkflowExecutionsRequest{Query: `WorkflowType = "` + kind + `"`}
	for {
		page, err := c.ListWorkflow(ctx, in)
		if err != nil {
			return nil, err
		}
		list = append(list, page.GetExecutions()...)
		if in.NextPageToken = page.GetNextPageToken(); len(in.GetNextPageToken()) == 0 {
			break
		}
	}
	slices.SortFunc(list, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return cmp.Or(a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime()),
			cmp.Compare(a.GetExecution().GetRunId(), b.GetExecution().GetRunId()))
	})
	return list, nil
}

// add writes an event as JSON on a line of its own, so that two histories can be compared.
func (h *history) add(event *historypb.HistoryEvent) error {
	anonymize(event.ProtoReflect())
	text, err := protojson.Marshal(event)
	if err != nil {
		return err
	}
	separator := ",\n"
	if len(h.text) == 0 {
		separator = `{"events":[` + "\n"
	}
	line := bytes.NewBufferString(separator)
	if err := json.Compact(line, text); err != nil { // protojson's spaces are random
		return err
	}
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
	return nil
}

// branches returns the fields of an activity's result that decide the workflow's next step.
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
		return !slices.Contains([]string{"next", "kind", "redirects", "defer", "done", "finished", "ended", "next_in"}, name)
	})
	return fields
}

// shape returns the sorted set of the events in a history.
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
