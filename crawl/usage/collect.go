package usage

import (
	"iter"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// AddMeta adds a meta element by its name and content. It ignores unknown names; neither case nor
// white space around a name matter.
func (p *Usage) AddMeta(name, content string) {
	const maxNameLength = 32 // beyond all names, with generous white space
	if len(name) > maxNameLength {
		return
	}
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "robots":
		(&directives{usage: p, source: SourceMetaRobots}).read(content)
	case Token:
		(&directives{usage: p, source: SourceMetaToken}).read(content)
	case "tdm-reservation":
		p.addReservation(content, SourceMetaTDM)
	case "tdm-policy":
		p.setPolicy(policyURL(content))
	}
}

// AddHeader adds the signals of a response's header: X-Robots-Tag, tdm-reservation, tdm-policy,
// Content-Signal and Content-Usage, of each at most MaxValues values.
func (p *Usage) AddHeader(header http.Header) {
	for _, value := range values(header, "X-Robots-Tag") {
		(&directives{usage: p, source: SourceHeader, addressed: true}).read(value)
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

// RSLType is the media type of a document of Really Simple Licensing (RSL 1.0).
const RSLType = "application/rsl+xml"

// AddLinks adds the terms of service and the licence that a response's header names (Link, RFC
// 8288; both relations are registered with IANA). Their addresses may be relative to the page's. A
// licence of [RSLType] has precedence.
func (p *Usage) AddLinks(page urls.URL, header http.Header) {
	links := values(header, "Link")
	if p.Terms == "" {
		p.Terms = linkTo(page, links, "terms-of-service", "")
	}
	p.AddLicense(linkTo(page, links, "license", RSLType), SourceHeaderLicense)
	p.AddLicense(linkTo(page, links, "license", ""), SourceHeaderLicense)
}

// linkTo returns the first usable target of a link of a relation, and of a media type, if given.
func linkTo(page urls.URL, links []string, rel, media string) string {
	for _, value := range links {
		for target, mediaType := range parseLinks(value, rel) {
			if media != "" && !strings.EqualFold(mediaType, media) {
				continue
			}
			if u, err := page.Resolve(target); err == nil && policyURL(u.String()) != "" {
				return u.String()
			}
		}
	}
	return ""
}

// LinkTo returns the target of the first link of a relation in a value of the header Link.
func LinkTo(value, rel string) (target string, found bool) {
	for target := range parseLinks(value, rel) {
		return target, true
	}
	return "", false
}

// parseLinks yields the targets and media types of a relation's links in a value of Link.
func parseLinks(value, rel string) iter.Seq2[string, string] {
	return func(yield func(target, mediaType string) bool) {
		value := value[:min(len(value), MaxValueBytes)]
		for {
			_, rest, begins := strings.Cut(value, "<")
			target, rest, ends := strings.Cut(rest, ">")
			if !begins || !ends {
				return
			}
			n, quoted := 0, false
			for n < len(rest) && (quoted || rest[n] != ',') {
				switch {
				case rest[n] == '"':
					quoted = !quoted
				case rest[n] == '\\' && quoted:
					n++
				}
				n++
			}
			params := rest[:min(n, len(rest))]
			value = rest[len(params):]
			// the parameters have the syntax of a media type's
			_, set, err := mime.ParseMediaType("link/link" + params)
			related := slices.Contains(strings.Fields(strings.ToLower(set["rel"])), rel)
			if err == nil && related && !yield(target, set["type"]) {
				return
			}
		}
	}
}

// AddRobots adds the statements on a page in our robots.txt group. The signals are the values of
// its Content-Signal lines. The usages are the preferences of its Content-Usage lines that match
// the page's path. At most MaxValues of each are read.
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

// addReservation reads a tdm-reservation: only 1 reserves. Proxies join headers with commas.
func (p *Usage) addReservation(value string, by Source) {
	for field := range strings.SplitSeq(truncateList(value), ",") {
		if strings.TrimSpace(field) == "1" {
			mark(&p.TDMReserved, by)
		}
	}
}

func values(header http.Header, key string) []string {
	list := header.Values(key)
	return list[:min(len(list), MaxValues)]
}
