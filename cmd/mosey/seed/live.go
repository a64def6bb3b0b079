package seed

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
)

const (
	// labelWidth and barWidth are in columns.
	labelWidth = 9
	barWidth   = 20
	// maxLatestDrawn and maxWaitsDrawn bound the requests and the waiting domains.
	maxLatestDrawn = 5
	maxWaitsDrawn  = 1
	// settledSpan is the time over which the known URLs may grow by one in settledDivisor for an
	// estimate of the rest.
	settledSpan    = 15 * time.Second
	settledDivisor = 50
)

// live is the state of a view that is drawn on a terminal.
type live struct {
	hint  string // describes Ctrl-C
	known []knownURLs
}

// knownURLs is the number of URLs that a run knew at an instant.
type knownURLs struct {
	at    time.Time
	count int64
}

// liveLines returns the lines of a view that is drawn on a terminal.
func (v *view) liveLines(p report.Progress, latest []report.LatestRequest, now time.Time) []string {
	call := p.Since(v.earlierTotals)
	lines := []string{
		fmt.Sprintf("%-8s %s, %s, %.1f requests/s, %s",
			time.Since(v.startedAt).Round(time.Second), explain.Count(call.Success, "page"), explain.Count(call.Requests(), "request"),
			v.rate.PerSecond(), explain.Size(call.Bytes)),
	}
	width := command.TerminalWidth(v.e.Stdout)
	add := func(label, text string) { lines = append(lines, fmt.Sprintf("%-8s %s", label, text)) }
	if pending, left, ok := v.live.rest(p, v.rate.PerSecond(), now); ok {
		add("done", fmt.Sprintf("%s, about %s left", bar(p.Attempts(), p.Attempts()+pending), explain.ApproxDuration(left)))
	}
	add("domains", fmt.Sprintf("%d active of %d found; %s pending, %d in flight, %d deferred",
		p.Active, p.Domains, explain.Count(p.Pending, "page"), p.InFlight, p.Deferred))
	add("outcomes", explain.Outcomes(call))
	if images := explain.ImageTotals(call); images != "" {
		add("images", images)
	}
	if v.earlierTotals.Attempts() > 0 {
		add("in all", explain.WholeRun(p.Totals))
	}
	label := "latest"
	for _, r := range latest {
		add(label, command.Fit(latestLine(r), width-labelWidth))
		label = ""
	}
	for _, w := range p.Waiting[:min(len(p.Waiting), maxWaitsDrawn)] {
		add("waiting", explain.Wait(w, now))
	}
	for _, o := range p.Outages {
		add("network", explain.Outage(o, time.Local))
	}
	if p.Limited != nil {
		add("workers", explain.Limited(*p.Limited))
	}
	if address := v.addresses.web.Address(); address != "" {
		add("page", address)
	}
	if v.addresses.temporal != "" {
		add("ui", v.addresses.temporal)
	}
	return append(lines, v.live.hint)
}

// latestLine describes a request: time, status, URL and title.
func latestLine(r report.LatestRequest) string {
	status := r.Outcome.Word(r.StatusCode)
	if r.StatusCode != 0 {
		status += " " + strconv.Itoa(r.StatusCode)
	}
	line := r.CompletedAt.Local().Format(time.TimeOnly) + " " + status + " " + explain.OneLine(r.URL)
	if r.Title != "" {
		line += " “" + explain.OneLine(r.Title) + "”"
	}
	return line
}

// bar draws a part of a total, which is positive.
func bar(done, total int64) string {
	filled := int(min(done*barWidth/total, barWidth))
	return fmt.Sprintf("%s%s %d %%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled), done*100/total)
}

// rest estimates the pages that a run still requests, and their time. ok is false where an estimate
// would mislead: the run finds more pages, waits for deferred pages, or does not end.
func (l *live) rest(p report.Progress, perSecond float64, now time.Time) (pending int64, left time.Duration, ok bool) {
	known := p.Attempts() + p.Pending
	l.known = append(l.known, knownURLs{now, known})
	for len(l.known) > 1 && now.Sub(l.known[1].at) >= settledSpan {
		l.known = l.known[1:]
	}
	settled := now.Sub(l.known[0].at) >= settledSpan && known-l.known[0].count <= known/settledDivisor
	set := p.Settings.WithDefaults()
	pending = p.Pending
	if limit := *set.MaxPages; limit >= 0 {
		pending = min(pending, max(limit-p.PagesStarted, 1))
	}
	limited := pending < p.Pending && *set.MaxPagesPerDomain < 0 // by known pages
	counted := p.Pending > 0 && p.Pending < report.FrontierBound && p.Deferred == 0
	if !settled && !limited || !counted || perSecond <= 0 || *set.WhenDone != settings.WhenDoneEnd {
		return 0, 0, false
	}
	return pending, time.Duration(float64(pending) / perSecond * float64(time.Second)), true
}
