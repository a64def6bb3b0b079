package workflows_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestSeedWorkflow(t *testing.T) {
	t.Parallel()

	t.Run("StoresTheSeedsThenStartsTheRunThenFiltersTheSeeds", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		delay := settings.Duration(time.Minute)
		counts := activities.StoreSeedsResult{Added: 3, Known: 2, Refused: 1, Example: "no URL"}
		s.seeds = []answer[activities.StoreSeedsResult]{says(counts)}
		s.filters = []answer[activities.FilterSeedsResult]{says(activities.FilterSeedsResult{Disallowed: 2})}
		in := workflows.SeedInput{Run: runName, URLs: []string{page}, Settings: settings.Settings{Delay: &delay}}
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, in)
		var res workflows.SeedResult
		require.NoError(t, s.env.GetWorkflowResult(&res))
		require.Equal(t, workflows.SeedResult{
			StoreSeedsResult: counts, FilterSeedsResult: activities.FilterSeedsResult{Disallowed: 2},
		}, res)
		require.Equal(t, []string{"StoreSeeds", "StartCrawl", "FilterSeeds"}, s.names())
		require.Equal(t, activities.StoreSeedsInput{Run: runName, URLs: in.URLs, Settings: in.Settings}, s.calls[0].in)
		require.Equal(t, activities.StartCrawlInput{Run: runName}, s.calls[1].in)
		require.Equal(t, activities.FilterSeedsInput{Run: runName, Wake: true}, s.calls[2].in)
	})

	t.Run("NeedsNoURLsWhereTheRunIsThere", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, json.RawMessage(`{"run":"small-web","settings":{"delay":"20s"}}`))
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"StoreSeeds", "StartCrawl", "FilterSeeds"}, s.names())
	})

	t.Run("NeedsNoURLsWhereSeedsAreStaged", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, workflows.SeedInput{Run: runName, Staged: true})
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"StoreSeeds", "StartCrawl", "FilterSeeds"}, s.names())
	})

	t.Run("WaitsOutInternalFailures", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.seeds = []answer[activities.StoreSeedsResult]{fails[activities.StoreSeedsResult](errors.New("the database is down"))}
		s.others = []answer[none]{fails[none](errors.New("the database is down"))}
		s.filters = []answer[activities.FilterSeedsResult]{fails[activities.FilterSeedsResult](errors.New("the database is down"))}
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, workflows.SeedInput{Run: runName, URLs: []string{page}})
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{
			"StoreSeeds", "StoreSeeds", "StartCrawl", "StartCrawl", "FilterSeeds", "FilterSeeds",
		}, s.names())
	})

	t.Run("DoesNotStartARunWhoseSeedsWereRefused", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.seeds = []answer[activities.StoreSeedsResult]{fails[activities.StoreSeedsResult](
			temporal.NewNonRetryableApplicationError("refused", activities.TypeBadInput, nil))}
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, workflows.SeedInput{Run: runName, URLs: []string{page}})
		require.Error(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"StoreSeeds"}, s.names())
	})
}

func TestSeedWorkflowRefusesBadInput(t *testing.T) {
	t.Parallel()

	// as it is written on the command line of the temporal CLI
	for name, c := range map[string]struct{ input, says string }{
		"NoRun":          {`{"urls":["https://example.org/"]}`, "run: a name is needed"},
		"RunWithASlash":  {`{"run":"a/b","urls":["https://example.org/"]}`, `run "a/b"`},
		"NotAURL":        {`{"run":"small-web","urls":["https://example.org/","mailto:me@example.org"]}`, "…@example.org"},
		"Credentials":    {`{"run":"small-web","urls":["https://user:secret@example.org/"]}`, `"https://…@example.org/": user names and passwords are refused`},
		"BadSetting":     {`{"run":"small-web","urls":["https://example.org/"],"settings":{"max_attempts":0}}`, "max_attempts 0: want 1 to 20"},
		"UnknownField":   {`{"run":"small-web","urls":["https://example.org/"],"delay":"10s"}`, `unknown field "delay"`},
		"UnknownSetting": {`{"run":"small-web","urls":["https://example.org/"],"settings":{"dely":"10s"}}`, `unknown setting "dely"`},
		"BadDuration":    {`{"run":"small-web","urls":["https://example.org/"],"settings":{"delay":5}}`, `delay 5: want text such as "10s"`},
		"BadType":        {`{"run":5,"urls":["https://example.org/"]}`, "run: want a string, not the number"},
		"NoObject":       {`"small-web"`, "want an object, not a string"},
		"BadScope":       {`{"run":"small-web","urls":["https://example.org/"],"settings":{"scope":"all"}}`, `scope "all"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.env.ExecuteWorkflow(workflows.SeedWorkflowName, json.RawMessage(c.input))
			var failure *temporal.ApplicationError
			require.ErrorAs(t, s.env.GetWorkflowError(), &failure)
			require.Equal(t, activities.TypeBadInput, failure.Type())
			require.NotContains(t, failure.Error(), "secret")
			require.True(t, failure.NonRetryable())
			require.Contains(t, failure.Message(), c.says)
			require.Empty(t, s.calls, "nothing may be stored")
		})
	}
}
