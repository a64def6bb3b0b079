package politeness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
)

func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, time.November, 27, 12, 0, 0, 0, time.UTC)
	var h crawl.Health
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second).Local() }
	require.Zero(t, politeness.LastOtherOriginAnswer(h, "a"))
	h = politeness.ObserveOrigin(h, "a", true, at(1))
	require.Zero(t, politeness.LastOtherOriginAnswer(h, "a"), "it is no other origin")
	require.Equal(t, at(1), politeness.LastOtherOriginAnswer(h, "b"))
	for i, o := range []string{"b", "c", "d", "b"} {
		h = politeness.ObserveOrigin(h, o, true, at(2+i))
	}
	require.Len(t, h.AnsweringOrigins, politeness.AnsweringMax)
	require.Equal(t, at(5), politeness.LastOtherOriginAnswer(h, "d"))
	require.Equal(t, at(4), politeness.LastOtherOriginAnswer(h, "b"))
	before := h
	h = politeness.ObserveOrigin(h, "b", false, at(6))
	require.Equal(t, at(4), politeness.LastOtherOriginAnswer(h, "a"), "b has failed since")
	require.Len(t, before.AnsweringOrigins, politeness.AnsweringMax, "the old value is unchanged")
	h = politeness.ObserveOrigin(politeness.ObserveOrigin(h, "c", false, at(7)), "d", false, at(8))
	require.Zero(t, politeness.LastOtherOriginAnswer(h, "a"))
}
