package serve

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
)

// The default and maximum number of attempts on a domain's page.
const (
	defaultAttempts = 40
	maxAttempts     = 500
)

// The picture, in pixels.
const (
	chartWidth   = 1100
	chartHeight  = 190
	chartLeft    = 80
	chartRight   = 20
	laneRequests = 40  // requests
	laneWaits    = 75  // waits after them
	laneRobots   = 115 // robots.txt
	laneControls = 140 // decisions of operators
	laneAxis     = 165
	barHeight    = 12
	maxTicks     = 10
)

// Chart is a picture with time from left to right. Lanes are named lines across it.
type Chart struct {
	Width, Height, Left, Right, Axis int

	Lanes       []lane
	Ticks       []tick
	Marks       []mark
	Bars        []bar
	Legend      []legend
	Title, Unit string
}

type lane struct {
	Y    int
	Name string
}

// tick is the label of an instant, in UTC.
type tick struct {
	X    float64
	Text string
	At   time.Time
}

// mark is an instant. Class is its style, and Shape its symbol.
type mark struct {
	X, Y                float64
	Class, Shape, Title string
}

type bar struct {
	X, Y, Width, Height float64
	Class, Title        string
}

type legend struct {
	X           float64
	Class, Text string
}

// Chart draws the history until now. The present wait ends when the domain's slot is free.
func (v *DomainView) Chart() Chart {
	h, now, free := v.History, v.Now, v.Domain.SlotFree
	c := Chart{
		Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartWidth - chartRight, Axis: laneAxis,
		Lanes: []lane{{laneRequests, "requests"}, {laneWaits, "waits"}, {laneRobots, "robots.txt"}, {laneControls, "controls"}},
	}
	requests := slices.DeleteFunc(slices.Clone(h.Attempts), func(a report.Attempt) bool { return a.Duration == 0 && a.Delay == 0 })
	if len(requests) == 0 {
		c.Title = "No requests yet."
		return c
	}
	slices.Reverse(requests)
	from, to := began(requests[0]), now
	if free.After(to) {
		to = free
	}
	at := func(t time.Time) float64 {
		share := float64(t.Sub(from)) / math.Max(float64(to.Sub(from)), 1)
		return tenth(chartLeft + share*(chartWidth-chartLeft-chartRight))
	}
	waits := make(map[reasons.Reason]bool)
	for i, a := range requests {
		shape := "circle"
		if a.Kind == kinds.Robots {
			shape = "square"
		}
		c.Marks = append(c.Marks, mark{at(a.CompletedAt), laneRequests, outcomeClass(a.Outcome), shape, explain.OneLine(fmt.Sprintf(
			"%s: %s, %s in %s", explain.StampIn(a.CompletedAt, time.UTC), a.URL, explain.Attempt(a), a.Duration))})
		end := a.CompletedAt.Add(time.Duration(a.Delay))
		if last := i == len(requests)-1; last && free.After(end) {
			end = free
		} else if !last && began(requests[i+1]).Before(end) {
			end = began(requests[i+1]) // an earlier request shows that the wait was canceled
		}
		if reason := a.DelayReason; reason != "" && end.After(a.CompletedAt) {
			waits[reason] = true
			c.Bars = append(c.Bars, c.waitBar(at, a.CompletedAt, end, reason))
		}
	}
	c.robots(h.Robots, from, at)
	c.drawControls(h.Controls, from, to, at)
	c.axis(from, to, at)
	for _, reason := range slices.Sorted(maps.Keys(waits)) {
		c.Legend = append(c.Legend, legend{Class: waitClass(reason), Text: string(reason)})
	}
	placeLegend(c.Legend)
	c.Title = fmt.Sprintf("%s from %s to %s, each with the wait after it.",
		explain.Count(int64(len(requests)), "request"), explain.StampIn(from, time.UTC),
		explain.StampIn(requests[len(requests)-1].CompletedAt, time.UTC))
	return c
}

func began(a report.Attempt) time.Time { return a.CompletedAt.Add(-time.Duration(a.Duration)) }

func (c *Chart) waitBar(at func(time.Time) float64, from, to time.Time, reason reasons.Reason) bar {
	return bar{
		X: at(from), Y: laneWaits - barHeight/2, Width: math.Max(at(to)-at(from), 1), Height: barHeight, Class: waitClass(reason),
		Title: explain.OneLine(fmt.Sprintf(
			"%s from %s: %s (%s)", explain.ApproxDuration(to.Sub(from)), explain.StampIn(from, time.UTC), reason, explain.NotDueReason(reason))),
	}
}

// robots marks the fetches of robots.txt.
func (c *Chart) robots(fetches []report.RobotsFetch, from time.Time, at func(time.Time) float64) {
	for _, f := range fetches {
		if f.FetchedAt.Before(from) {
			continue
		}
		m := mark{at(f.FetchedAt), laneRobots, "quiet", "square", explain.OneLine(fmt.Sprintf(
			"%s: robots.txt of %s read, unchanged", explain.StampIn(f.FetchedAt, time.UTC), f.Origin))}
		if f.Changed {
			m.Class = "new"
			m.Title = explain.OneLine(fmt.Sprintf(
				"%s: robots.txt of %s changed (%s)", explain.StampIn(f.FetchedAt, time.UTC), f.Origin, f.Verdict))
		}
		c.Marks = append(c.Marks, m)
	}
}

// drawControls draws controls over their time in force.
func (c *Chart) drawControls(controls []report.PastControl, from, to time.Time, at func(time.Time) float64) {
	for _, p := range controls {
		end := to
		if !p.Until.IsZero() && p.Until.Before(end) {
			end = p.Until
		}
		if !p.LiftedAt.IsZero() && p.LiftedAt.Before(end) {
			end = p.LiftedAt
		}
		if end.Before(from) {
			continue
		}
		begin := p.SetAt
		if begin.Before(from) {
			begin = from
		}
		class := "slower"
		if reasons.OfControl(string(p.Type)) != "" {
			class = "closed"
		}
		c.Bars = append(c.Bars, bar{
			X: at(begin), Y: laneControls - barHeight/2, Width: math.Max(at(end)-at(begin), 2), Height: barHeight, Class: class,
			Title: explain.Control(p.Control, time.UTC),
		})
	}
}

// axis labels instants at round distances.
func (c *Chart) axis(from, to time.Time, at func(time.Time) float64) {
	span := to.Sub(from)
	step := tickSteps[0]
	for _, longer := range tickSteps[1:] {
		if span/step > maxTicks {
			step = longer
		}
	}
	for span/step > 2*maxTicks {
		step *= 2
	}
	layout := "15:04:05"
	if span > 24*time.Hour {
		layout = "2006-01-02"
	}
	for t := from.Truncate(step).Add(step); t.Before(to); t = t.Add(step) {
		c.Ticks = append(c.Ticks, tick{at(t), t.UTC().Format(layout), t})
	}
}

var tickSteps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour,
	12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

func placeLegend(all []legend) []legend {
	x := float64(chartLeft)
	for i := range all {
		all[i].X = x
		x += 30 + 7*float64(len(all[i].Text))
	}
	return all
}

func outcomeClass(o crawl.Outcome) string {
	switch o {
	case crawl.OutcomeSuccess:
		return "good"
	case crawl.OutcomeSkipped:
		return "skipped"
	case crawl.OutcomeBlocked4xx, crawl.OutcomeBlockedRobots:
		return "refused"
	case crawl.OutcomeBlocked5xx, crawl.OutcomeTimeout, crawl.OutcomeFailed:
	}
	return "bad"
}

// waitClass returns the class of a wait. The style sheet has the colours of the unusual reasons.
func waitClass(r reasons.Reason) string {
	return "wait-" + strings.NewReplacer(" ", "-", ".", "-").Replace(string(r))
}

func attempts(r *http.Request) (int, error) {
	text := cmp.Or(r.FormValue("n"), strconv.Itoa(defaultAttempts))
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxAttempts {
		return 0, fmt.Errorf("%w: n %q: want 1 to %d attempts", errBadRequest, text, maxAttempts)
	}
	return n, nil
}
