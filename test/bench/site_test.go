package bench_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// BenchmarkOneSite measures how fast one site is crawled that wants no delay: one
// request after the other, so that the pages a second are how long a page takes. The
// metrics chain-… of the metered scenario split that time; the meter adds to it.
func BenchmarkOneSite(b *testing.B) {
	site := scenario{
		domains: 1, apart: true, onward: true, links: typicalLinks,
		settings: settings.Settings{LatencyFactor: new(0.0), IPDelay: new(settings.Duration(0))},
	}
	metered, many := site, site
	metered.metered, many.pages = true, 50
	run(b, site, many, metered)
}

// chainShown is the least time a page of a statement that gets a metric of its own.
const chainShown = 20 * time.Microsecond

// reportChain splits the time from the end of a request to the end of the next request. The parts
// are the request as the site sees it, the round trips of each statement, and the rest. The worker
// and Temporal use the rest. Work during a request is counted twice, so that the reported rest is
// too small.
func (i interval) reportChain(b *testing.B) {
	b.Helper()
	var fetch time.Duration
	for _, record := range i.log {
		fetch += record.End - record.Start
	}
	a := func(sum time.Duration) float64 { return millis(sum) / i.pages }
	rest := i.to.at.Sub(i.from.at) - fetch
	other := time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(i.to.statements)) {
		s, before := i.to.statements[name], i.from.statements[name]
		took := s.total - before.total
		rest -= took
		if took < time.Duration(i.pages)*chainShown {
			other += took
			continue
		}
		b.ReportMetric(a(took), "chain-"+name+"-ms")
		b.Logf("%s: %.2f a page, %.3f ms each", name, float64(s.count-before.count)/i.pages,
			millis(took)/float64(s.count-before.count))
	}
	b.ReportMetric(a(other), "chain-sql-other-ms")
	b.ReportMetric(a(fetch), "chain-fetch-ms")
	b.ReportMetric(a(rest), "chain-rest-ms")
	b.ReportMetric(a(i.to.at.Sub(i.from.at)), "chain-all-ms")
}
