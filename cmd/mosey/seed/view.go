package seed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
)

const jsonInterval = 2 * time.Second

// view shows a crawl: live on a terminal, as plain lines elsewhere, as JSON on request.
type view struct {
	mu            sync.Mutex
	e             *command.Env
	json          bool
	addresses     addresses
	startedAt     time.Time
	live          live
	drawnLines    int // lines on the terminal to draw over
	printedAt     time.Time
	rate          command.Rate
	last          int64         // requests on the last plain line, including images; -1 at first
	earlierTotals report.Totals // totals of earlier calls
}

func newView(e *command.Env, asJSON bool) *view {
	return &view{e: e, json: asJSON, startedAt: time.Now(), last: -1}
}

func (v *view) note(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	fmt.Fprintln(v.e.Stderr, s)
}

// Write writes a line of a log without tearing the live view.
func (v *view) Write(p []byte) (int, error) {
	v.note(string(bytes.TrimRight(p, "\n")))
	return len(p), nil
}

// addresses are the URLs of a crawl's views; empty means that a view is off.
type addresses struct {
	web               *command.Web
	temporal, metrics string
}

// begin shows the run. earlierTotals has the totals of earlier calls.
func (v *view) begin(run crawl.Run, at addresses, seeds int, before report.Progress, detached bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.addresses, v.earlierTotals = at, before.Totals
	if v.json {
		v.emit(map[string]any{
			"event": "started", "run": run.Name, "seeds": seeds, "settings": run.Settings,
			"web": at.web.Address(), "ui": at.temporal, "metrics": at.metrics,
		})
		return
	}
	for _, line := range plan(run, seeds, before, detached) {
		fmt.Fprintln(v.e.Stdout, line)
	}
	v.live.hint = stopHint(detached)
	if at.web != nil {
		fmt.Fprintf(v.e.Stdout, "Web page: %s\n", at.web.SignInURL("/runs/"+url.PathEscape(run.Name)))
	}
	if at.temporal != "" {
		fmt.Fprintf(v.e.Stdout, "Temporal UI: %s\n", at.temporal)
	}
	if at.metrics != "" {
		fmt.Fprintf(v.e.Stdout, "Metrics: http://%s/metrics\n", at.metrics)
	}
}

// plan describes a crawl before it starts. It reports a missing limit, because a default limit
// would end a run unseen.
func plan(run crawl.Run, seeds int, before report.Progress, detached bool) []string {
	set, defaults := run.Settings, settings.Settings{}.WithDefaults()
	begun := fmt.Sprintf("Run %s: %s", run.Name, explain.Count(int64(seeds), "seed"))
	if seeds == 0 && before.Attempts()+before.Pending > 0 {
		begun = fmt.Sprintf("Resuming %s: %s done, %d pending", run.Name, explain.Count(before.Success, "page"), before.Pending)
	}
	lines := []string{fmt.Sprintf("%s, delay %s, scope %s", begun, set.Delay, *set.Scope)}
	var changed []string
	for _, s := range settings.All() {
		if value := s.ValueText(set); value != s.ValueText(defaults) && s.Name != "delay" && s.Name != "scope" {
			changed = append(changed, s.Name+"="+explain.OneLine(value))
		}
	}
	if len(changed) > 0 {
		lines = append(lines, "Settings: "+strings.Join(changed, " "))
	}
	lastLine := stopHint(detached)
	if *set.MaxPages < 0 {
		lastLine = "No page limit (--max-pages N sets one). " + lastLine
	}
	return append(lines, lastLine)
}

// stopHint describes Ctrl-C.
func stopHint(detached bool) string {
	if detached {
		return "Ctrl-C ends this command; the run continues."
	}
	return "Ctrl-C stops the run; data is kept."
}

// progress shows the progress, as often as suits the medium. latest are the latest requests of a
// live view.
func (v *view) progress(p report.Progress, latest []report.LatestRequest) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now, call := time.Now(), p.Since(v.earlierTotals)
	v.rate.Add(now, call.Requests())
	switch {
	case v.json:
		if now.Sub(v.printedAt) >= jsonInterval {
			v.printedAt = now
			v.emit(Event{Event: "progress", Progress: p, Call: call, PagesPerSecond: v.rate.PerSecond()})
		}
	case v.e.Terminal:
		v.clear()
		for _, line := range v.liveLines(p, latest, now) {
			// a line broken by the terminal would tear the view
			for _, part := range command.Wrap(line, command.TerminalWidth(v.e.Stdout), labelWidth) {
				fmt.Fprintln(v.e.Stdout, part)
				v.drawnLines++
			}
		}
	case now.Sub(v.printedAt) >= command.PlainInterval:
		v.printedAt = now
		fmt.Fprintln(v.e.Stdout, v.line(p, call))
	}
}

func (v *view) end(p report.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	call, took := p.Since(v.earlierTotals), time.Since(v.startedAt)
	if v.json {
		rate := command.PerSecond(call.Requests(), took)
		v.emit(Event{Event: "summary", Progress: p, Settings: &p.Settings, Call: call, PagesPerSecond: rate})
		return
	}
	fmt.Fprint(v.e.Stdout, explain.Summary(p, call, took))
	if p.Success == 0 {
		return
	}
	waiting := ""
	if p.KeywordsWaiting > 0 {
		waiting = "; " + explain.KeywordsWaiting(p.KeywordsWaiting)
	}
	fmt.Fprintf(v.e.Stdout, "%s indexed%s. Next:\n  mosey search WORDS\n  mosey serve\n  mosey export pages --out pages.parquet\n",
		explain.Count(max(p.WithContent()-int64(p.KeywordsWaiting), 0), "page"), waiting)
}

func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}

// Event is one line of JSON.
type Event struct {
	Event string `json:"event"`
	report.Progress
	// Settings has the run's settings, in the first event and in the summary.
	Settings *settings.Settings `json:"settings,omitempty"`
	// Call is this command's part of the totals.
	Call           report.Totals `json:"call"`
	PagesPerSecond float64       `json:"pages_per_second"`
}

func (v *view) emit(x any) {
	if err := json.NewEncoder(v.e.Stdout).Encode(x); err != nil {
		fmt.Fprintln(v.e.Stderr, "mosey:", err)
	}
}

func (v *view) line(p report.Progress, call report.Totals) string {
	text := fmt.Sprintf("%s  %s, %s (%.1f/s), %s active, %d pending, %d in flight; %s",
		time.Since(v.startedAt).Round(time.Second), explain.Count(call.Success, "page"), explain.Count(call.Requests(), "request"),
		v.rate.PerSecond(),
		explain.Count(p.Active, "domain"), p.Pending, p.InFlight, explain.Tally(call))
	if len(p.Outages) > 0 {
		text += "; the network " + explain.Outage(p.Outages[0], time.Local)
	}
	requests := call.Requests() + call.ImageRequests
	if requests == v.last && len(p.Waiting) > 0 { // if nothing moves, show the reasons
		text += "; waiting: " + explain.Wait(p.Waiting[0], time.Now())
	}
	v.last = requests
	return text
}

func (v *view) clear() {
	if v.drawnLines > 0 {
		// to the first column, because a terminal echoes ^C
		fmt.Fprintf(wiring.Raw(v.e.Stdout), "\r\x1b[%dA\x1b[J", v.drawnLines)
		v.drawnLines = 0
	}
}
