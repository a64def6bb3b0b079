package usage

import (
	"net/http"
	"strings"
)

// AddMeta adds a meta element by its name and content. Names that say nothing
// here are ignored; neither case nor white space around a name matter.
func (p *Usage) AddMeta(name, content string) {
	const longest = 32 // beyond all names, with generous white space
	if len(name) > longest {
		return
	}
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "robots":
		p.addMetaRobots(content, SourceMetaRobots)
	case Token:
		p.addMetaRobots(content, SourceMetaToken)
	case "tdm-reservation":
		p.addReservation(content, SourceMetaTDM)
	case "tdm-policy":
		p.setPolicy(policyURL(content))
	}
}

// AddHeader adds what an answer's header says: X-Robots-Tag, tdm-reservation,
// tdm-policy, Content-Signal and Content-Usage, of each at most MaxValues values.
func (p *Usage) AddHeader(header http.Header) {
	for _, value := range values(header, "X-Robots-Tag") {
		p.addRobotsTag(value)
	}
	for _, value := range values(header, "Tdm-Reservation") {
		p.addReservation(value, SourceHeaderTDM)
	}
	for _, value := range values(header, "Tdm-Policy") {
		p.setPolicy(policyURL(value))
	}
	for _, value := range values(header, "Content-Signal") {
		p.ContentSignals.add(value, SourceHeaderSignal)
	}
	for _, value := range values(header, "Content-Usage") {
		p.ContentSignals.addUsage(value, SourceHeaderUsage)
	}
}

// AddRobots adds what the robots.txt group that binds us says of a page. The signals are the
// values of its Content-Signal lines. The usages are the preferences of its Content-Usage lines
// that match the page's path. Of each at most MaxValues are read.
func (p *Usage) AddRobots(signals, usages []string) {
	for _, line := range signals[:min(len(signals), MaxValues)] {
		p.ContentSignals.add(line, SourceRobotsSignals)
	}
	for _, line := range usages[:min(len(usages), MaxValues)] {
		p.ContentSignals.addUsage(line, SourceRobotsUsage)
	}
}

// AddTDM adds the rule of tdmrep.json that [TDM.Match] found for the page.
func (p *Usage) AddTDM(rule TDMRule) {
	switch {
	case rule.Unread:
		mark(&p.TDMReserved, SourceUnreadTDM)
	case rule.Reserved:
		mark(&p.TDMReserved, SourceFileTDM)
	}
	p.setPolicy(policyURL(rule.Policy))
}

// addReservation reads a tdm-reservation: 1 or 0, anything else says nothing.
// Proxies join repeated headers with commas.
func (p *Usage) addReservation(value string, by Source) {
	for field := range strings.SplitSeq(bounded(value), ",") {
		if strings.TrimSpace(field) == "1" {
			mark(&p.TDMReserved, by)
		}
	}
}

func values(header http.Header, key string) []string {
	list := header.Values(key)
	return list[:min(len(list), MaxValues)]
}
