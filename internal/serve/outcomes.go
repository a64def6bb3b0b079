package serve

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
)

// timeSpan is a span of time until now, in steps.
type timeSpan struct {
	Name, Words string
	step        time.Duration
	unit        string // the words for step
	steps       int
	layout      string
}

// timeSpans lists the spans to choose from; the first is the default.
var timeSpans = []timeSpan{
	{"1h", "the last hour", time.Minute, "minute", 60, "15:04"},
	{"1d", "the last day", 15 * time.Minute, "15 minutes", 96, "15:04"},
	{"30d", "the last 30 days", 12 * time.Hour, "12 hours", 60, "01-02"},
}

// timeSpanNames lists the names of timeSpans.
const timeSpanNames = "1h, 1d and 30d"

var spanParam = []string{"span", "the time span of the outcomes: " + timeSpanNames}

// Over holds outcomes over time.
type Over struct {
	report.OutcomeSeries

	Name string `json:"span"`

	span timeSpan
}

// Words describes the span of time.
func (o Over) Words() string { return o.span.Words }

// Outcomes lists the outcomes that occurred, in their order.
func (o Over) Outcomes() (all []crawl.Outcome) {
	for _, outcome := range (report.Totals{}).Outcomes() {
		if slices.ContainsFunc(o.Spans, func(in report.OutcomeSpan) bool { return in.Outcomes[outcome.Outcome] > 0 }) {
			all = append(all, outcome.Outcome)
		}
	}
	return all
}

// Latest returns the spans, the latest first.
func (o Over) Latest() []report.OutcomeSpan {
	all := slices.Clone(o.Spans)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(in report.OutcomeSpan) bool { return len(in.Outcomes) == 0 })
}

// over reads the outcomes of a run in the requested span, or of all runs if runID is 0.
func (s *Server) over(r *http.Request, runID int64) (v Over, err error) {
	name := cmp.Or(r.FormValue("span"), timeSpans[0].Name)
	i := slices.IndexFunc(timeSpans, func(o timeSpan) bool { return o.Name == name })
	if i < 0 {
		return v, fmt.Errorf("%w: span %q: want one of %s", errBadRequest, name, timeSpanNames)
	}
	o := timeSpans[i]
	since := s.Now().UTC().Truncate(o.step).Add(-time.Duration(o.steps-1) * o.step)
	v = Over{Name: o.Name, span: o}
	v.OutcomeSeries, err = s.Store.Outcomes(r.Context(), runID, since, o.step, o.steps)
	return v, err
}

// The chart, in pixels.
const (
	columnsHeight = 190
	columnsTop    = 30
	columnsBottom = 160
	minColumns    = 12 // of space, so that the first minutes are not wide columns
)

// classes are the classes of outcomes, the lowest first.
var classes = []legend{
	{Class: "good", Text: "ok"},
	{Class: "skipped", Text: "skipped"},
	{Class: "refused", Text: "robots, not found or forbidden"},
	{Class: "bad", Text: "failed"},
}

// Chart draws the outcomes, from the first one on.
func (o Over) Chart() Chart {
	c := Chart{
		Width: chartWidth, Height: columnsHeight, Left: chartLeft, Right: chartWidth - chartRight, Axis: columnsBottom,
		Legend: placeLegend(slices.Clone(classes)), Unit: "attempts per " + o.span.unit,
	}
	first := slices.IndexFunc(o.Spans, func(in report.OutcomeSpan) bool { return len(in.Outcomes) > 0 })
	spans := o.Spans[max(first, 0):]
	highest, all := int64(0), int64(0)
	for _, in := range spans {
		highest, all = max(highest, in.Attempts()), all+in.Attempts()
	}
	limit := c.drawLines(highest)
	c.Title = fmt.Sprintf("%s in %s, at most %s in %s.",
		explain.Count(all, "attempt"), o.span.Words, number(highest), explain.ApproxDuration(o.span.step))
	columnWidth := float64(c.Right-c.Left) / float64(max(len(spans), minColumns))
	each := max(len(spans)/6, 1)
	for i, in := range spans {
		at := tenth(float64(c.Left) + float64(i)*columnWidth)
		if i%each == 0 {
			c.Ticks = append(c.Ticks, tick{at, in.BeganAt.Format(o.span.layout), in.BeganAt})
		}
		c.Bars = append(c.Bars, stack(in, at, tenth(columnWidth-1), float64(columnsBottom-columnsTop)/float64(limit))...)
	}
	return c
}

// drawLines labels at most five round counts from zero on, and returns the highest of them.
func (c *Chart) drawLines(highest int64) (limit int64) {
	step := int64(1)
	for i := 1; 4*step < highest; i++ {
		step = []int64{1, 2, 5}[i%3] * int64(math.Pow10(i/3))
	}
	limit = max((highest+step-1)/step, 1) * step
	for n := int64(0); n <= limit; n += step {
		c.Lanes = append(c.Lanes, lane{columnsBottom - int((columnsBottom-columnsTop)*n/limit), number(n)})
	}
	return limit
}

func stack(in report.OutcomeSpan, x, width, scale float64) (bars []bar) {
	base, text := float64(columnsBottom), []string{explain.StampIn(in.BeganAt, time.UTC)}
	counts := make(map[string]int64)
	for _, outcome := range (report.Totals{}).Outcomes() {
		if n := in.Outcomes[outcome.Outcome]; n > 0 {
			counts[outcomeClass(outcome.Outcome)] += n
			text = append(text, number(n)+" "+outcome.Outcome.Word(0))
		}
	}
	for _, class := range classes {
		if n := counts[class.Class]; n > 0 {
			height := math.Max(tenth(float64(n)*scale), 1)
			base -= height
			bars = append(bars, bar{X: x, Y: tenth(base), Width: width, Height: height, Class: class.Class, Title: strings.Join(text, ", ")})
		}
	}
	return bars
}

func tenth(x float64) float64 { return math.Round(10*x) / 10 }
