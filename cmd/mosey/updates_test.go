package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/workflows"
)

// update sends raw JSON as the input of an update, as the temporal command does, or
// none if it is empty.
func (h *commandHarness) update(workflowID, name, input string) error {
	h.t.Helper()
	opts := client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	if input != "" {
		opts.Args = []any{json.RawMessage(input)}
	}
	handle, err := h.client().UpdateWorkflow(h.t.Context(), opts)
	if err != nil {
		return err
	}
	return handle.Get(h.t.Context(), nil)
}

// TestUpdates steers a domain as people do: through a real Temporal, with what they
// type.
func TestUpdates(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	const domain = "site-001.test"
	id := crawl.DomainWorkflowID(domain)
	c := h.Start(s.crawl(s.Seeds()[0], "--delay", "1h", "--when-done", "wait")...)
	wait.Until(t, func() bool { return len(s.Log()) > 0 }, patience, 5*time.Millisecond)
	controls := func() map[crawl.ControlType]string {
		d, err := store.Domain(t.Context(), domain)
		require.NoError(t, err)
		set := map[crawl.ControlType]string{}
		for _, c := range d.Controls {
			set[c.Type] = string(c.Value)
		}
		return set
	}

	require.NoError(t, h.update(id, workflows.UpdateSetDelay, `{"delay":"2h"}`))
	require.NoError(t, h.update(id, workflows.UpdateSetBudget, `{"max_pages":9}`))
	require.NoError(t, h.update(id, workflows.UpdateSetWindow, `{"window":"Mon-Sun 00:00-24:00 UTC"}`))
	set := map[crawl.ControlType]string{
		crawl.ControlDelay: "7200000", crawl.ControlBudget: "9", crawl.ControlWindow: `"Mon-Sun 00:00-24:00 UTC"`,
	}
	require.Equal(t, set, controls())

	for name, inputs := range map[string][]string{
		workflows.UpdateSetDelay:  {"", `{"dely":"60s"}`, `{}`},
		workflows.UpdateSetBudget: {"", `{"max-pages":5}`, `{}`},
		workflows.UpdateSetWindow: {"", `{"windows":"Mon 00:00-01:00 UTC"}`, `{}`},
		workflows.UpdatePause:     {"", `{"till":"2030-12-01T06:00:00Z"}`},
		workflows.UpdateStop:      {"", `{"reson":"x"}`},
	} {
		for _, input := range inputs {
			require.ErrorContains(t, h.update(id, name, input), "want {", "%s %s", name, input)
		}
	}
	require.Equal(t, set, controls(), "what is refused changes nothing")

	require.NoError(t, h.update(id, workflows.UpdateSetDelay, `{"delay":null}`))
	require.NoError(t, h.update(id, workflows.UpdateSetBudget, `{"max_pages":null}`))
	require.NoError(t, h.update(id, workflows.UpdateSetWindow, `{"window":null}`))
	require.Empty(t, controls())
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
}
