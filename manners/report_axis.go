package manners

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// maxBars bounds the drawn requests of a host.
const maxBars = 500

// Measures of a time axis, in pixels.
const (
	barHeight  = 12
	barGap     = 3
	axisTop    = 10 // for the marks above the bars
	axisBottom = 22 // for the ticks
	maxLanes   = 8
)

// axis shows the requests to a host over time. Positions along it are in percent of its width.
type axis struct {
	Host   string
	Label  string // for screen readers
	Note   string // requests that are not drawn
	Height int
	Base   int // the lower end of the bars
	TextAt int
	Bars   []bar
	Lines  []line
	Ticks  []tick
}

type bar struct {
	X, W   string
	Y      int
	Class  string
	Title  string
	Mark   string // a letter above it
	Height int
}

type line struct{ X, Class, Title string }

type tick struct{ X, Text, Anchor string }

// axes returns the axes of a finding's requested hosts.
func (p *Report) axes(f Finding) []axis {
	var all []axis
	for i, log := range f.logs {
		if len(log) > 0 {
			all = append(all, p.axis(f.Hosts[i], log, f.seen))
		}
	}
	return all
}

func (p *Report) axis(host string, log web.Log, seen map[seenKey]bool) axis {
	a := axis{Host: host, Ticks: ticks(p.span)}
	drawn := sampleRequests(log, seen)
	if len(drawn) < len(log) {
		a.Note = fmt.Sprintf("The chart shows %d of %d requests.", len(drawn), len(log))
	}
	first, last := log[0], log[len(log)-1]
	a.Label = fmt.Sprintf(
		"%d requests to %s, from %s to %s after the start", len(log), host, roundDuration(first.Start),
		roundDuration(last.End),
	)
	var lanes []time.Duration // when each lane is free again
	for _, d := range drawn {
		lane := slices.IndexFunc(lanes, func(end time.Duration) bool { return end <= d.rec.Start })
		switch {
		case lane >= 0:
			lanes[lane] = d.rec.End
		case len(lanes) < maxLanes:
			lane = len(lanes)
			lanes = append(lanes, d.rec.End)
		default:
			lane = maxLanes - 1
		}
		a.Bars = append(a.Bars, p.bar(d, lane, seen[keyOf(d.rec)]))
	}
	a.Base = axisTop + len(lanes)*(barHeight+barGap)
	a.Height = a.Base + axisBottom
	a.TextAt = a.Height - 6
	for _, e := range p.kills {
		if e.Kind == Killed || e.Kind == Started && e.At > 0 {
			a.Lines = append(a.Lines, line{p.position(e.At), string(e.Kind), fmt.Sprintf("the crawler was %s at %s", e.Kind, roundDuration(e.At))})
		}
	}
	return a
}

// bar draws a request.
func (p *Report) bar(d drawnRequest, lane int, isSeen bool) bar {
	b := bar{
		X: p.position(d.rec.Start), W: p.position(d.rec.End - d.rec.Start), Y: axisTop + lane*(barHeight+barGap),
		Class: classOf(d.rec), Title: d.title(), Height: barHeight,
	}
	if d.rec.Target == robotsPath {
		b.Mark = "R"
	}
	if isSeen {
		b.Class, b.Mark = "seen", "!"
	}
	return b
}

// drawnRequest is a request and the one before it to the same host.
type drawnRequest struct {
	rec, prev web.Record
	first     bool
}

// sampleRequests returns at most about maxBars requests of a log: those of the verdict, and an even
// sample of the others.
func sampleRequests(log web.Log, seen map[seenKey]bool) []drawnRequest {
	var sampled []drawnRequest
	step := (len(log) + maxBars - 1) / maxBars
	prev := log[0]
	for i, rec := range log {
		if i%step == 0 || seen[keyOf(rec)] {
			sampled = append(sampled, drawnRequest{rec, prev, i == 0})
		}
		if rec.End >= prev.End || i == 0 {
			prev = rec
		}
	}
	return sampled
}

func (d drawnRequest) title() string {
	text := clean(d.rec.Method, maxNameBytes) + " " + clean(d.rec.Target, maxTargetBytes)
	if d.rec.Host == "" {
		text = "a connection without a request"
	}
	description := statusText(d.rec.Status)
	switch {
	case d.rec.InFlight:
		description += ", in flight"
	case d.rec.Aborted:
		description += ", incomplete"
	}
	text += fmt.Sprintf(" %s, at %s for %s", description, roundDuration(d.rec.Start), roundDuration(d.rec.End-d.rec.Start))
	switch gap := d.rec.Start - d.prev.End; {
	case d.first:
	case gap < 0:
		text += fmt.Sprintf(", %s before the end of the one before", roundDuration(-gap))
	default:
		text += fmt.Sprintf(", %s after the one before", roundDuration(gap))
	}
	return text
}

// classOf returns the CSS class of a request's bar.
func classOf(r web.Record) string {
	switch {
	case r.Status < 100 || r.Status > 599 || r.Aborted || r.InFlight:
		return "none"
	default:
		return "s" + strconv.Itoa(r.Status/100)
	}
}

// position returns the position of a time along the axis.
func (p *Report) position(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(p.span)*100, 'f', 3, 64) + "%"
}

// ticks returns at most six ticks, at round times.
func ticks(span time.Duration) []tick {
	step := tickStep(span)
	var all []tick
	for at := time.Duration(0); at <= span; at += step {
		share := float64(at) / float64(span) * 100
		t := tick{X: strconv.FormatFloat(share, 'f', 3, 64) + "%", Text: tickText(at, step), Anchor: "middle"}
		switch {
		case at == 0:
			t.Anchor = "start"
		case share > 94:
			t.Anchor = "end"
		}
		all = append(all, t)
	}
	return all
}

const maxTicks = 5

func tickStep(span time.Duration) time.Duration {
	for _, step := range []time.Duration{
		200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
		15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if span/step <= maxTicks {
			return step
		}
	}
	const day = 24 * time.Hour
	step := day
	for span/step > maxTicks {
		step += day
	}
	return step
}

func tickText(at, step time.Duration) string {
	number := func(f float64, unit string) string { return strconv.FormatFloat(f, 'g', 6, 64) + " " + unit }
	switch {
	case step < time.Minute:
		return number(at.Seconds(), "s")
	case step < time.Hour:
		return number(at.Minutes(), "min")
	}
	return number(at.Hours(), "h")
}
