package decide

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Pace is the strictest pace of all runs that need a domain, of operators, and of robots.txt.
type Pace struct {
	// Waits holds the fields that do not depend on a response.
	Waits crawl.Waits
	// IPDelay and SubnetDelay are 0 if disabled.
	IPDelay     time.Duration
	SubnetDelay time.Duration
	// RegisteredDelay is the delay between all domains of a registered domain; 0 if each counts alone.
	RegisteredDelay time.Duration
}

// PaceOf returns the strictest pace required by the facts of the domains of a request.
func PaceOf(all ...crawl.Facts) (p Pace) {
	for _, f := range all {
		p.Waits.Domain = max(p.Waits.Domain, f.Domain.Controls.Delay())
		p.Waits.CrawlDelay = max(p.Waits.CrawlDelay, time.Duration(f.Domain.CrawlDelay))
		for _, r := range activeRuns(f) {
			delay := time.Duration(*r.Settings.Delay)
			p.Waits.Configured = max(p.Waits.Configured, delay)
			p.IPDelay = max(p.IPDelay, time.Duration(*r.Settings.IPDelay))
			p.SubnetDelay = max(p.SubnetDelay, time.Duration(*r.Settings.SubnetDelay))
			if *r.Settings.GroupBy == settings.GroupByRegistered {
				p.RegisteredDelay = max(p.RegisteredDelay, delay)
			}
		}
	}
	return p
}

// WindowTexts returns the windows of a domain's runs, and of an operator, as written. All must be
// open, like the windows of its site ([crawl.DomainFacts]).
func WindowTexts(f crawl.Facts) []string {
	var texts []string
	for _, r := range activeRuns(f) {
		if w := *r.Settings.Window; w != "" {
			texts = append(texts, w)
		}
	}
	if w := f.Domain.Controls.Window(); w != "" {
		texts = append(texts, w)
	}
	return texts
}
