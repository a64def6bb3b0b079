package docs_test

var searchNumbers = numbersOf{
	compared: []claim{
		{"If a query has [three words] or more", "search.minWordsForMissing"},
		{"may lack up to [two words]. If", "search.maxMissing"},
		{"At most [two pages] of a domain are shown", "search.maxPerDomain"},
		{"of up to [50,000] terms of a main text", "internal/terms.textTerms"},
		{"so few that [8] terms of the page share", "internal/terms.minAlternatives"},
		{"and at most [8] bits. In", "crawl.BucketBits"},
		{"more than [30] buckets may follow", "search/index.maxPreceding"},
		{"a worker adds [250] such rows", "internal/keywords.maxBatchPages"},
		{"The text is cut at [300,000] characters", "internal/extract.MaxMainRunes"},
		{"[four words] or more in", "internal/extract/documents_test.go: const wordsLeast = 4"},
		{"stored with its text ([200 bytes]; the", "internal/extract.maxAnchorBytes"},
		{"[Ten times] the PageRank adds", "internal/rank/rank.go: math.Log10(1+w/minScore)/decades"},
		{"domains, up to [20] different ones", "internal/terms.maxAnchors"},
		{"On [60] queries that were graded", "test/search/people_test.go: require.Len(t, people, 60)"},
		{"300,000 pages of [300 words], on", "search.benchWords"},
		{"with [256 MB] of buffers", "internal/stack/postgres/config.go: shared_buffers = '256MB'"},
	},
	other: map[string]string{
		"From [five words] on, pages may lack": follows, "In a page of [200 words], 24": measured,
		"page with [ten times] the PageRank is": follows, "needs some [60 bytes] for each": measured,
		"up to [three times] as much with garbage": measured, "ranking of [1,000,000 domains] with": measured,
		"takes [5.6 minutes].": measured, "Xapian on [3,206 pages] of": measured,
		"[300,000 pages] of 300 words": measured, "takes [1.15 ms] a page": measured, "[2,145 bytes] a page,": measured,
		"two of them | [19 ms]; 13": measured, "19 ms; [13 ms] |": measured, "| [44 ms]; 40": measured, "44 ms; [40 ms] |": measured,
		"in quotes | [3 ms] |": measured, "| 3 ms | [21 ms] |": measured,
		"of the pages | [23 ms] |": measured,
		"| 23 ms | [63 ms] |":      measured, "quotes | [50 ms]; 16": measured, "50 ms; [16 ms] |": measured,
		"| [107 ms]; 29": measured, "107 ms; [29 ms] |": measured,
	},
}

var backupsNumbers = numbersOf{
	compared: []claim{
		{"not stored yet, at most [256 MiB] and", "cmd/mosey/backup.partBytes"},
	},
	other: map[string]string{
		"of files took [5.2 s] and": measured, "and [182 MB], and": measured, "`_______` [6.5 s] and": measured,
		"and [107 MB].": measured, "The restore took [9.3 s], and": measured, "`__________` [12.7 s].": measured,
	},
}
