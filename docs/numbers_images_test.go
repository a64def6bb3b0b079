package docs_test

var imagesNumbers = numbersOf{
	compared: []claim{
		{"its file has more than [20 MB], or", "crawl/kinds/kinds.go: MaxBytes: 20_000_000, Large: true, Takes: image"},
		{"| a file | [20 MB], within", "crawl/kinds/kinds.go: MaxBytes: 20_000_000, Large: true, Takes: image"},
		{"`_________` ([30 s]) as any request", "internal/fetch.TotalTimeoutDefault"},
		{"; [300 bytes] each", "internal/extract.MaxImageTextBytes"},
		{"have less than [2 bits] of entropy", "internal/picture.entropyMin"},
		{"pHashes differ in at most [8 bits] (", "crawl/report.ImageDistanceMax"},
		{"If two hashes differ in at most [8 bits], they", "crawl/report.ImageDistanceMax"},
		{"nothing within [8 bits] is missed", "crawl/report.ImageDistanceMax"},
		{"decoding, all in a process | [320 MB] by", "internal/picture/picture.go: limits.MaxMemory = 320_000_000"},
		{"a body of more than [64 KiB] |", "internal/fetch.shareFree"},
		{"IPTC of up to [1 MiB] each", "internal/picture.sectionBytesMax"},
		{"The worker tries after [five seconds], then", "internal/read.storeTrust"},
		{"are an error at once, or after [10 seconds] if", "internal/imagestore.openSpan"},
		{"(24 h; at least [2 h]) are deleted", "internal/imagestore.DeleteAgeMin"},
		{"`____________` ([24 h]; at least", "cmd/mosey/images/maintain.go: `default:\"24h\""},
		// image_band_near flips two bits of a band.
		{"So all values within [2 bits] of each band", "db/functions/images.sql: FROM flips a CROSS JOIN flips b"},
	},
	other: map[string]string{
		"as numbers of [64 bits] with a sign": anothers, "as they come): [64 bits] each": anothers, // ImageHash's
		"differs in more than [two bits]. A picture": measured,
		"three bands of 22, 21 and [21 bits], each":  follows,
		"may take a minute to be stored, [20 MB] at": follows,
		"All [three parameters] are needed. MinIO":   inWords,
	},
}

var exportNumbers = numbersOf{
	other: map[string]string{
		"10 million links between [500,000 pages]. On": example, "which the [20,000 pages] of the last": example,
		"| 5.7 | [89 MB] |": measured, "| 89 MB | [70 MB] |": measured, "| 353 | [32 MB] |": measured,
		"| 32 MB | [24 MB] |": measured, "| 202 | [33 MB] |": measured, "| 33 MB | [25 MB] |": measured,
		"| 18.8 | [104 MB] |": measured, "| 104 MB | [65 MB] |": measured, "| 499 | [40 MB] |": measured,
		"| 40 MB | [35 MB] |": measured, "| 317 | [41 MB] |": measured, "| 41 MB | [35 MB] |": measured,
		"yes | [64 bits] in hexadecimal": anothers, // a SimHash of 64 bits is the published kind
	},
}
