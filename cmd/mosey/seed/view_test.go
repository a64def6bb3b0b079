package seed

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/test/output"
)

// newTestView is a view and what it prints.
func newTestView(t *testing.T, terminal, asJSON bool) (v *view, stdout, stderr *output.Buffer) {
	t.Helper()
	stdout, stderr = &output.Buffer{}, &output.Buffer{}
	v = newView(&command.Env{Stdout: stdout, Stderr: stderr, Terminal: terminal}, asJSON)
	v.begin(crawl.Run{Name: "small-web", Settings: settings.Settings{}.WithDefaults()}, addresses{temporal: "http://127.0.0.1:8233"}, 2, report.Progress{}, false)
	return v, stdout, stderr
}

func TestPlan(t *testing.T) {
	t.Parallel()
	of := func(set settings.Settings) crawl.Run {
		return crawl.Run{Name: "small-web", Settings: set.WithDefaults()}
	}
	require.Equal(t, []string{
		"Run small-web: 2 seeds, delay 10s, scope seeds",
		"No page limit (--max-pages N sets one). Ctrl-C stops the run; data is kept.",
	}, plan(of(settings.Settings{}), 2, report.Progress{}, false))
	require.Equal(t, "Resuming small-web: 442 pages done, 725 pending, delay 10s, scope seeds",
		plan(of(settings.Settings{}), 0, report.Progress{Totals: report.Totals{Success: 442}, Pending: 725}, false)[0])
	require.Equal(t, []string{
		"Run small-web: 1 seed, delay 1s, scope web",
		"Settings: max_depth=2 skip=none max_pages=9",
		"Ctrl-C ends this command; the run continues.",
	}, plan(of(settings.Settings{
		Delay: new(settings.Duration(time.Second)), Scope: new(settings.ScopeWeb), MaxPages: new(int64(9)), MaxDepth: new(2), Skip: &[]string{},
	}), 1, report.Progress{}, true))
}

// waiting is the progress of a run that has done so many pages and waits for many
// domains.
func waiting(pages int64) report.Progress {
	p := report.Progress{
		Run:    crawl.Run{Name: "small-web", Status: crawl.RunRunning},
		Totals: report.Totals{Success: pages, RequestCount: pages, Bytes: 1500}, Domains: 10, Active: 1, Pending: 1,
	}
	for range 10 {
		p.Waiting = append(p.Waiting, report.WaitingDomain{
			Domain: strings.Repeat("long.", 20) + "example", Reason: reasons.Delay, Until: time.Now().Add(time.Hour),
		})
	}
	return p
}

// On a narrow terminal nothing is lost but what is too long for any line.
func TestWrap(t *testing.T) {
	t.Parallel()
	const line = "domains  41 active of 1053 found; 655 pages pending, 4 in flight, 12 deferred"
	require.Equal(t, []string{line}, command.Wrap(line, 100, labelWidth))
	require.Equal(t, []string{
		"domains  41 active of 1053 found; 655 pages pending, 4 in", "         flight, 12 deferred",
	}, command.Wrap(line, 60, labelWidth))
	require.Equal(t, []string{"waiting  " + strings.Repeat("x", 49) + "…", "         for 1h"},
		command.Wrap("waiting  "+strings.Repeat("x", 90)+" for 1h", 60, labelWidth))
	require.Equal(t, []string{"100h20m10s 1 page"}, command.Wrap("100h20m10s 1 page", 60, labelWidth))
}

func TestView(t *testing.T) {
	t.Parallel()

	t.Run("OnATerminalIsDrawnOverAndFits", func(t *testing.T) {
		t.Parallel()
		v, stdout, stderr := newTestView(t, true, false)
		v.progress(waiting(1), nil)
		first := stdout.String()
		output.ContainsOnSameLine(t, first, "Temporal UI: http://127.0.0.1:8233")
		output.ContainsOnSameLine(t, first, "1 page, 1 request, 0.0 requests/s, 1.5 kB")
		output.ContainsOnSameLine(t, first, "domains  1 active of 10 found; 1 page pending, 0 in flight, 0 deferred")
		output.ContainsOnSameLine(t, first, "ui       http://127.0.0.1:8233")
		require.Equal(t, maxWaitsDrawn, strings.Count(first, "waiting  "))
		for line := range strings.Lines(first) {
			require.LessOrEqual(t, len([]rune(line)), 80, line)
		}
		v.progress(waiting(2), nil)
		require.Contains(t, stdout.String(), "\r\x1b[7A\x1b[J", "the drawing is cleared: 6 lines, one of them broken")
		v.note("a note")
		require.True(t, strings.HasSuffix(stdout.String(), "\x1b[J"), "a note stands above what is drawn next")
		require.Equal(t, "a note\n", stderr.String())
		before := stdout.String()
		v.close()
		require.Equal(t, before, stdout.String(), "nothing is drawn that would have to be cleared")
	})

	t.Run("ElsewhereIsALineNowAndThen", func(t *testing.T) {
		t.Parallel()
		v, stdout, _ := newTestView(t, false, false)
		v.progress(waiting(1), nil)
		v.progress(waiting(2), nil)
		output.ContainsOnSameLine(t, stdout.String(), "1 page, 1 request (0.0/s), 1 domain active, 1 pending, 0 in flight; 1 ok")
		require.NotContains(t, stdout.String(), "2 ok", "it is too early for another line")
		require.NotContains(t, stdout.String(), "waiting: ", "something moves")
		v.printedAt = time.Time{}
		v.progress(waiting(1), nil)
		output.ContainsOnSameLine(t, stdout.String(), "; 1 ok; waiting: long.", ".example for ", " (delay)")
	})

	t.Run("HasImagesWhereThereAreSome", func(t *testing.T) {
		t.Parallel()
		p := waiting(1)
		p.ImagesFound, p.ImageRequests, p.ImagesStored = 33, 21, 16
		v, stdout, _ := newTestView(t, true, false)
		v.progress(p, nil)
		output.ContainsOnSameLine(t, stdout.String(), "images   named 33 times, 21 requests, 16 recorded")
		v, stdout, _ = newTestView(t, false, false)
		v.progress(p, nil)
		output.ContainsOnSameLine(t, stdout.String(), "; 1 ok; images: named 33 times, 21 requests, 16 recorded\n")
		v.printedAt = time.Time{}
		p.ImageRequests++
		v.progress(p, nil)
		require.NotContains(t, stdout.String(), "waiting: ", "an image moves, too")
	})

	t.Run("AsJSONIsALineNowAndThen", func(t *testing.T) {
		t.Parallel()
		v, stdout, _ := newTestView(t, true, true)
		v.progress(waiting(1), nil)
		v.progress(waiting(2), nil)
		v.end(waiting(3))
		all := output.Lines[Event](t, stdout.String())
		require.Len(t, all, 3)
		require.Equal(t, "started", all[0].Event)
		require.EqualValues(t, 1, all[1].Success)
		require.Equal(t, "summary", all[2].Event)
		require.EqualValues(t, 3, all[2].Success)
	})

	t.Run("ThatCannotBeWrittenIsNoted", func(t *testing.T) {
		t.Parallel()
		stderr := &output.Buffer{}
		v := newView(&command.Env{Stdout: output.Broken{}, Stderr: stderr}, true)
		v.end(waiting(1))
		require.Equal(t, "mosey: the pipe is broken\n", stderr.String())
	})

	t.Run("LogsBesideWhatIsDrawn", func(t *testing.T) {
		t.Parallel()
		v, _, stderr := newTestView(t, true, false)
		(&command.Env{}).NewLogger(v, command.ErrorsOnly).Error("out of order")
		output.ContainsOnSameLine(t, stderr.String(), "level=ERROR", `msg="out of order"`)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
	})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	until := time.Unix(0, 0)
	p := waiting(3)
	p.Status, p.Reason, p.Deferred = crawl.RunStopped, "stopped from the command line", 1
	const took = 65_210 * time.Millisecond
	head := "Run small-web is stopped (from the command line) after 1m5.2s: 3 pages of 10 domains, 3 requests, 1.5 kB\n  3 ok\n"
	require.Equal(t, head+"  1 page left, 1 of them deferred\n", explain.Summary(p, p.Totals, took))

	p.Detail = &report.Detail{
		Obstacles: []report.Obstacle{
			{Name: "b.example", State: report.ObstacleDeferred, Reason: "retry-after", Until: until},
			{Name: "https://c.example", Domain: "c.example", State: report.ObstacleRobots, Reason: "answered 500", Until: until},
		},
		ObstacleTotal: 7,
		Forbidden: []report.ForbiddenDomain{{Domain: "d.example", Control: crawl.Control{
			Type: crawl.ControlPause, Reason: "a quiet night", SetBy: "ann", SetAt: until,
		}}},
		ForbiddenTotal:  1,
		NoFollowDomains: []string{"e.example"},
	}
	require.Equal(t, head+"  1 page left, 1 of them deferred\n"+
		"  b.example is deferred until "+explain.Stamp(until)+": retry-after\n"+
		"  https://c.example: robots.txt is unreachable. Mosey requests it again from "+explain.Stamp(until)+
		" on, or at once after mosey retry c.example: answered 500\n"+
		"  and 5 more: mosey status small-web lists them\n"+
		"  d.example: paused: set by ann on "+explain.Stamp(until)+": a quiet night\n"+
		"  e.example: its publisher forbids following links (nofollow) on every page read; mosey why URL shows the source\n",
		explain.Summary(p, p.Totals, took))

	p.Detail, p.Pending = nil, 0
	before := report.Totals{Success: 1, RequestCount: 1, Bytes: 500, Skipped: 1, Skips: map[reasons.Reason]int64{reasons.Trap: 1}}
	p.Skipped, p.BlockedRobots = 6, 2
	p.Skips = map[reasons.Reason]int64{reasons.Trap: 1, reasons.MinRefetch: 3, reasons.Fresh: 2}
	require.Equal(t, "Run small-web is stopped (from the command line) after 1m5.2s: 2 pages of 10 domains, 2 requests, 1.0 kB\n"+
		"  2 ok, 2 robots, 5 skipped\n"+
		"  3 pages skipped: min-refetch (fetched recently; --set min_refetch=0s fetches them anyway)\n"+
		"  2 pages skipped: fresh (their last responses are still fresh; mosey why URL shows until when)\n"+
		"  2 pages not requested: forbidden by robots.txt or another signal of their publisher (mosey why URL shows the line)\n"+
		"  all calls: 3 pages, 3 requests, 1.5 kB; 3 ok, 2 robots, 6 skipped\n",
		explain.Summary(p, p.Since(before), took))

	p.Skipped, p.BlockedRobots, p.ImagesFound, p.ImageRequests, p.ImagesStored = 0, 0, 33, 21, 16
	p.Skips = map[reasons.Reason]int64{reasons.ImageBudget: 12, reasons.ImagesOff: 1}
	before = report.Totals{Success: 2, RequestCount: 2, Bytes: 500, ImagesFound: 3, ImageRequests: 20}
	require.Equal(t, "Run small-web is stopped (from the command line) after 1m5.2s: 1 page of 10 domains, 1 request, 1.0 kB\n"+
		"  1 ok\n"+
		"  images: named 30 times, 1 request, 16 recorded\n"+
		"  12 images skipped: image-budget (over the image budget of their domain; raise max_images_per_domain to fetch them)\n"+
		"  1 image skipped: images-off (the run no longer fetches images; --images metadata fetches them)\n"+
		"  all calls: 3 pages, 3 requests, 1.5 kB; 3 ok; images: named 33 times, 21 requests, 16 recorded\n",
		explain.Summary(p, p.Since(before), took))
}

func TestWaitLine(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := report.WaitingDomain{Domain: "a.example", Reason: reasons.Delay, Until: now.Add(time.Second)}
	require.Equal(t, "a.example for 1s (delay)", explain.Wait(w, now))
	require.Equal(t, "a.example may be requested now", explain.Wait(w, now.Add(time.Second)))
	w.InFlight = true
	require.Equal(t, "a request to a.example is in flight", explain.Wait(w, now))
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "none yet", explain.Outcomes(report.Totals{}))
	require.Equal(t, "1 ok, 2 robots, 3 not found or forbidden, 4 server error, 5 timeout, 6 failed, 7 skipped",
		explain.Outcomes(report.Totals{
			Success: 1, BlockedRobots: 2, Blocked4xx: 3, Blocked5xx: 4, Timeout: 5, Failed: 6, Skipped: 7,
		}))
}

func TestFormat(t *testing.T) {
	t.Parallel()

	t.Run("Sizes", func(t *testing.T) {
		t.Parallel()
		for n, want := range map[int64]string{
			0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_500_000: "1.5 MB", 2_000_000_000_000_000_000: "2000.0 PB",
		} {
			require.Equal(t, want, explain.Size(n))
		}
	})

	t.Run("Counts", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "0 pages", explain.Count(0, "page"))
		require.Equal(t, "1 page", explain.Count(1, "page"))
		require.Equal(t, "-1 pages", explain.Count(-1, "page"))
	})

	t.Run("Widths", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "äöü", command.Fit("äöü", 4))
		require.Equal(t, "äö…", command.Fit("äöüß", 4))
		require.Equal(t, "…", command.Fit("äöüß", 1))
		require.Equal(t, 80, command.TerminalWidth(&output.Buffer{}))
		require.False(t, command.IsTerminal(&output.Buffer{}))
	})

	t.Run("Rates", func(t *testing.T) {
		t.Parallel()
		var r command.Rate
		now := time.Unix(0, 0)
		r.Add(now, -1)
		require.Zero(t, r.PerSecond())
		for second := range 21 {
			// 1 a second at first, then 3
			r.Add(now.Add(time.Duration(second)*time.Second), int64(second+2*max(second-10, 0)))
		}
		require.InDelta(t, 3, r.PerSecond(), 0.01, "of the last ten seconds")
	})
}
