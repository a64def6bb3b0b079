package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestRecrawlWorkflow(t *testing.T) {
	t.Parallel()

	t.Run("MakesPagesPendingThenStartsTheRun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.recrawls = []answer[activities.RecrawlResult]{says(activities.RecrawlResult{Pending: 3})}
		in := activities.RecrawlInput{Run: runName, OlderThan: settings.Duration(time.Hour), Domain: "example.org"}
		s.env.ExecuteWorkflow(workflows.RecrawlWorkflowName, in)
		var res activities.RecrawlResult
		require.NoError(t, s.env.GetWorkflowResult(&res))
		require.Equal(t, 3, res.Pending)
		require.Equal(t, []string{"Recrawl", "StartCrawl"}, s.names())
		require.Equal(t, in, s.calls[0].in)
		require.Equal(t, activities.StartCrawlInput{Run: runName}, s.calls[1].in)
	})

	t.Run("LeavesTheRunAloneWhereNothingIsOld", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.ExecuteWorkflow(workflows.RecrawlWorkflowName, activities.RecrawlInput{Run: runName, OlderThan: 1})
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"Recrawl"}, s.names())
	})

	for text, want := range map[string]string{
		`{}`:                         "run: a name is needed",
		`{"run":"a"}`:                "older_than: want a positive duration, such as 720h",
		`{"run":"a","older_than":3}`: "duration 3: want text",
	} {
		t.Run("Refuses "+text, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.env.ExecuteWorkflow(workflows.RecrawlWorkflowName, json.RawMessage(text))
			require.ErrorContains(t, s.env.GetWorkflowError(), want)
			var app *temporal.ApplicationError
			if want != "duration 3: want text" {
				require.ErrorAs(t, s.env.GetWorkflowError(), &app)
				require.Equal(t, activities.TypeBadInput, app.Type())
			}
		})
	}
}
