package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// A domain's workflow is started without a signal, and woken if it runs.
func TestStartDomain(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	c := h.client()
	starter := workflows.Starter{Client: c, PageURL: "http://127.0.0.1:8470"}
	require.NoError(t, starter.StartDomain(t.Context(), "example.org", "small-web", settings.PagesPerActivityAuto))
	require.Empty(t, wakes(t, c))
	first, err := c.GetWorkflowHistory(t.Context(), crawl.DomainWorkflowID("example.org"), "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
	require.NoError(t, err)
	var details string
	require.NoError(t, converter.GetDefaultDataConverter().FromPayload(first.GetUserMetadata().GetDetails(), &details))
	require.Equal(t, "[Mosey's page of this domain](http://127.0.0.1:8470/domains/example.org)", details)
	require.NoError(t, starter.StartDomain(t.Context(), "example.org", "other", 50))
	require.NoError(t, starter.StartDomain(t.Context(), "example.org", "small-web", settings.PagesPerActivityAuto))
	require.Equal(t, []workflows.Wake{{PagesPerActivity: 50}, {PagesPerActivity: -1}}, wakes(t, c))
}

// wakes are the signals in the history of example.org.
func wakes(t *testing.T, c client.Client) (all []workflows.Wake) {
	t.Helper()
	events := c.GetWorkflowHistory(t.Context(), crawl.DomainWorkflowID("example.org"), "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if signal := event.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
			var w workflows.Wake
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &w))
			all = append(all, w)
		}
	}
	return all
}
