package main

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
)

// keyLine is the line of a new key.
func keyLine(id string) string {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return id + " " + base64.StdEncoding.EncodeToString(key) + "\n"
}

// readable are the texts of a message but for search attributes, and the ids of workflows and what else
// docs/security.md says that Temporal's operator sees.
func readable(m protoreflect.Message, into *strings.Builder) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch name := f.Name(); {
		case name == "search_attributes" || name == "workflow_id":
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				readableValue(f.MapValue(), v, into)
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				readableValue(f, v.List().Get(i), into)
			}
		default:
			readableValue(f, v, into)
		}
		return true
	})
}

func readableValue(f protoreflect.FieldDescriptor, v protoreflect.Value, into *strings.Builder) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		readable(v.Message(), into)
	case protoreflect.StringKind:
		into.WriteString(v.String() + "\n")
	case protoreflect.BytesKind:
		into.Write(v.Bytes())
		into.WriteString("\n")
	default:
	}
}

// stored is all that Temporal has of the workflows of a harness, as its operator reads it.
func stored(t *testing.T, c client.Client, namespace string) (text string, events int) {
	t.Helper()
	var all strings.Builder
	list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	require.NoError(t, err)
	for _, w := range list.GetExecutions() {
		readable(w.ProtoReflect(), &all)
		id, run := w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId()
		d, err := c.DescribeWorkflowExecution(t.Context(), id, run)
		require.NoError(t, err)
		readable(d.ProtoReflect(), &all)
		history := c.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for history.HasNext() {
			event, err := history.Next()
			require.NoError(t, err)
			readable(proto.Message(event).ProtoReflect(), &all)
			events++
		}
	}
	schedules, err := c.WorkflowService().ListSchedules(t.Context(), &workflowservice.ListSchedulesRequest{Namespace: namespace})
	require.NoError(t, err)
	for _, s := range schedules.GetSchedules() {
		readable(s.ProtoReflect(), &all)
		d, err := c.WorkflowService().DescribeSchedule(t.Context(), &workflowservice.DescribeScheduleRequest{
			Namespace: namespace, ScheduleId: s.GetScheduleId(),
		})
		require.NoError(t, err)
		readable(d.ProtoReflect(), &all)
	}
	return all.String(), events
}

// troubled is a site whose answers bring errors, retries and waits into histories.
func troubled(t *testing.T) site {
	t.Helper()
	return site{web.StartT(t, web.Options{CrossLinks: -1, Sites: []web.Site{{
		Pages: 6, Plain: true, Paths: map[string]web.Behaviour{
			"/robots.txt": web.Flaky{First: 1, Code: 503, RetryAfter: time.Second},
			"/p/1":        web.Flaky{First: 1, Code: 429, RetryAfter: time.Second},
			"/p/3":        web.Status{Code: 500},
		},
	}}})}
}

// What Temporal stores of a crawl tells nothing of it, but for the ids of workflows and search
// attributes. Without a key the same crawl tells what was asked, and what the site answered.
func TestPayloadsAreEncrypted(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{false, true} {
		name := map[bool]string{false: "NotWithoutAKey", true: "WithAKey"}[encrypted]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := newHarnessWithStack(t)
			if encrypted {
				h.Setenv("MOSEY_PAYLOAD_KEYS", h.WriteFile("payload.keys", keyLine("k1")))
			}
			s := troubled(t)
			r := h.Execute(s.crawl(s.Seeds()[0], "--run", "troubled", "--delay", "100ms", "--set", "pages_per_activity=1",
				"--set", "graylist=0", "--set", "max_attempts=2")...)
			require.Zero(t, r.Code, r.Stderr)
			h.Print("schedule", "add", "nightly", "--run", "troubled", "--older-than", "1h", "--every", "24h")
			require.Contains(t, h.Print("schedule", "list"), "troubled", "its memo is read")
			require.Contains(t, h.Print("replay"), "all of them can go on")

			text, events := stored(t, h.client(), h.environ.Get("TEMPORAL_NAMESPACE"))
			require.Greater(t, events, 50)
			for _, told := range []string{"site-001.test", "/p/1", "http", "retry-after", "robots.txt", "troubled", "the database of"} {
				require.Equal(t, !encrypted, strings.Contains(text, told), "%q", told)
			}
			require.Equal(t, encrypted, strings.Contains(text, "binary/encrypted"))
			out := h.Print("doctor", "--only", "payloads")
			if !encrypted {
				output.ContainsOnSameLine(t, out, "ok", "payloads", "not encrypted")
				return
			}
			output.ContainsOnSameLine(t, out, "ok", "payloads", `encrypted with the key "k1"`)

			// whoever has not the key is told so, and does nothing
			h.Setenv("MOSEY_PAYLOAD_KEYS", "")
			const needed = `is encrypted with the key "k1", which is not given: add it to the file of --payload-keys`
			h.Fail(s.crawl(s.Seeds()[0], "--run", "troubled"), needed)
			h.Fail([]string{"up"}, needed)
			h.Fail([]string{"schedule", "list"}, needed)
			doctor := h.Execute("doctor", "--only", "payloads", "--only", "namespace")
			require.Equal(t, 1, doctor.Code)
			output.ContainsOnSameLine(t, doctor.Stdout, "fault", "payloads", `is encrypted with the key "k1"`)
			h.Setenv("MOSEY_PAYLOAD_KEYS", h.WriteFile("other.keys", keyLine("k1")))
			h.Fail([]string{"up"}, `another key than the "k1" that is given`)
		})
	}
}

// Encryption is turned on, and the key replaced, while a crawl runs that an outside client has begun in
// plain JSON. A worker that has not the new key harms no workflow, and ends.
func TestPayloadKeysChangeWhileACrawlRuns(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	const pages = 60
	s := newSite(t, 1, pages)
	up := func(keys string) *started {
		h.Setenv("MOSEY_PAYLOAD_KEYS", keys)
		w := h.Start(append([]string{"up"}, s.flags()...)...)
		w.Await("Ready.")
		return w
	}
	more := func(n int) {
		want := min(s.Requests()+n, pages)
		require.Eventually(t, func() bool { return s.Requests() >= want }, patience, 10*time.Millisecond)
	}
	first := up("")
	c := h.client()
	raw := converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data: []byte(`{"run":"long","urls":["` + s.Seeds()[0] +
			`"],"settings":{"delay":"700ms","ip_delay":"0s","latency_factor":0,"pages_per_activity":1}}`),
	})
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "seed/long/1", TaskQueue: crawl.TaskQueue}, "SeedWorkflow", raw)
	require.NoError(t, err)
	more(5)
	require.Zero(t, first.Stop().Code)

	one, two := keyLine("k1"), keyLine("k2")
	second := up(h.WriteFile("one.keys", one))
	more(5)
	third := up(h.WriteFile("two.keys", two+one))
	more(10)
	// it has been given tasks that it cannot read, and cannot go on
	r := second.Wait()
	require.Equal(t, 1, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, `is encrypted with the key "k2", which is not given`)

	require.Eventually(t, func() bool {
		run, err := store.Run(t.Context(), "long")
		return err == nil && run.Status == crawl.RunDone
	}, patience, 50*time.Millisecond)
	require.Zero(t, third.Stop().Code)
	asked := map[string]int{}
	for _, v := range s.Log().Pages() {
		asked[v.URL()]++
	}
	require.Len(t, asked, pages+1, "and its home page")
	require.Len(t, s.Log().Pages(), len(asked), "each was asked for once")
	failed, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: `ExecutionStatus = "Failed"`})
	require.NoError(t, err)
	require.Empty(t, failed.GetExecutions())
	text, _ := stored(t, c, h.environ.Get("TEMPORAL_NAMESPACE"))
	for _, key := range []string{"k1", "k2"} {
		require.Contains(t, text, "\n"+key+"\n")
	}
}

func TestPayloadKeysAreRefused(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	open := h.WriteFile("open.keys", keyLine("k1"))
	require.NoError(t, os.Chmod(open, 0o644))
	h.Refuse([]string{"--payload-keys", open, "up"}, "--payload-keys: ", "chmod 600")
	h.Refuse([]string{"--payload-keys", "/nowhere", "up"}, "--payload-keys: /nowhere: no such file")
	h.Refuse([]string{"--payload-keys", h.WriteFile("bad.keys", "k1 c2hvcnQ=\n"), "up"}, "line 1: the key has 5 bytes: want 32")
}
