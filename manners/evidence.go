package manners

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// EventKind names an event of the crawler's process.
type EventKind string

// The kinds of events.
const (
	// Killed is the crawler's end by SIGKILL.
	Killed EventKind = "killed"
	// Started is the crawler's start, the first included.
	Started EventKind = "started"
	// Ended is any other end of the crawler's process.
	Ended EventKind = "ended"
	// Stopped is the end of a run whose crawler had not ended. A run without either event ends with
	// its last request.
	Stopped EventKind = "stopped"
)

var eventKinds = []EventKind{Killed, Started, Ended, Stopped}

// Event is an event of the crawler's process. Its time is since the start of the web.
type Event struct {
	At   time.Duration `json:"at"`
	Kind EventKind     `json:"event"`
}

// Evidence is the input for judging a case.
type Evidence struct {
	// All is the log of all hosts, Log that of the hosts of the case, both by start.
	All, Log web.Log
	Events   []Event
	Options

	// Silent are the connections without a request to addresses that only the hosts of the case
	// have.
	Silent web.Log

	host    string // the first host of the case
	hosts   []string
	network netip.Prefix // of all sites
}

// tolerance is the allowed shortfall of a gap because of the reading of clocks.
const tolerance = 5 * time.Millisecond

// maxSeen bounds the requests that a verdict shows.
const maxSeen = 5

func pass(reason string, args ...any) Verdict {
	return Verdict{Result: Pass, Reason: fmt.Sprintf(reason, args...)}
}

func fail(seen []web.Record, reason string, args ...any) Verdict {
	return Verdict{Result: Fail, Reason: fmt.Sprintf(reason, args...), Seen: slices.Clone(seen[:min(len(seen), maxSeen)])}
}

func cautious(reason string, args ...any) Verdict {
	return Verdict{Result: Cautious, Reason: fmt.Sprintf(reason, args...)}
}

func unreached(reason string, args ...any) Verdict {
	return Verdict{Result: Unreached, Reason: fmt.Sprintf(reason, args...)}
}

func unjudged(reason string, args ...any) Verdict {
	return Verdict{Result: Unjudged, Reason: fmt.Sprintf(reason, args...)}
}

// worstVerdict returns the first verdict that is not passed, or else the first.
func worstVerdict(verdicts ...Verdict) Verdict {
	for _, result := range Results() {
		for _, v := range verdicts {
			if v.Result == result && result != Pass {
				return v
			}
		}
	}
	return verdicts[0]
}

// hostName returns a Host header without its port, in lower case.
func hostName(header string) string {
	name, _, _ := strings.Cut(strings.ToLower(header), ":")
	return name
}

const robotsPath = "/robots.txt"

// requestsTo returns the requests of one host.
func (e *Evidence) requestsTo(host string) web.Log {
	var log web.Log
	for _, r := range e.All {
		if hostName(r.Host) == host {
			log = append(log, r)
		}
	}
	return log
}

// requestsFor returns the requests for a target (path and query) of the case's first host.
func (e *Evidence) requestsFor(target string) web.Log {
	return requestsFor(e.requestsTo(e.host), target)
}

// requestsFor returns the requests of a log for a target.
func requestsFor(log web.Log, target string) web.Log {
	var found web.Log
	for _, r := range log {
		if r.Target == target {
			found = append(found, r)
		}
	}
	return found
}

// pages returns the requests of a log except for robots.txt.
func pages(log web.Log) web.Log {
	var found web.Log
	for _, r := range log {
		if r.Host != "" && r.Target != robotsPath {
			found = append(found, r)
		}
	}
	return found
}

// end returns the end of the run.
func (e *Evidence) end() time.Duration {
	var at time.Duration
	for _, r := range e.All {
		at = max(at, r.End)
	}
	for _, ev := range e.Events {
		if ev.Kind == Ended || ev.Kind == Stopped {
			at = max(at, ev.At)
		}
	}
	return at
}

// endsWith reports whether the last event is of a kind.
func (e *Evidence) endsWith(kind EventKind) bool {
	return len(e.Events) > 0 && e.Events[len(e.Events)-1].Kind == kind
}

// robotsFirst fails a host that got a page request before its robots.txt got a response.
func (e *Evidence) robotsFirst(host string) Verdict {
	log := e.requestsTo(host)
	first := pages(log)
	if len(first) == 0 {
		return pass("no page was requested")
	}
	for _, r := range requestsFor(log, robotsPath) {
		if !r.InFlight && r.Start < first[0].Start && r.End <= first[0].Start+tolerance {
			return pass("robots.txt was read before the first page")
		}
	}
	if len(requestsFor(log, robotsPath)) == 0 {
		return fail(first[:1], "%s was requested, and robots.txt never", first[0].Target)
	}
	return fail(first[:1], "%s was requested before robots.txt had a response", first[0].Target)
}

// judgeGaps fails a log in which a request began before the end of the previous one plus the gap. A
// gap of 0 judges only that requests do not overlap.
func judgeGaps(log web.Log, gap time.Duration) Verdict {
	if len(log) < 2 {
		return unreached("fewer than two requests came")
	}
	shortest := time.Duration(1<<63 - 1)
	prev := log[0]
	for _, r := range log[1:] {
		between := r.Start - prev.End
		shortest = min(shortest, between)
		switch {
		case between < -tolerance:
			return fail([]web.Record{prev, r}, "%s was requested %s before the end of %s", r.Target, roundDuration(-between), prev.Target)
		case between < gap-slack(prev):
			return fail(
				[]web.Record{prev, r}, "%s was requested %s after %s, want %s", r.Target, roundDuration(between), prev.Target,
				roundDuration(gap),
			)
		}
		if r.End >= prev.End {
			prev = r
		}
	}
	return pass("the shortest of %d gaps was %s, want %s", len(log)-1, roundDuration(shortest), roundDuration(gap))
}

// slack returns the tolerance after a request. The server sees a client's close late.
func slack(r web.Record) time.Duration {
	if r.Aborted {
		return tolerance + 20*time.Millisecond
	}
	return tolerance
}

// roundDuration rounds a duration for people.
func roundDuration(d time.Duration) string {
	if d >= 10*time.Second || d <= -10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// formatCount formats a number of things for people.
func formatCount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
