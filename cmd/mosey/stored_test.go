package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// readable writes the texts of a message, without search attributes and workflow ids.
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
