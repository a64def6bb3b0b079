package recrawl_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

var told = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func TestAPingMakesAPageDueAtOnce(t *testing.T) {
	t.Parallel()
	last := told.Add(-2 * day)
	require.Equal(t, last.Add(recrawl.First), recrawl.Due(last, recrawl.History{}, 1, recrawl.Plan{}))
	h := recrawl.History{}.Tell(told, "indexnow", 2*day, recrawl.Source{})
	require.Equal(t, told, recrawl.Due(last, h, 1, recrawl.Plan{}), "news of an unknown source are believed")
	require.Zero(t, h.Listed, "no list was read")
	require.False(t, h.News)

	again := h.Tell(told.Add(day), "recrawl", 3*day, recrawl.Source{})
	require.Equal(t, told, recrawl.Due(last, again, 1, recrawl.Plan{}), "the first ping counts")
	require.Equal(t, told.Add(day).Unix(), again.Ping.At, "the last one is shown")

	after := h.Visit(recrawl.Visit{Found: recrawl.Changed, Since: 2 * day})
	require.Equal(t, &recrawl.Ping{At: told.Unix(), By: "indexnow"}, after.Ping, "it is used up, and remembered")
	require.Equal(t, h, h.Visit(recrawl.Visit{Found: recrawl.Failed, Since: 2 * day}), "a failed visit uses up nothing")
	require.Equal(t, 4*day-12*time.Hour, recrawl.Interval(after, 1, recrawl.Plan{}), "then the rule holds")
	require.Zero(t, recrawl.History{}.Tell(told, "indexnow", 0, recrawl.Source{}).Ping.Listed, "of a page that was not visited")
}

func TestAPingIsBelievedAsFarAsPingsWereRight(t *testing.T) {
	t.Parallel()
	visit := func(found recrawl.Found) recrawl.Visit { return recrawl.Visit{Found: found, Since: 2 * day} }
	pinged := recrawl.History{}.Tell(told, "indexnow", day, recrawl.Source{})

	var liar, honest, silent recrawl.Source
	for range 30 {
		liar = liar.VisitPings(pinged, visit(recrawl.Unchanged))
		honest = honest.VisitPings(pinged, visit(recrawl.Changed)).VisitPings(recrawl.History{}, visit(recrawl.Unchanged))
		silent = silent.VisitPings(recrawl.History{}, visit(recrawl.Changed))
	}
	require.Zero(t, liar.Told)
	require.Greater(t, liar.Alarms, 20.0)
	require.Greater(t, honest.Told, 20.0)
	require.Greater(t, honest.Quiet, 20.0)
	require.InDelta(t, 26, silent.Missed, 1, "changes without a ping count against pings, each in full")
	require.Zero(t, silent.Alarms)

	last := told.Add(-day)
	due := func(s recrawl.Source) time.Time {
		return recrawl.Due(last, recrawl.History{}.Tell(told, "indexnow", day, s), 1, recrawl.Plan{})
	}
	require.Equal(t, told, due(honest))
	require.Equal(t, last.Add(recrawl.First), due(liar), "who always pings in vain changes nothing")
}

func TestAPingDoesNotSpeakForLists(t *testing.T) {
	t.Parallel()
	pinged := recrawl.History{}.Tell(told, "indexnow", day, recrawl.Source{})
	v := recrawl.Visit{Found: recrawl.Changed, Since: 2 * day}
	require.Equal(t, recrawl.Source{}, recrawl.Source{}.Visit(pinged, v), "no list was read, and none was right or wrong")

	listed := pinged.Hint(recrawl.Hint{Since: 36 * time.Hour})
	require.Positive(t, recrawl.Source{}.Visit(listed, v).Missed, "a list that was read later did not know of the change")
	require.Equal(t, told, recrawl.Due(told.Add(-day), listed, 1, recrawl.Plan{}), "the ping is more credible than its silence")
}

func TestHistoryWithAPingIsStored(t *testing.T) {
	t.Parallel()
	h := recrawl.History{}.Tell(told, "indexnow", day, recrawl.Source{})
	data, err := json.Marshal(h)
	require.NoError(t, err)
	require.JSONEq(t, `{"ping": {"at": 1795262400, "by": "indexnow", "listed": 1, "odds": 2}}`, string(data))
	var back recrawl.History
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, h, back)
}
