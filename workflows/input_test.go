package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// The input of an update as people type it: what is not understood is refused, and
// says what would be.
func TestUpdateInputs(t *testing.T) {
	t.Parallel()

	const nothing = ""
	for name, c := range map[string]struct{ update, input, says string }{
		"DelayMistyped":     {workflows.UpdateSetDelay, `{"dely":"60s"}`, `unknown field "dely": want {"delay":"1m"}, or null`},
		"DelayMissing":      {workflows.UpdateSetDelay, `{}`, `delay is missing: want {"delay":"1m"}`},
		"DelayWithout":      {workflows.UpdateSetDelay, nothing, `the input is missing: want {"delay":"1m"}`},
		"DelayOfAnother":    {workflows.UpdateSetDelay, `{"delay":"1m","reason":"slow"}`, `unknown field "reason"`},
		"DelayANumber":      {workflows.UpdateSetDelay, `{"delay":60}`, `want text such as "10s"`},
		"DelayNoObject":     {workflows.UpdateSetDelay, `"60s"`, "want an object, not a string: want {"},
		"DelayNull":         {workflows.UpdateSetDelay, `null`, "delay is missing"},
		"BudgetMistyped":    {workflows.UpdateSetBudget, `{"max-pages":5}`, `unknown field "max-pages": want {"max_pages":200}`},
		"BudgetMissing":     {workflows.UpdateSetBudget, `{}`, "max_pages is missing"},
		"BudgetWithout":     {workflows.UpdateSetBudget, nothing, `the input is missing: want {"max_pages":200}`},
		"WindowMistyped":    {workflows.UpdateSetWindow, `{"windows":"Mon 00:00-06:00 UTC"}`, `unknown field "windows"`},
		"WindowMissing":     {workflows.UpdateSetWindow, `{}`, "window is missing"},
		"WindowWithout":     {workflows.UpdateSetWindow, nothing, `the input is missing: want {"window":`},
		"WindowEmpty":       {workflows.UpdateSetWindow, `{"window":""}`, "window"},
		"PauseMistyped":     {workflows.UpdatePause, `{"reason":"x","till":"2030-12-01T06:00:00Z"}`, `unknown field "till"`},
		"PauseMissing":      {workflows.UpdatePause, `{"until":"2030-12-01T06:00:00Z"}`, "reason is missing"},
		"PauseWithout":      {workflows.UpdatePause, nothing, `the input is missing: want {"reason":`},
		"PauseUntilNoTime":  {workflows.UpdatePause, `{"reason":"x","until":"tomorrow"}`, `"tomorrow": want a time such as 2030-12-01T06:00:00Z`},
		"PauseReasonNoText": {workflows.UpdatePause, `{"reason":5}`, "reason: want a string, not the number: want {"},
		"StopMistyped":      {workflows.UpdateStop, `{"reson":"x"}`, `unknown field "reson"`},
		"StopWithout":       {workflows.UpdateStop, nothing, `the input is missing: want {"reason":`},
		"URLsMistyped":      {workflows.UpdateAddURLs, `{"run":"small-web","url":["https://example.org/"]}`, `unknown field "url"`},
		"URLsWithoutAnyRun": {workflows.UpdateAddURLs, `{"urls":["https://example.org/"]}`, "run is missing"},
		"URLsWithout":       {workflows.UpdateAddURLs, nothing, `the input is missing: want {"run":`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Scheduled))}
			var args []any
			if c.input != nothing {
				args = append(args, json.RawMessage(c.input))
			}
			var o *outcome
			s.after(time.Minute, func() { o = s.update(c.update, args...) })
			s.finished()
			require.False(t, o.accepted)
			require.ErrorContains(t, o.refused, c.says)
			require.ErrorContains(t, o.refused, "invalid input: ")
			require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
		})
	}

	t.Run("OfARunsStop", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(activities.DispatchResult{NextIn: settings.Duration(time.Hour)})}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdateStop, json.RawMessage(`{"why":"enough"}`)) })
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
		require.False(t, o.accepted)
		require.ErrorContains(t, o.refused, `unknown field "why": want {"reason":`)
		require.NotContains(t, s.names(), "StopRun")
	})

	t.Run("NullTakesASettingBack", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(time.Minute, func() {
			s.mustUpdate(workflows.UpdateSetDelay, json.RawMessage(`{"delay":null}`))
			s.mustUpdate(workflows.UpdateSetBudget, json.RawMessage(`{"max_pages":null}`))
			s.mustUpdate(workflows.UpdateSetWindow, json.RawMessage(`{"Window":null}`))
		})
		s.finished()
		var kinds []crawl.ControlType
		for _, in := range inputs[activities.SetControlInput](s) {
			require.JSONEq(t, "null", string(in.Value))
			kinds = append(kinds, in.Type)
		}
		require.ElementsMatch(t, []crawl.ControlType{crawl.ControlDelay, crawl.ControlBudget, crawl.ControlWindow}, kinds)
	})
}

// The input of a workflow as people type it. What is wrong with it fails the workflow for good,
// in plain words, and nothing is done.
func TestWorkflowInputs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workflow, input, says string }{
		"SeedNoObject":     {workflows.SeedWorkflowName, `"small-web"`, "want an object, not a string"},
		"SeedURLsNoList":   {workflows.SeedWorkflowName, `{"run":"x","urls":"https://example.org/"}`, "urls: want a list, not a string"},
		"SeedRunNoText":    {workflows.SeedWorkflowName, `{"run":5}`, "run: want a string, not the number"},
		"SeedNested":       {workflows.SeedWorkflowName, `{"run":"x","settings":{"max_pages":"all"}}`, `max_pages "all": want a number`},
		"RecrawlNoObject":  {workflows.RecrawlWorkflowName, `["small-web"]`, "want an object, not a list"},
		"RecrawlAgeNoText": {workflows.RecrawlWorkflowName, `{"run":"x","older_than":720}`, `want text such as "10s"`},
		"CrawlNoObject":    {workflows.CrawlWorkflowName, `"small-web"`, "want an object, not a string"},
		"CrawlWithoutRun":  {workflows.CrawlWorkflowName, `{}`, "run: a name is needed"},
		"DomainNoText":     {workflows.DomainWorkflowName, `{"domain":5}`, "domain: want a string, not the number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.env.ExecuteWorkflow(c.workflow, json.RawMessage(c.input))
			require.True(t, s.env.IsWorkflowCompleted())
			var failure *temporal.ApplicationError
			require.ErrorAs(t, s.env.GetWorkflowError(), &failure)
			require.Equal(t, activities.TypeBadInput, failure.Type())
			require.True(t, failure.NonRetryable())
			require.Contains(t, failure.Message(), c.says)
			require.NotRegexp(t, `json:|unmarshal|Go |workflows\.|activities\.|plain`, failure.Message())
			require.Empty(t, s.names())
		})
	}
}
