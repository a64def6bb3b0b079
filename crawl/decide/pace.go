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

// PaceOf returns the pace required by a domain's facts.
func PaceOf(f crawl.Facts) Pace {
	p := Pace{Waits: crawl.Waits{
		Domain: f.Domain.Controls.Delay(), CrawlDelay: time.Duration(f.Domain.CrawlDelay),
	}}
	for _, r := range activeRuns(f) {
		runPace := Pace{
			Waits:   crawl.Waits{Configured: time.Duration(*r.Settings.Delay)},
			IPDelay: time.Duration(*r.Settings.IPDelay), SubnetDelay: time.Duration(*r.Settings.SubnetDelay),
		}
		if *r.Settings.GroupBy == settings.GroupByRegistered {
			runPace.RegisteredDelay = time.Duration(*r.Settings.Delay)
		}
		p = p.And(runPace)
	}
	return p
}

// And returns the stricter of two paces.
func (p Pace) And(o Pace) Pace {
	p.Waits.Configured = max(p.Waits.Configured, o.Waits.Configured)
	p.Waits.Domain = max(p.Waits.Domain, o.Waits.Domain)
	p.Waits.CrawlDelay = max(p.Waits.CrawlDelay, o.Waits.CrawlDelay)
	p.IPDelay = max(p.IPDelay, o.IPDelay)
	p.SubnetDelay = max(p.SubnetDelay, o.SubnetDelay)
	p.RegisteredDelay = max(p.RegisteredDelay, o.RegisteredDelay)
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

// Breaker returns the settings of a run's circuit breaker.
func Breaker(run crawl.RunFacts) crawl.BreakerSettings {
	return crawl.BreakerSettings{
		Graylist: time.Duration(*run.Settings.Graylist), MaxGraylistings: *run.Settings.MaxGraylistings,
	}
}
