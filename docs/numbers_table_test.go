package docs_test

// numbersOf are the numbers with units of one document.
type numbersOf struct {
	compared []claim
	// other are phrases with numbers that no code has, and why.
	other map[string]string
}

// Why a number is not compared.
const (
	anothers = "another's: a standard or a program that is not ours"
	example  = "an example"
	follows  = "follows from numbers that are compared"
	inWords  = "no limit: the sentence counts things"
	measured = "was measured"
)

// claims are the documents whose numbers are compared.
var claims = map[string]numbersOf{
	"docs/web.md":    webNumbers,
	"docs/search.md": searchNumbers,
	"docs/images.md": imagesNumbers,
	"docs/export.md": exportNumbers,
	"docs/feed.md": {
		compared: []claim{
			{"at most [one minute]. Without", "internal/serve.maxFeedWait"},
			{"A stream ends after [ten minutes];", "internal/serve.maxStreamDuration"},
			{"object of at most [8 KiB], or", "internal/extra.MaxBytes"},
			{"At most [16 pages] wait", "internal/request.LongReads"},
			{"takes more than [10 s] is killed", "internal/extra.DefaultTimeout"},
			{"the program rests for [10 s], and", "internal/extra.restTime"},
		},
	},
	"docs/archive.md": {compared: []claim{
		{"It is complete at [1 GiB], or", "internal/archive.MaxFileBytes"},
		{"once it is complete: at [1 GiB], after", "internal/archive.MaxFileBytes"},
		{"after [one hour], or", "internal/archive.maxAge"},
		{"that stops uploads for [10 seconds];", "cmd/internal/wiring.uploadTimeout"},
	}},
	"docs/backups.md": backupsNumbers,
	"README.md": {
		compared: []claim{
			{"waits [10 seconds] between two requests", "setting delay"},
		},
		other: map[string]string{
			"about [5 minutes] on two cores": measured, "and [5 GB] of disk": measured,
			"waits 10 seconds between [two requests]": inWords,
		},
	},
	"docs/politeness.md": politenessNumbers,
	"docs/operations.md": operationsNumbers,
	"docs/upgrades.md": {
		compared: []claim{
			{"and again after [10 seconds] if", "workflows.wakeRetryInterval"},
			{"A step waits [500 ms] for", "db.lockTimeout"},
			{"tries again for up to [ten minutes].", "db.lockRetryTimeout"},
			{"notices it within [15 seconds].", "cmd/internal/wiring.schemaCheckInterval"},
		},
		other: map[string]string{"have been gone for [five minutes]. Temporal": anothers}, // Temporal's
	},
	"docs/traces.md": {
		compared: []claim{
			{"A URL is cut to [2,000 bytes] and", "internal/request.maxTracedURLBytes"},
			{"takes up to [three seconds] to send", "cmd/internal/telemetry.flushTimeout"},
		},
		other: map[string]string{
			"A crawl of [100 pages]/s makes": example, "an activity between [two requests].": inWords,
			"in the background, every [five seconds] or": anothers,
		},
	},
	"docs/temporal.md": {compared: []claim{
		{"twice the last one, at most [300 s]. Another", "crawl/politeness.BackoffMax"},
		{"A wait of more than [300 s] is a timer", "crawl/politeness.BackoffMax"},
		{"attempt is made after [one second], then", "activities.firstInternalFailureDelay"},
		{"one second, then every [15 s]. No", "activities.internalFailureDelay"},
	}},
	"docs/identity.md": {
		compared: []claim{
			{"be renewed every [24 hours]. `", "internal/about.RangesAge"},
			{"agrees with ours to [two seconds] |", "cmd/internal/doctor.clockSkewWarning"},
			{"list, at most [two days] old", "cmd/internal/doctor/identity.go: maxRangesAge = 2 * about.RangesAge"},
			{"and HTML of at most [1 MiB], names", "cmd/internal/doctor.maxContactBytes"},
		},
	},
	"docs/runs.md": {
		compared: []claim{
			{"the rate of the last [five minutes], and", "crawl/report.RateWindow"},
			{"a request in the last [five minutes] it shows", "crawl/report.RateWindow"},
			{"between an hour and [180 days].", "crawl/recrawl.MaxInterval"},
			{"down to once in [30 days].", "crawl/recrawl.MaxSkipInterval"},
			{"returns 404 [five times] in a row", "crawl/recrawl.FadeMissing"},
			{"A page is due [7 days] after", "crawl/recrawl/history.go: initialDays = 7.0"},
			{"closed for more than [five minutes], it has", "crawl/politeness.BackoffMax"}, // decide.IdleWaitMax
			{"once [eight pages] of the pattern", "db/functions/patterns.sql: p_seen >= 8"},
			{"prints a line every [10 seconds]. Ctrl-C", "cmd/mosey/command.PlainInterval"},
		},
		other: map[string]string{"delay between any [two requests] to": inWords},
	},
	"docs/architecture.md": {
		compared: []claim{
			{"(`_________` and [5 s]) and the delay", "internal/request.leaseMargin"},
			{"The timer ends [0.4 s] before", "activities.timerLead"},
			{"for at most [five minutes]. It", "activities.maxBatchDuration"},
			{"waits up to [ten seconds] for each slot", "activities.maxBatchWait"},
			{"for at most [1,000 pages]. ##", "crawl/settings.PagesPerActivityMax"},
			{"Every [15 s] one worker", "internal/reconcile.Interval"},
			{"misses its heartbeat within [three minutes] and", "workflows.heartbeatTimeout"},
			{"is cached for [two minutes] to be recorded", "internal/request.recordTimeout"},
			{"from before [three days]; the second", "db.minuteRetention"},
		},
	},
	"docs/settings.md":  {},
	"docs/seeds.md":     {},
	"docs/releasing.md": {},
	"docs/moving.md":    {},
	"docs/alerts.md":    {compared: []claim{{"from Postgres within [two seconds], for", "db.watchTimeout"}}},
	"docs/security.md":  {compared: []claim{{"| [16 origins] of a domain", "crawl/decide.OriginsMax"}}},
}

var politenessNumbers = numbersOf{
	compared: []claim{
		{"have work there; default [10 s]", "setting delay"},
		{"(default [1 s]) is the same gap", "setting ip_delay"},
		{"and [5 s]) and the delay has", "internal/request.leaseMargin"},
		{"The file holds for [24 hours], or", "internal/read.MaxRobotsFresh"},
		{"but at least [10 minutes] and", "crawl/decide.RobotsLifetimeMin"},
		{"and at most [24 hours]. Then", "internal/read.MaxRobotsFresh"},
		{"the delay is at least [1 s]; with", "internal/read.malformedDelay"},
		{"followed up to [5 times], each hop", "internal/read.maxRobotsHops"},
		{"the copy of the last [24 hours] holds", "internal/read.MaxRobotsFresh"},
		{"a failing robots.txt [four times], with", "crawl/decide.RobotsAttempts"},
		{"with each further failure up to [30 days], or", "crawl/politeness.AbandonWaitMax"},
		{"requested again after [ten minutes] |", "crawl/decide.RobotsLifetimeMin"},
		{"requests at most [16 origins] of a domain", "crawl/decide.OriginsMax"},
		{"The first [500 KiB] count.", "internal/robots.MaxBytes"},
		{"That takes [four tries]. A", "crawl/decide.RobotsAttempts"},
		{"within the domain, up to [5 times], if", "internal/read.maxRobotsHops"},
		{"The times hold for [two days] after robots.txt", "db/functions/facts.sql: x.read_at + interval '2 days'"},
		{"at most [30 days]), - nor within", "crawl/freshness.Max"},
		{"([24 h]) of the last visit", "setting min_refetch"},
		{"more than [20 segments] or", "crawl/traps.PathDepthMax"},
		{"or [1,024 bytes], or repeats", "crawl/traps.PathLengthMax"},
		{"more than [20 parameters]", "crawl/traps.QueryParamsMax"},
		{"more than [two years] ahead", "crawl/traps.DateAheadMax"},
		{"may bring [50 pages] without news", "crawl/traps.PatternGrace"},
		{"may bring only [5 pages]", "crawl/traps.PatternTrial"},
		{"and [50 pages] later no page", "crawl/traps.PatternDebt"},
		{"less than [20 words] is too short", "crawl/traps.SimHashWordsMin"},
		{"[Four pages] that name another", "crawl/traps.CopiesPerDuplicate"},
		{"The first [50 MiB] and", "internal/sitemap.MaxBytes"},
		{"and [50,000 URLs] of each", "internal/sitemap.MaxEntries"},
		{"The first [4 MiB] and", "internal/sitemap.MaxFeedBytes"},
		{"and [1,000 entries] of each", "internal/sitemap.MaxFeedEntries"},
		{"doubles the delay (at least [1 s]), or", "crawl/politeness.BackoffBase"},
		{"grows up to [5 minutes], or", "crawl/politeness.BackoffMax"},
		{"Once [three URLs] in a row have failed", "crawl/politeness.failuresInARow"},
		{"then each time [four times] as long", "crawl/politeness/pace.go: factor = 4.0"},
		{"as long, up to [300 s]; after", "crawl/politeness.BackoffMax"},
		{"more than half of its last [20 URLs]", "crawl/politeness.HealthSamples"},
		{"response times is above [10 s]. It", "crawl/politeness.BreakerSlow"},
		{"([5 min]). Then one", "setting graylist"},
		{"up to [three times] `________`. Probes", "crawl/politeness.maxGraylistFactor"},
		{"each failed probe, up to [30 days]. A good", "crawl/politeness.AbandonWaitMax"},
		{"otherwise after [three minutes]", "internal/network.defaultDoubtLimit"},
		{"made again, at most [five times].", "internal/network.maxWithdrawals"},
		{"only [three requests] of the kind", "internal/network.maxCanaries"},
		{"no connection for [six minutes], counted", "crawl/politeness.maxUnreachable"},
		{"more than two minutes it has [three tries].", "crawl/politeness/health.go: max(maxUnreachable, 3*delay)"},
		{"([1 h]) | the domain is deferred", "setting defer_after"},
		{"robots.txt and the last [ten requests].", "db/queries/slots.sql: ORDER BY c.completed_at DESC LIMIT 10"},
		{"Mosey learns of it within [24 hours].", "internal/read.MaxRobotsFresh"},
		{"connect, TLS included | [5 s] |", "internal/fetch/config.go: cmp.Or(c.ConnectTimeout, 5*time.Second)"},
		{"first byte | [10 s] |", "internal/fetch/config.go: cmp.Or(c.FirstByteTimeout, 10*time.Second)"},
		{"`_________`, [30 s] | | a body", "internal/fetch.TotalTimeoutDefault"},
		{"a body that pauses | [10 s] without", "internal/fetch/config.go: cmp.Or(c.IdleTimeout, 10*time.Second)"},
		{"or under [1 KB]/s", "internal/fetch.minRate"},
		{"body, decoded | [10 MB], of", "internal/fetch.MaxBodyBytesDefault"},
		{"of an image [20 MB]; a longer", "crawl/kinds/kinds.go: MaxBytes: 20_000_000, Large: true, Accepts: acceptsImage"},
		{"bodies longer than [64 KiB], all", "internal/fetch.unsharedBodyBytes"},
		{"all in a process | [256 MB], each", "internal/fetch/config.go: max(256_000_000, c.MaxBodyBytes)"},
		{"each counted as [10 MB]; further", "internal/fetch.MaxBodyBytesDefault"},
		{"headers | [256 KiB] |", "internal/fetch.maxHeaderBytes"},
		{"URL | [2,048 bytes] |", "crawl/urls.MaxLength"},
		{"is deferred for [15 minutes], then", "crawl/decide.minRefusedDeferral"},
	},
	other: map[string]string{
		"or [six minutes] with a delay": follows, "with a delay of [10 s]. The": example,
		"counts as [two tries], and": inWords,
		"the same, here [10 s]":      example, "reads [two times] of four digits": inWords,
		"only the origin: [4 s] or four delays": follows, "follow within [30 s]. An": follows,
		"one request in [two days], and": follows, "ends within [ten minutes] and names": follows,
		"a delay of more than [two minutes] it has": follows,
	},
}

var operationsNumbers = numbersOf{
	compared: []claim{
		{"- **Temporal** retains closed workflows for [7 days].", "internal/stack/temporal.retention"},
		{"which retains closed workflows for [7 days].", "internal/stack/temporal.retention"},
		{"Requests in flight have [20 seconds] to end", "cmd/internal/wiring/wiring.go: default:\"20s\" expert:\"\""},
		{"A share expires after [15 seconds].", "db/functions/workers.sql: 15000 END"},
		{"as lost after [30 seconds] of silence", "db.lostPeerTimeout"},
		{"to another worker [three minutes] after", "workflows.heartbeatTimeout"},
		{"up to [16 connections].", "db.PoolConnsDefault"},
		{"that is reported [ten times] or more", "internal/stack/failures.lastingCount"},
		{"or more over [three minutes].", "internal/stack/failures.lastingDuration"},
		{"An image of more than [64 KiB] is in", "internal/fetch.unsharedBodyBytes"},
		{"gave one text for [three URLs], and", "internal/ruling.repeatsMin"},
		{"before a gap of [30 days] without", "crawl.OwnerGap"},
		{"of at most [20 MB] each", "crawl/kinds/kinds.go: MaxBytes: 20_000_000, Large: true, Accepts: acceptsImage"},
		{"unreachable for less than [three minutes].", "internal/network.defaultDoubtLimit"},
		{"(95th percentile from [2 s]) get", "internal/request.slowResponse"},
		{"embedded Temporal | limit [448 MiB], grows", "cmd/internal/wiring.MemoryWithTemporal"},
		{"times above [1,000 MiB] |", "cmd/internal/wiring.relaxedMemoryMax"},
		{"worker | limit [256 MiB], grows", "cmd/internal/wiring.MemoryWithoutTemporal"},
		{"active domains | [48 KiB] each", "cmd/internal/wiring.bytesPerCachedWorkflow"},
		{"bodies of more than [64 KiB] | share", "internal/fetch.unsharedBodyBytes"},
		{"| share [256 MB]; each", "internal/fetch/config.go: max(256_000_000, c.MaxBodyBytes)"},
		{"counts as [10 MB] until", "internal/fetch.MaxBodyBytesDefault"},
		{"a DOM of at most [50,000 tags]", "internal/extract.MaxDOMTagsDefault"},
		{"decoding of images | [320 MB] in all", "internal/picture/picture.go: limits.MaxMemory = cmp.Or(limits.MaxMemory, 320_000_000)"},
		{"but at least [5 minutes] and at most an hour", "internal/dns.minCacheTTL"},
		{"| 1 to [5 minutes] |", "internal/dns.maxDenialTTL"},
		{"| up to [24 hours] beyond", "internal/dns.maxStaleAge"},
		{"at most [500 queries] a second", "internal/dns/config.go: cmp.Or(c.rate, 500)"},
		{"wait for that rate | [10 s]; then", "internal/dns/config.go: cmp.Or(c.timeout, 10*time.Second)"},
		{"comes last for [ten minutes].", "internal/request.brokenTTL"},
	},
	other: map[string]string{
		"code 0 at most [5 seconds] after":  follows,
		"effect within some [ten seconds].": follows, "renews its share every [five seconds].": follows, "and [20 seconds], because its requests": follows,
		"A pod has [30 seconds] to end": anothers,
		"each: [1.3 GB]. The":           follows, "requested again, every [30 seconds] at most": follows,
		"near [100 pages]/s": measured, "which is [1,000 domains] at": follows, "at a delay of [10 s]. With": example,
		"(about [130 MB]), models": measured, "languages ([76 MB] if": measured,
	},
}

var webNumbers = numbersOf{
	compared: []claim{
		{"It has [six connections] to Postgres", "db/store.go: openReading(ctx, url, 2*time.Second, 6)"},
		{"statement ends after [two seconds]. Two", "db/store.go: openReading(ctx, url, 2*time.Second, 6)"},
		{"has [20 seconds] to arrive", "internal/serve.uploadTimeout"},
	},
	other: map[string]string{"took at most [62 ms] in": measured},
}

// uncompared are the documents that are not in the table, and why.
var uncompared = map[string]string{
	"docs/benchmarks.md": measured,
	"docs/scale.md":      measured,
	"docs/comparison.md": "about other crawlers",
	"docs/doctor.md":     "generated",
	"docs/metrics.md":    "generated",
}
