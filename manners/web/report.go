package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report holds the judgement of a crawl.
type Report struct {
	// Answered counts the requests with a complete response.
	Answered int

	// Covered counts the fetched URLs among the Expected.
	Covered int

	// Domains are the politeness keys, in order.
	Domains []KeyStats

	// Duration is the time from the start of the first request to the last end.
	Duration time.Duration

	// Expected counts the URLs that a complete crawl fetches.
	Expected int

	// Extra lists the URLs requested without need, one for each request.
	Extra []string

	// Forbidden counts the connections to addresses outside the web, with or without a request.
	Forbidden int

	// Gaps covers the gaps of all domains.
	Gaps Distribution

	// IPs are the addresses, in order.
	IPs []KeyStats

	// Missing are the expected URLs that were not fetched.
	Missing []string

	// Overshoot is the excess of the gaps over the delay. It counts gaps after a complete response
	// without an error. With a delay for addresses, it counts only domains with their own address.
	Overshoot Distribution

	// Pages counts the page requests with a complete response.
	Pages int

	// Refetched counts the 200 responses that were not the first of their URL.
	Refetched int

	// Requests counts all requests, and the connections without one.
	Requests int

	// RetryAfter covers the domains requested again after a 429 or 503 with a Retry-After. It is
	// the delay after this instant, negative for an early request.
	RetryAfter Distribution

	// RetryAfters counts such responses.
	RetryAfters int

	// Silent counts the connections without a request.
	Silent int

	// Subnets are the /24 (and /48) of the addresses, in order.
	Subnets []KeyStats

	// TrapPages counts the requests into all Traps.
	TrapPages int

	// Traps are the domains with an entered trap, in order.
	Traps []TrapStats

	gaps       []time.Duration
	overshoots []time.Duration
	retries    []time.Duration
	violations []Violation
}

// TrapStats describes the trap of one domain.
type TrapStats struct {
	Key      string
	Requests int
}

// KeyStats describes one domain or address.
type KeyStats struct {
	// Delay is the required delay at the end.
	Delay time.Duration
	// Gap is the time from the end of one request to the start of the next; it is negative if they
	// overlap.
	Gap Distribution
	Key string
	// Peak is the maximum number of concurrent requests.
	Peak     int
	Requests int
}

// Distribution summarizes a number of durations.
type Distribution struct {
	Max, Min, P50, P95, P99 time.Duration
	N                       int
}

// distribution sorts durations and picks nearest-rank percentiles.
func distribution(all []time.Duration) Distribution {
	n := len(all)
	if n == 0 {
		return Distribution{}
	}
	slices.Sort(all)
	rank := func(percent int) time.Duration { return all[(n*percent+99)/100-1] }
	return Distribution{Max: all[n-1], Min: all[0], N: n, P50: rank(50), P95: rank(95), P99: rank(99)}
}

func (d Distribution) String() string {
	if d.N == 0 {
		return "none"
	}
	return fmt.Sprintf("min %s, p50 %s, p99 %s, max %s (%d)",
		short(d.Min), short(d.P50), short(d.P99), short(d.Max), d.N)
}

// Violations returns the violations, in order of time.
func (r Report) Violations() []Violation { return r.violations }

// PagesPerSecond returns the rate of pages with a complete response.
func (r Report) PagesPerSecond() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Pages) / r.Duration.Seconds()
}

const (
	maxShownKeys       = 10
	maxShownViolations = 20
)

// String formats the report for people.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	// A strings.Builder takes every write.
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	row("requests\t%d (%d with a response, %d pages, %d silent connections) in %s, %.1f pages/s",
		r.Requests, r.Answered, r.Pages, r.Silent, short(r.Duration), r.PagesPerSecond())
	row("coverage\t%d of %d, %d missing, %d extra, %d fetched again",
		r.Covered, r.Expected, len(r.Missing), len(r.Extra), r.Refetched)
	row("gaps\t%s", r.Gaps)
	row("overshoot\t%s", r.Overshoot)
	row("waits\t%d requested by Retry-After, late by %s", r.RetryAfters, r.RetryAfter)
	row("hostile\t%d requests in %d traps, %d connections to forbidden addresses",
		r.TrapPages, len(r.Traps), r.Forbidden)
	row("violations\t%s", r.counts())
	r.rows(row, "domain", r.Domains)
	r.rows(row, "address", r.IPs)
	r.rows(row, "subnet", r.Subnets)
	_ = w.Flush()
	for _, v := range r.violations[:min(len(r.violations), maxShownViolations)] {
		b.WriteString(v.String() + "\n")
	}
	if more := len(r.violations) - maxShownViolations; more > 0 {
		fmt.Fprintf(&b, "… and %d more violations\n", more)
	}
	return b.String()
}

// rows prints the keys that came closest to their delay.
func (r Report) rows(row func(string, ...any), name string, keys []KeyStats) {
	keys = slices.Clone(keys)
	slices.SortStableFunc(keys, func(a, b KeyStats) int {
		return cmp.Compare(a.slack(), b.slack())
	})
	row("\n%s\trequests\tpeak\tdelay\tgap min\tp50\tp99\tmax", name)
	for _, k := range keys[:min(len(keys), maxShownKeys)] {
		row("%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s", k.Key, k.Requests, k.Peak, short(k.Delay),
			short(k.Gap.Min), short(k.Gap.P50), short(k.Gap.P99), short(k.Gap.Max))
	}
	if more := len(keys) - maxShownKeys; more > 0 {
		row("… and %d more", more)
	}
}

// slack returns the difference of a key's shortest gap and its delay; keys without gaps come last.
func (k KeyStats) slack() time.Duration {
	if k.Gap.N == 0 {
		return 1<<63 - 1
	}
	return k.Gap.Min - k.Delay
}

func (r Report) counts() string {
	if len(r.violations) == 0 {
		return "none"
	}
	count := make(map[Breach]int)
	for _, v := range r.violations {
		count[v.Breach]++
	}
	var parts []string
	for kind, n := range count {
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// short rounds for people.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second || d <= -10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second || d <= -time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
