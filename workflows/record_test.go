package workflows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mosey-web/mosey/crawl"
)

// recordPatience bounds what is waited for.
const recordPatience = time.Minute

// TestRecordHistories writes the histories that TestReplay reads. It runs the workflows in
// played, on the Temporal that the TEMPORAL_* variables name, in a new namespace.
// tools/replay-record runs it on the code of a release.
func TestRecordHistories(t *testing.T) { //nolint:tparallel // its subtests are in perform
	t.Parallel()
	dir := os.Getenv("MOSEY_REPLAY_RECORD")
	if dir == "" {
		t.Skip("set MOSEY_REPLAY_RECORD to a directory to record histories")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*recordPatience)
	defer cancel()
	c := newNamespace(ctx, t)
	defer c.Close()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	plays := played()
	perform(ctx, t, c, plays)
	for _, one := range plays {
		name := strings.ReplaceAll(one.id, "/", "-") + ".json"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), recorded(ctx, t, c, one.id), 0o644))
	}
}

// newNamespace makes a namespace for this recording, with the search attributes, and
// returns a client of it.
func newNamespace(ctx context.Context, t *testing.T) client.Client {
	t.Helper()
	opts, err := envconfig.LoadDefaultClientOptions()
	require.NoError(t, err)
	opts.Namespace = "replay-record-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	opts.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, opts)
	require.NoError(t, err)
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: opts.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	attributes := map[string]enumspb.IndexedValueType{
		crawl.AttrDomain: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		crawl.AttrRun:    enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		crawl.AttrStatus: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	}
	require.Eventually(t, func() bool { // a server takes a while to notice a namespace
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: opts.Namespace, SearchAttributes: attributes,
		})
		return err == nil
	}, recordPatience, time.Second)
	probe := client.StartWorkflowOptions{ID: "probe", TaskQueue: "probe", TypedSearchAttributes: temporal.NewSearchAttributes(
		temporal.NewSearchAttributeKeyKeyword(crawl.AttrStatus).ValueSet("probe"),
	)}
	require.Eventually(t, func() bool { // and to notice search attributes
		_, err := c.ExecuteWorkflow(ctx, probe, "probe")
		return err == nil
	}, recordPatience, time.Second)
	return c
}

// recorded is the history of an execution as JSON, an event a line, which keeps diffs
// readable.
func recorded(ctx context.Context, t *testing.T, c client.Client, id string) []byte {
	t.Helper()
	var lines [][]byte
	events := c.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		anonymize(event.ProtoReflect())
		text, err := protojson.Marshal(event)
		require.NoError(t, err)
		var line bytes.Buffer
		require.NoError(t, json.Compact(&line, text)) // protojson's spaces are random
		lines = append(lines, line.Bytes())
	}
	return slices.Concat([]byte("{\"events\":[\n"), bytes.Join(lines, []byte(",\n")), []byte("\n]}\n"))
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
