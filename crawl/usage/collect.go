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
// tdm-policy and Content-Signal, of each at most MaxValues values.
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
}

// AddRobots adds the values of the Content-Signal lines of the robots.txt group
// that binds us, of which at most MaxValues are read.
func (p *Usage) AddRobots(lines []string) {
	for _, line := range lines[:min(len(lines), MaxValues)] {
		p.ContentSignals.add(line, SourceRobotsSignals)
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
