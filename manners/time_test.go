package manners_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
)

const (
	fourPages  = "/ /p1 /p2 /p3"
	beforeKill = "/robots.txt +1.1s / +1.1s /p1 +1.1s /p2 +1.1s /p3"
)

func gapPlots() []plotted {
	return []plotted{
		{id: "time-gap", good: inARow("+1.1s", fourPages), bad: "/ +1.1s /p1 +0.8s /p2", reason: "after /p1, want 1s"},
		{id: "time-gap-robots", good: "/robots.txt +1s /", bad: "/robots.txt /", reason: "after /robots.txt, want 1s"},
		{id: "time-head", good: "HEAD:/ +1s /", bad: "HEAD:/ / +1s /p1", reason: "want 1s"},
		{id: "time-assets", good: inARow("+1s", "/ /style.css /image/1"), bad: "/ /image/1 /image/2", reason: "/image/1 was requested"},
		{
			id: "time-address", good: inARow("+1s", "/ time-address-2.test/ /p1"), bad: "/ +0.5s time-address-2.test/",
			reason: "want 1s",
		},
		{id: "time-one", good: inARow("+1s", "/p1 /p2"), bad: "/p1 -200ms /p2", reason: "before the end of /p1"},
		{id: "time-slow", good: inARow("+1s", "/p1 /p2"), bad: "/p1 -500ms /p2", reason: "before the end of /p1"},
		{id: "time-slower", good: inARow("+1s", "/p1 /p2 /p3"), bad: "/p1 +1s /p2 -300ms /p3", reason: "before the end of /p2"},
		{id: "time-redirect", good: "/go/1 +1s /to/1", bad: "/go/1 /to/1", reason: "/to/1 was requested"},
		{
			id: "time-redirect-host", good: "time-redirect-host-2.test/ /go/1 +1s time-redirect-host-2.test/to/1",
			bad: "time-redirect-host-2.test/ /go/1 +0.5s time-redirect-host-2.test/to/1", reason: "want 1s",
		},
		{id: "crawl-delay", good: inARow("+3s", fourPages), bad: inARow("+2.5s", fourPages), reason: "want 3s"},
		{id: "crawl-delay-fraction", good: inARow("+2.5s", fourPages), bad: inARow("+2s", fourPages), reason: "want 2.5s"},
		{id: "crawl-delay-own", good: inARow("+3s", fourPages), bad: inARow("+1.1s", fourPages), reason: "want 3s"},
		{id: "crawl-delay-day", good: "/robots.txt / +11s", bad: "/robots.txt / +3s /p1", reason: "want 10s"},
		{id: "crawl-delay-garbage", good: inARow("+1s", fourPages), bad: inARow("+0s", fourPages), reason: "want 1s"},
		{id: "crawl-delay-negative", good: inARow("+1s", fourPages), bad: inARow("+0s", fourPages), reason: "want 1s"},
	}
}

func retryPlots() []plotted {
	var cases []plotted
	for _, id := range []string{"retry-429-seconds", "retry-503-seconds"} {
		cases = append(cases, plotted{id: id, good: "/ +4s /", bad: "/ +3s /", reason: "want 4s"})
	}
	for _, id := range []string{"retry-429-date", "retry-503-date", "retry-date-asctime"} {
		cases = append(cases, plotted{id: id, good: "/ +5s /", bad: "/ +3s /", reason: "was requested 3"})
	}
	for _, id := range []string{"retry-429-host", "retry-503-host"} {
		cases = append(cases, plotted{id: id, good: "/ +1s /p1 +1s /p2 +4s /p3", bad: "/ +1s /p1 +1s /p2 +1s /p3", reason: "/p3 was requested"})
	}
	return append(cases,
		plotted{id: "retry-robots", good: "/robots.txt +4s /robots.txt", bad: "/robots.txt +1s /robots.txt", reason: "want 4s"},
		plotted{id: "retry-long", good: "/ +11s", bad: "/ +30s /", reason: "want 2h0m0s"},
		plotted{id: "retry-huge", good: "/ +11s", bad: "/ +1s /", reason: "want 876000h0m0s"},
		plotted{id: "retry-zero", good: "/ +1s /", bad: "/ /", reason: "want 1s"},
		plotted{id: "retry-negative", good: "/ +1s /", bad: "/ /", reason: "want 1s"},
		plotted{id: "retry-garbage", good: "/ +1s /", bad: "/ /", reason: "want 1s"},
		plotted{id: "retry-past", good: "/ +1s /", bad: "/ /", reason: "want 1s"},
		plotted{id: "retry-none", good: "/ +2s /", bad: "/ +1.1s /", reason: "want 1.5s"},
		plotted{id: "fail-500", good: "/ /p1 +2s /p1", bad: inARow("+2s", "/p1 /p1 /p1 /p1 /p1 /p1 /p1 /p1 /p1 /p1 /p1"), reason: "11 times"},
		plotted{id: "fail-reset", good: "/ /p1 +2s /p1", bad: "/ /p1 /p1", reason: "want 1s"},
		plotted{id: "fail-hang", good: "/ /p1! +2s /p1!", bad: "/ /p1! /p1!", reason: "want 1s"},
	)
}

func restartPlots() []plotted {
	return []plotted{
		{id: "restart-gap", good: beforeKill + " kill +1.1s /p4", bad: beforeKill + " kill /p4", reason: "want 1s"},
		{
			id: "restart-again", good: beforeKill + " kill /robots.txt / /p3 /p4", bad: beforeKill + " kill / /p1 /p2 /p3",
			reason: "4 of 4 pages before the kill",
		},
		{
			id: "restart-retry", good: "/ /p1 /p2 +2s kill +45s /p2", bad: "/ /p1 /p2 +2s kill +3s /robots.txt",
			reason: "/robots.txt was requested after the restart",
		},
		{
			id: "restart-crawl-delay", good: "/robots.txt / +3s /p1 kill /robots.txt /p2 +3s /p3",
			bad: "/robots.txt / +3s /p1 kill +1s /p2", reason: "want 3s",
		},
	}
}

// timePlots has a client for each case of time that passes, and one that does not.
func timePlots() []plotted {
	return append(append(gapPlots(), retryPlots()...), restartPlots()...)
}

func TestTime(t *testing.T) {
	t.Parallel()
	playPlots(t, timePlots())
}

func TestTimeComplete(t *testing.T) {
	t.Parallel()
	plotsComplete(t, manners.GroupTime, timePlots())
}

// A crawler that leaves out more than it has to is not blamed, and a run that is too short
// shows nothing.
func TestTimeNeitherWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id    string
		p     plot
		want  manners.Result
		delay time.Duration
	}{
		{"retry-429-seconds", "/ +5s", manners.Cautious, time.Second},
		{"retry-429-seconds", "/ +1s", manners.Unreached, time.Second},
		{"retry-429-host", "/ +1s /p1", manners.Unreached, time.Second},
		{"retry-long", "/ +1s", manners.Unreached, time.Second},
		{"crawl-delay-day", "/robots.txt / +1s", manners.Unreached, time.Second},
		{"time-gap", "/ /p1", manners.Unjudged, 0},
		{"time-assets", "/", manners.Unjudged, time.Second},
		{"time-head", "/", manners.Unjudged, time.Second},
		{"restart-gap", "/ /p1", manners.Unjudged, time.Second},
		{"restart-again", "/ /p1 kill", manners.Unreached, time.Second},
		{"restart-retry", "/ /p1 /p2 +50s /p3 kill /p4", manners.Unjudged, time.Second},
		{"restart-retry", "/ kill /p1 /p2", manners.Unreached, time.Second},
	} {
		t.Run(c.id+"/"+string(c.want), func(t *testing.T) {
			t.Parallel()
			got := playPlot(t, c.id, c.p, manners.Options{Agent: visitorAgent, Delay: c.delay})
			require.Equal(t, c.want, got.Result, got.Reason)
		})
	}
}
