package report_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestTotals(t *testing.T) {
	t.Parallel()
	totals := report.Totals{
		Success: 1, BlockedRobots: 2, Blocked4xx: 4, Blocked5xx: 8, Timeout: 16, Failed: 32, Skipped: 64, Bytes: 128, RequestCount: 256,
	}
	require.EqualValues(t, 256, totals.Requests(), "what is closed without a request is not counted")
	require.EqualValues(t, 1+2+4+8+16+32+64, totals.Attempts())
	require.Zero(t, report.Totals{}.Attempts())
	totals.Success = 10
	totals.Skips = map[reasons.Reason]int64{reasons.Parked: 2, reasons.Empty: 1, reasons.WallAnubis: 4, reasons.Fresh: 8}
	require.EqualValues(t, 7, totals.WithContent(), "walls and skipped pages are no success")
}

func TestTotalsSince(t *testing.T) {
	t.Parallel()
	before := report.Totals{
		Success: 1, BlockedRobots: 2, Blocked4xx: 3, Blocked5xx: 4, Timeout: 5, Failed: 6, Skipped: 7, Bytes: 8, RequestCount: 9, NoFollow: 10,
		ImagesFound: 11, ImageRequests: 12, ImagesStored: 13,
		Skips: map[reasons.Reason]int64{reasons.Fresh: 4, reasons.Trap: 3},
	}
	for _, v := range reflect.ValueOf(before).Fields() {
		require.False(t, v.IsZero(), "set every field")
	}
	after := before
	after.Success, after.RequestCount = 11, 20
	after.Skips = map[reasons.Reason]int64{reasons.Fresh: 4, reasons.Trap: 5}
	require.Equal(t, report.Totals{Success: 10, RequestCount: 11, Skips: map[reasons.Reason]int64{reasons.Trap: 2}}, after.Since(before))
	require.Zero(t, before.Since(before))
}

// TestProgressJSON holds the format that scripts read from --json.
func TestProgressJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 21, 7, 28, 0, 0, time.UTC)
	data, err := json.Marshal(report.Progress{
		Run: crawl.Run{
			ID: 7, Name: "small-web", Status: crawl.RunRunning, StartedAt: at,
			Settings: settings.Settings{Delay: new(settings.Duration(time.Second))},
		},
		Totals:  report.Totals{Success: 1, BlockedRobots: 2, Blocked4xx: 3, Blocked5xx: 4, Timeout: 5, Failed: 6, Skipped: 14, Bytes: 7, RequestCount: 19},
		Domains: 8, SeedDomains: 9, Active: 10, Pending: 11, InFlight: 12, Deferred: 13, Due: 15, KeywordsWaiting: 17,
		NotDue:  []report.NotDue{{Reason: reasons.Paused, Domains: 16, Domain: "c.example", Until: at}},
		Waiting: []report.WaitingDomain{{Domain: "a.example", Reason: reasons.CrawlDelay, Until: at}},
		Detail: &report.Detail{
			Obstacles:     []report.Obstacle{{Name: "b.example", Domain: "b.example", State: report.ObstacleDeferred, Reason: "503", Until: at}},
			ObstacleTotal: 1,
		},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"run": "small-web", "status": "running", "settings": {"delay": "1s"}, "started_at": "2026-11-21T07:28:00Z",
		"success": 1, "blocked_robots": 2, "blocked_4xx": 3, "blocked_5xx": 4, "timeout": 5, "failed": 6, "skipped": 14, "bytes": 7, "requests": 19,
		"domains": 8, "seed_domains": 9, "workers": 0, "active_domains": 10, "pending": 11, "keywords_waiting": 17, "in_flight": 12, "deferred": 13, "due_domains": 15,
		"not_due": [{"reason": "paused", "domains": 16, "domain": "c.example", "until": "2026-11-21T07:28:00Z"}],
		"waiting": [{"domain": "a.example", "reason": "crawl-delay", "until": "2026-11-21T07:28:00Z"}],
		"obstacles": [{"name": "b.example", "domain": "b.example", "state": "deferred", "reason": "503", "until": "2026-11-21T07:28:00Z"}],
		"obstacles_total": 1
	}`, string(data))
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	require.Equal(t, 10*time.Second, report.Queue{Open: 100}.Estimate(10))
	require.Equal(t, 50*time.Second, report.Queue{Open: 100, MinRemaining: settings.Duration(50 * time.Second)}.Estimate(10))
	require.Zero(t, report.Queue{MinRemaining: settings.Duration(time.Hour)}.Estimate(10), "budgets allow no more")
	require.Zero(t, report.Queue{Open: 100}.Estimate(0))
	require.Positive(t, report.Queue{Open: 1 << 62}.Estimate(1e-9))
}
