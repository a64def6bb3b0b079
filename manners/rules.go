package manners

import (
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// rules is a case of one robots.txt: the root links to allowed and denied pages.
type rules struct {
	allow, deny []string // request targets
	agent       bool     // the text holds {agent}, the crawler's product token
	id          string
	level       Level
	robots      string
	// answer replaces the text as robots.txt.
	answer  web.Behaviour
	section string // of RFC 9309
	title   string
}

// make builds the case.
func (t rules) make() Case {
	level := t.level
	if level == "" {
		level = Must
	}
	return Case{
		ID: t.id, Group: GroupRobots, Level: level, Title: t.title, Source: "RFC 9309 section " + t.section, Agent: t.agent,
		sites: func(o Options) []web.Site {
			answer := t.answer
			if answer == nil {
				names := strings.NewReplacer("{agent}", o.Agent, "{AGENT}", strings.ToUpper(o.Agent))
				answer = text{body: names.Replace(t.robots)}
			}
			return []web.Site{linked(t.id+".test", answer, append(append([]string(nil), t.deny...), t.allow...)...)}
		},
		judge: func(e *Evidence) Verdict { return judgeRules(e, e.host, t.allow, t.deny) },
	}
}

// judgeRules judges that the allowed targets of a host were requested, and the denied ones were
// not. The root is neither.
func judgeRules(e *Evidence, host string, allow, deny []string) Verdict {
	log := e.requestsTo(host)
	if first := e.robotsFirst(host); first.Result == Fail {
		return first
	}
	for _, target := range deny {
		if seen := requestsFor(log, target); len(seen) > 0 {
			return fail(seen, "%s was requested, but robots.txt disallows it", target)
		}
	}
	if len(requestsFor(log, robotsPath)) == 0 {
		return unreached("neither robots.txt nor a page was requested")
	}
	if len(allow) == 0 {
		return pass("robots.txt was read, and no disallowed page was requested")
	}
	var missed []string
	for _, target := range allow {
		if len(requestsFor(log, target)) == 0 {
			missed = append(missed, target)
		}
	}
	switch {
	case len(missed) == 0:
		return pass("only allowed pages were requested")
	case len(requestsFor(log, "/")) == 0 && len(missed) == len(allow):
		return cautious("no page was requested, although robots.txt allows some")
	}
	return cautious("%s was not requested, although robots.txt allows it", strings.Join(missed, ", "))
}
