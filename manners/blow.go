package manners

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// blow is a case of one answer that a crawler has to survive. The root links to three pages; the
// second gives this answer. So another page is left to request, in either order.
type blow struct {
	id, title, source, note string

	answer web.Behaviour
	robots string // the text of robots.txt; empty answers 404
	level  Level
	// most bounds the requests for the answer; 0 means no bound.
	most int
	// holds judges the requests for the answer, in addition.
	holds func(e *Evidence, got web.Log) Verdict
}

const blowPath = "/answer"

var besideBlow = []string{"/before", "/after"}

// settled is the least time to run on after an answer, if the host has no other pages left.
const settled = 10 * time.Second

func (t blow) make() Case {
	level := t.level
	if level == "" {
		level = Opinion
	}
	return Case{
		ID: t.id, Group: GroupSafety, Level: level, Title: t.title, Source: t.source,
		sites: func(Options) []web.Site {
			s := linked(t.id+".test", nil, besideBlow[0], blowPath, besideBlow[1])
			s.Paths[blowPath] = t.answer
			if t.robots != "" {
				s.Paths[robotsPath] = text{body: t.robots}
			}
			return []web.Site{s}
		},
		judge: t.judge,
	}
}

func (t blow) judge(e *Evidence) Verdict {
	got := e.asked(blowPath)
	switch {
	case len(got) == 0:
		return unreached("%s was not requested; it responds with %s", blowPath, t.note)
	case t.most > 0 && len(got) > t.most:
		return fail(got, "%s was requested %d times, want at most %d: it responds with %s each time", blowPath, len(got), t.most, t.note)
	}
	lives := t.lives(e, got[len(got)-1], missing(e.of(e.host), besideBlow))
	if t.holds == nil {
		return lives
	}
	return worst(t.holds(e, got), lives)
}

// lives judges that requests came after the answer. A request for the same case proves it. Requests
// to others count after the crawler had time to read the answer. A crawler that continues would
// request the targets in left.
func (t blow) lives(e *Evidence, last web.Record, left []string) Verdict {
	var later, own web.Log
	for _, r := range e.All {
		if r.Start <= last.Start || r.Start < last.End-slack(last) || last.InFlight {
			continue
		}
		later = append(later, r)
		if slices.Contains(e.hosts, hostName(r.Host)) {
			own = append(own, r)
		}
	}
	switch {
	case len(own) > 0:
		return pass("%s of the case and %d in all came after %s", counted(len(own), "request"), len(later), t.note)
	case len(later) > 0 && later[len(later)-1].Start > last.End+settled:
		return pass("%s to other hosts came after %s, the last %s later",
			counted(len(later), "request"), t.note, short(later[len(later)-1].Start-last.End))
	case last.InFlight:
		return unreached("the run ended %s after the response had begun", short(last.End-last.Start))
	case len(later) > 0:
		return unreached("%s to other hosts came after %s, all within %s: too soon to tell", counted(len(later), "request"), t.note, settled)
	case e.last(Stopped) && e.end() < last.End+settled:
		return unreached("the run ended %s after %s: too soon to tell", short(e.end()-last.End), t.note)
	case len(left) == 0:
		return unreached("%s was the last response of the run: no request was left to show that the crawler continues", t.note)
	default:
		return fail([]web.Record{last}, "no request followed: %s ended the crawl, and %s was left", t.note, left[0])
	}
}
