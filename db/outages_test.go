package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestOutages(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	list := func() []crawl.Outage {
		all, err := s.Outages(t.Context())
		require.NoError(t, err)
		return all
	}
	require.Empty(t, list())
	began := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	first := crawl.Outage{Worker: "first", Since: began, Reason: "nothing answers"}
	second := crawl.Outage{Worker: "second", Since: began.Add(time.Minute), Reason: "nor here"}
	for _, o := range []crawl.Outage{second, first, first} {
		require.NoError(t, s.SaveOutage(t.Context(), o))
	}
	all := list()
	require.Len(t, all, 2)
	require.Equal(t, "first", all[0].Worker)
	require.True(t, began.Equal(all[0].Since))
	require.Equal(t, "nothing answers", all[0].Reason)

	first.Ended = time.Now()
	require.NoError(t, s.SaveOutage(t.Context(), first))
	require.Len(t, list(), 1)
	_, err := s.Pool().Exec(t.Context(), "UPDATE outages SET seen_at = seen_at - interval '3 minutes' WHERE worker = 'second'")
	require.NoError(t, err)
	require.Empty(t, list(), "one whose worker says nothing any more")
}
