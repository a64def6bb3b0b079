package activities_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// attemptLine is a line of the log about an attempt.
type attemptLine struct {
	Message string `json:"msg"`
	URL     string `json:"url"`
	Run     string `json:"run"`
	Domain  string `json:"domain"`
	Kind    string `json:"kind"`
	Crawl   int64  `json:"crawl"`
	Outcome string `json:"outcome"`
	Status  int    `json:"status"`
	Bytes   int64  `json:"bytes"`
	Wait    int64  `json:"wait_ms"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
	Trace   string `json:"trace_id"`
}

func attemptLines(t *testing.T, log string) (lines []attemptLine) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewBufferString(log)); d.More(); {
		var line attemptLine
		require.NoError(t, d.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

func TestAttemptsInTheLog(t *testing.T) {
	t.Parallel()
	for level, wanted := range map[slog.Level]int{slog.LevelDebug: 4, slog.LevelInfo: 0} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			b := setup(t, options{
				sites:    []web.Site{{Pages: -1, Plain: true, Robots: web.RobotsDisallow}},
				settings: settings.Settings{Delay: new(settings.Duration(20 * time.Millisecond))},
				logger:   slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level})),
			})
			b.seed(t, "/", "/private/1")
			b.readRobots(t)
			_, err := b.fetchPages(t, 10)
			require.NoError(t, err)
			b.run, err = b.store.EnsureRun(t.Context(), "second", "test", b.run.Settings)
			require.NoError(t, err)
			b.seed(t, "/")
			_, err = b.fetchPages(t, 10)
			require.NoError(t, err)

			lines := attemptLines(t, out.String())
			require.Len(t, lines, wanted, out.String())
			if wanted == 0 {
				return
			}
			for i := range lines {
				require.Equal(t, b.site, lines[i].Domain)
				require.Positive(t, lines[i].Crawl)
				lines[i].Crawl, lines[i].Domain = 0, ""
			}
			for i := range lines[:2] { // a slow machine has longer waits, for other reasons
				require.GreaterOrEqual(t, lines[i].Wait, int64(20))
				require.NotEmpty(t, lines[i].Reason)
				require.Positive(t, lines[i].Bytes)
				lines[i].Wait, lines[i].Reason, lines[i].Bytes = 0, "", 0
			}
			require.Equal(t, []attemptLine{
				{"requested", b.page("/robots.txt"), runName, "", "robots", 0, "success", 200, 0, 0, "", "", ""},
				{"requested", b.page("/"), runName, "", "page", 0, "success", 200, 0, 0, "", "", ""},
				{"not requested", b.page("/private/1"), runName, "", "page", 0, "blocked_robots", 0, 0, 0, "", "robots.txt line 3: Disallow: /private/", ""},
				{"not requested", b.page("/"), "second", "", "page", 0, "skipped", 0, 0, 0, "min-refetch", "", ""},
			}, lines)
		})
	}
}
