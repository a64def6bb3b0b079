package manners

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// survivalCase is a case of one response that a crawler has to survive. The root links to three
// pages; the second gives this response. So another page is left to request, in either order.
type survivalCase struct {
	id, title, source, description string

	answer web.Behaviour
	robots string // the text of robots.txt; empty responds with 404
	level  Level
	// maxRequests bounds the requests for the response; 0 means no bound.
	maxRequests int
	// judgeRequests judges the requests for the response, in addition.
	judgeRequests func(e *Evidence, got web.Log) Verdict
}

const survivalPath = "/answer"

var otherSurvivalPaths = []string{"/before", "/after"}

// minTimeAfterAnswer is the least time to run on after a response, if the host has no other pages
// left.
const minTimeAfterAnswer = 10 * time.Second

func (t survivalCase) make() Case {
	level := t.level
	if level == "" {
		level = Opinion
	}
	return Case{
		ID: t.id, Group: GroupSafety, Level: level, Title: t.title, Source: t.source,
		sites: func(Options) []web.Site {
			s := linked(t.id+".test", nil, otherSurvivalPaths[0], survivalPath, otherSurvivalPaths[1])
			s.Paths[survivalPath] = t.answer
			if t.robots != "" {
				s.Paths[robotsPath] = text{body: t.robots}
			}
			return []web.Site{s}
		},
		judge: t.judge,
	}
}

func (t survivalCase) judge(e *Evidence) Verdict {
	got := e.requestsFor(survivalPath)
	switch {
	case len(got) == 0:
		return unreached("%s was not requested; it responds with %s", survivalPath, t.description)
	case t.maxRequests > 0 && len(got) > t.maxRequests:
		return fail(
			got, "%s was requested %d times, want at most %d: it responds with %s each time", survivalPath, len(got),
			t.maxRequests, t.description,
		)
	}
	lives := t.judgeSurvival(e, got[len(got)-1], unrequested(e.requestsTo(e.host), otherSurvivalPaths))
	if t.judgeRequests == nil {
		return lives
	}
	return worstVerdict(t.judgeRequests(e, got), lives)
}

// judgeSurvival judges that requests came after the response. A request for the same case proves
// it. Requests to others count after the crawler had time to read the response. A crawler that
// continues would request the targets in remaining.
func (t survivalCase) judgeSurvival(e *Evidence, last web.Record, remaining []string) Verdict {
	var later, sameCase web.Log
	for _, r := range e.All {
		if r.Start <= last.Start || r.Start < last.End-slack(last) || last.InFlight {
			continue
		}
		later = append(later, r)
		if slices.Contains(e.hosts, hostName(r.Host)) {
			sameCase = append(sameCase, r)
		}
	}
	switch {
	case len(sameCase) > 0:
		return pass("%s of the case and %d in all came after %s", formatCount(len(sameCase), "request"), len(later), t.description)
	case len(later) > 0 && later[len(later)-1].Start > last.End+minTimeAfterAnswer:
		return pass("%s to other hosts came after %s, the last %s later",
			formatCount(len(later), "request"), t.description, roundDuration(later[len(later)-1].Start-last.End))
	case last.InFlight:
		return unreached("the run ended %s after the response had begun", roundDuration(last.End-last.Start))
	case len(later) > 0:
		return unreached(
			"%s to other hosts came after %s, all within %s: too soon to tell", formatCount(len(later), "request"),
			t.description, minTimeAfterAnswer,
		)
	case e.endsWith(Stopped) && e.end() < last.End+minTimeAfterAnswer:
		return unreached("the run ended %s after %s: too soon to tell", roundDuration(e.end()-last.End), t.description)
	case len(remaining) == 0:
		return unreached("%s was the last response of the run: no request was left to show that the crawler continues", t.description)
	default:
		return fail([]web.Record{last}, "no request followed: %s ended the crawl, and %s was left", t.description, remaining[0])
	}
}
