package seed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestLive(t *testing.T) {
	t.Parallel()

	t.Run("ShowsTheLatestRequestsAndTheHint", func(t *testing.T) {
		t.Parallel()
		v, stdout, _ := newTestView(t, true, false)
		at := time.Date(2026, 11, 29, 5, 31, 7, 0, time.Local)
		v.progress(waiting(1), []report.LatestRequest{
			{URL: "https://a.example/one", Outcome: crawl.OutcomeSuccess, StatusCode: 200, Title: "The harbour\nwakes", CompletedAt: at},
			{URL: "https://b.example/two", Outcome: crawl.OutcomeTimeout, CompletedAt: at.Add(-time.Second)},
		})
		output.ContainsOnSameLine(t, stdout.String(), "latest   05:31:07 ok 200 https://a.example/one “The harbour wakes”")
		output.ContainsOnSameLine(t, stdout.String(), "         05:31:06 timeout https://b.example/two")
		require.Contains(t, stdout.String(), "\nCtrl-C stops the run; data is kept.\n")
	})

	t.Run("EstimatesTheRestOfARunThatFindsNoMore", func(t *testing.T) {
		t.Parallel()
		var l live
		now := time.Now()
		p := report.Progress{Run: crawl.Run{Settings: settings.Settings{}.WithDefaults()}}
		rest := func(done, pending int64) (int64, time.Duration, bool) {
			p.Success, p.Pending = done, pending
			now = now.Add(5 * time.Second)
			return l.rest(p, 2, now)
		}
		for _, known := range []int64{10, 20, 40, 80} {
			_, _, ok := rest(5, known)
			require.False(t, ok, "it still finds pages")
		}
		for range 3 {
			rest(35, 50)
		}
		left, took, ok := rest(45, 40)
		require.True(t, ok)
		require.EqualValues(t, 40, left)
		require.Equal(t, 20*time.Second, took)

		p.Settings.MaxPages, p.PagesStarted = new(int64(60)), 45
		left, took, _ = rest(45, 40)
		require.EqualValues(t, 15, left, "the limit ends the run sooner")
		require.Equal(t, 7500*time.Millisecond, took)

		p.Deferred = 1
		_, _, ok = rest(45, 40)
		require.False(t, ok, "a deferred page comes later")

		l, p.Deferred = live{}, 0
		left, _, ok = rest(45, 400)
		require.True(t, ok, "enough pages for the limit are known")
		require.EqualValues(t, 15, left)
	})

	t.Run("DrawsABar", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "░░░░░░░░░░░░░░░░░░░░ 0 %", bar(0, 9))
		require.Equal(t, "█████████████░░░░░░░ 66 %", bar(6, 9))
		require.Equal(t, "████████████████████ 100 %", bar(9, 9))
	})
}
