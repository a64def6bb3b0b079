package workflows_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/workflows"
)

var update = flag.Bool("update", false, "rewrite testdata/names.golden")

// registry takes down what is registered.
type registry struct {
	worker.WorkflowRegistry
	worker.ActivityRegistry

	n *names
}

// names are the lines of names.golden.
type names struct {
	lines []string
	seen  map[reflect.Type]bool
}

func (n *names) add(kind string, words ...string) {
	n.lines = append(n.lines, kind+" "+strings.Join(words, " "))
}

func (r registry) RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions) {
	f := reflect.TypeOf(w)
	r.n.add("workflow", o.Name, r.n.signature(f, 1))
}

// RegisterActivity does what the SDK does with a struct: each method is one.
func (r registry) RegisterActivity(a any) {
	for m := range reflect.TypeOf(a).Methods() {
		r.n.add("activity", m.Name, r.n.signature(m.Type, 2))
	}
}

// signature names the types that a function takes, but for its first few, and gives.
func (n *names) signature(f reflect.Type, skip int) string {
	var words []string
	for i := skip; i < f.NumIn(); i++ {
		words = append(words, n.typeName(f.In(i)))
	}
	words = append(words, "->")
	for t := range f.Outs() {
		if t != reflect.TypeFor[error]() {
			words = append(words, n.typeName(t))
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), " ->")
}

// typeName is a type's name. The fields of a struct become lines of their own.
func (n *names) typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return n.typeName(t.Elem()) + "s"
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return n.typeName(t.Elem())
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return jsonKind(t)
	}
	if n.seen[t] {
		return t.Name()
	}
	n.seen[t] = true
	n.fields(t.Name(), t)
	return t.Name()
}

func (n *names) fields(of string, t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported(), f.Tag.Get("json") == "-":
		case f.Anonymous && name == "":
			n.fields(of, f.Type) // as JSON has it
		case name == "":
			n.add("field", of+"."+f.Name, n.typeName(f.Type))
		default:
			n.add("field", of+"."+name, n.typeName(f.Type))
		}
	}
}

// jsonKind returns the kind of JSON value for a type that is not a struct.
func jsonKind(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return "anything"
	}
	if t.Kind() == reflect.Map {
		return "object of " + jsonKind(t.Elem()) + "s"
	}
	if t.Kind() == reflect.Slice {
		return jsonKind(t.Elem()) + "s"
	}
	text, err := json.Marshal(reflect.Zero(t).Interface())
	switch {
	case err != nil:
		return err.Error()
	case text[0] == '"':
		return "string"
	case text[0] == 't', text[0] == 'f':
		return "boolean"
	default:
		return "number"
	}
}

// TestNames holds fast what histories, schedules, other versions' workers and
// people's scripts know of Mosey.
func TestNames(t *testing.T) {
	t.Parallel()
	n := &names{seen: map[reflect.Type]bool{}}
	r := registry{n: n}
	workflows.Register(r)
	activities.Register(r, nil)
	message := func(kind, name string, payload any) {
		words := []string{name}
		if payload != nil {
			words = append(words, n.typeName(reflect.TypeOf(payload)))
		}
		n.add(kind, words...)
	}
	message("signal", workflows.SignalWake, workflows.Wake{})
	message("update", workflows.UpdatePause, workflows.Pause{})
	message("update", workflows.UpdateResume, nil)
	message("update", workflows.UpdateStop, workflows.Stop{})
	message("update", workflows.UpdateSetDelay, workflows.SetDelay{})
	message("update", workflows.UpdateSetBudget, workflows.SetBudget{})
	message("update", workflows.UpdateSetWindow, workflows.SetWindow{})
	message("update", workflows.UpdateAddURLs, workflows.AddURLs{})
	message("query", workflows.QueryState, workflows.DomainState{})
	message("query", workflows.QueryStarted, nil)
	n.add("task-queue", crawl.TaskQueue)
	n.add("task-queue", crawl.ControlTaskQueue)
	attributes := workflows.SearchAttributes()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		n.add("search-attribute", name, attributes[name].String())
	}
	for _, status := range []string{
		workflows.StatusRunning, workflows.StatusCrawling, workflows.StatusWaiting, workflows.StatusGraylisted,
		workflows.StatusDeferred, workflows.StatusPaused, workflows.StatusFinished, workflows.StatusDone,
		workflows.StatusStopped, workflows.StatusFailed,
	} {
		n.add("status", status)
	}
	n.add("workflow-id", crawl.SeedWorkflowID("RUN", 1))
	n.add("workflow-id", crawl.CrawlWorkflowID("RUN"))
	n.add("workflow-id", crawl.DomainWorkflowID("DOMAIN"))
	n.add("workflow-id", crawl.DatabaseWorkflowID)
	for _, step := range []activities.Step{activities.StepFetch, activities.StepRobots, activities.StepFinish} {
		n.add("step", string(step))
	}
	for _, kind := range []kinds.Kind{kinds.Robots, kinds.TDM} {
		n.add("kind", string(kind))
	}
	for _, kind := range []crawl.ControlType{
		crawl.ControlPause, crawl.ControlStop, crawl.ControlDelay, crawl.ControlBudget, crawl.ControlWindow,
	} {
		n.add("control", string(kind))
	}
	for _, decides := range []reasons.Reason{
		reasons.Scheduled, reasons.Window, reasons.Paused, reasons.Stopped, reasons.Blocked,
		reasons.Deferred, reasons.Graylist, reasons.RetryAfter, reasons.Backoff, reasons.Robots,
	} {
		n.add("reason", string(decides))
	}
	n.add("error-type", activities.TypeBadInput)
	n.add("error-type", activities.TypeInternalFailure)
	n.add("error-type", activities.TypeSiteFailure)
	n.add("error-type", workflows.TypeUnavailable)

	slices.Sort(n.lines)
	got := strings.Join(n.lines, "\n") + "\n"
	golden := filepath.Join("testdata", "names.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, `these names are an on-disk format: histories that are
under way hold them, and so do schedules, scripts and workers of other versions.
To rename or remove one is a migration (workflow.GetVersion, or both names for a
release). To add one is none: go test ./workflows -run TestNames -update`)
}

// TestEveryHandlerIsNamed checks that the golden file names every update and query that a workflow
// handles.
func TestEveryHandlerIsNamed(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join("testdata", "names.golden"))
	require.NoError(t, err)
	known := strings.Split(string(golden), "\n")
	var handlers []string
	s := setup(t)
	s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
	s.after(time.Minute, func() {
		v, err := s.env.QueryWorkflow("__temporal_workflow_metadata")
		require.NoError(t, err)
		var meta sdkpb.WorkflowMetadata
		require.NoError(t, v.Get(&meta))
		for _, d := range meta.GetDefinition().GetUpdateDefinitions() {
			handlers = append(handlers, "update "+d.GetName())
			require.NotEmpty(t, d.GetDescription(), "people read it in Temporal's UI")
		}
		for _, d := range meta.GetDefinition().GetQueryDefinitions() {
			if !strings.HasPrefix(d.GetName(), "__") {
				handlers = append(handlers, "query "+d.GetName())
			}
		}
	})
	s.finished()
	require.Len(t, handlers, 8)
	for _, h := range handlers {
		require.True(t, slices.ContainsFunc(known, func(line string) bool {
			return line == h || strings.HasPrefix(line, h+" ")
		}), h)
	}
}
