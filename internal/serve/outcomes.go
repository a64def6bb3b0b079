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
	steps       int
	layout      string
	each        int // steps between two labels
}

// timeSpans lists the spans to choose from; the first is the default.
var timeSpans = []timeSpan{
	{"1h", "the last hour", time.Minute, 60, "15:04", 10},
	{"1d", "the last day", 15 * time.Minute, 96, "15:04", 16},
	{"30d", "the last 30 days", 12 * time.Hour, 60, "01-02", 10},
}

var spanParam = []string{"span", "the time span of the outcomes: " + timeSpanNames()}

func timeSpanNames() string {
	names := make([]string, len(timeSpans))
	for i, o := range timeSpans {
		names[i] = o.Name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func requestedTimeSpan(r *http.Request) (timeSpan, error) {
	name := cmp.Or(r.FormValue("span"), timeSpans[0].Name)
	for _, o := range timeSpans {
		if o.Name == name {
			return o, nil
		}
	}
	return timeSpan{}, fmt.Errorf("%w: span %q: want one of %s", errBadRequest, name, timeSpanNames())
}

// Over holds outcomes over time.
type Over struct {
	report.OutcomeSeries

	Name string `json:"span"`
	// Picture is the address of the chart.
	Picture string `json:"-"`

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
func (s *Server) over(r *http.Request, runID int64, path string) (v Over, err error) {
	o, err := requestedTimeSpan(r)
	if err != nil {
		return v, err
	}
	since := s.Now().UTC().Truncate(o.step).Add(-time.Duration(o.steps-1) * o.step)
	v = Over{Name: o.Name, Picture: path + "?span=" + o.Name, span: o}
	v.OutcomeSeries, err = s.Store.Outcomes(r.Context(), runID, since, o.step, o.steps)
	return v, err
}

// The picture, in pixels.
const (
	columnsHeight = 170
	columnsTop    = 30
	columnsBottom = 140
)

// columns is a chart of outcomes over time.
type columns struct {
	Width, Height          int
	Left, Right, Top, Base int
	Bars                   []bar
	Ticks                  []tick
	Legend                 []legend
	Most                   string
	Zone, Title            string
}

// classes are the classes of outcomes, the lowest first.
var classes = []legend{{Class: "good", Text: "success"}, {Class: "refused", Text: "refused or skipped"}, {Class: "bad", Text: "failed"}}

// columnsOf draws outcomes in the zone of now.
func columnsOf(v Over, now time.Time) columns {
	c := columns{
		Width: chartWidth, Height: columnsHeight, Left: chartLeft, Right: chartWidth - chartRight, Top: columnsTop, Base: columnsBottom,
		Legend: placeLegend(slices.Clone(classes)), Zone: now.Format("MST"),
	}
	limit, all := int64(1), int64(0)
	for _, in := range v.Spans {
		limit, all = max(limit, in.Attempts()), all+in.Attempts()
	}
	c.Most = number(limit)
	c.Title = fmt.Sprintf("%s in %s, at most %s in %s.",
		explain.Count(all, "attempt"), v.span.Words, c.Most, explain.ApproxDuration(v.span.step))
	columnWidth := float64(c.Right-c.Left) / float64(max(len(v.Spans), 1))
	for i, in := range v.Spans {
		at := tenth(float64(c.Left) + float64(i)*columnWidth)
		if i%v.span.each == 0 {
			c.Ticks = append(c.Ticks, tick{at, in.BeganAt.In(now.Location()).Format(v.span.layout)})
		}
		c.Bars = append(c.Bars, stack(in, at, tenth(columnWidth-1), float64(columnsBottom-columnsTop)/float64(limit), now.Location())...)
	}
	return c
}

func stack(in report.OutcomeSpan, x, width, scale float64, zone *time.Location) (bars []bar) {
	base, text := float64(columnsBottom), []string{explain.StampIn(in.BeganAt, zone)}
	counts := make(map[string]int64)
	for _, outcome := range (report.Totals{}).Outcomes() {
		if n := in.Outcomes[outcome.Outcome]; n > 0 {
			counts[outcomeClass(outcome.Outcome)] += n
			text = append(text, number(n)+" "+string(outcome.Outcome))
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

func (s *Server) outcomes(w http.ResponseWriter, r *http.Request) {
	var run crawl.Run
	var err error
	if name := r.PathValue("name"); name != "" {
		run, err = s.Store.Run(r.Context(), name)
	}
	var v Over
	if err == nil {
		v, err = s.over(r, run.ID, "")
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.picture(w, "outcomes.svg", columnsOf(v, s.Now().In(zoneOf(r))))
}
