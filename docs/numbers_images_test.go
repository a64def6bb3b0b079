package docs_test

var imagesNumbers = numbersOf{
	compared: []claim{
		{"its file has more than [20 MB], or", "crawl/kinds/kinds.go: MaxBytes: 20_000_000, Large: true, Accepts: acceptsImage"},
		{"| file | [20 MB], within", "crawl/kinds/kinds.go: MaxBytes: 20_000_000, Large: true, Accepts: acceptsImage"},
		{"`_________` ([30 s]) as any request", "internal/fetch.TotalTimeoutDefault"},
		{"have at most [300 bytes].", "internal/extract.MaxImageTextBytes"},
		{"pHashes differ in at most [8 bits] (", "crawl/report.ImageDistanceMax"},
		{"decoding, all in a process | [320 MB], estimated", "internal/picture/picture.go: limits.MaxMemory = cmp.Or(limits.MaxMemory, 320_000_000)"},
		{"are read up to [1 MiB] each", "internal/picture.sectionBytesMax"},
		{"The worker tries after [five seconds], then", "internal/read.minCheckInterval"},
		{"are an error at once, or after [10 seconds] if", "internal/imagestore.openTimeout"},
		{"(24 h; at least [2 h]); the", "internal/imagestore.DeleteAgeMin"},
		{"than `____________` ([24 h]; at least", "cmd/mosey/images/maintain.go: `default:\"24h\""},
	},
	other: map[string]string{
		"as numbers of [64 bits] with a sign": anothers, "with their defaults): [64 bits] each": anothers, // ImageHash's
		"differs in more than [two bits]. The": measured,
		"a minute, which is [20 MB] at":        follows,
	},
}

var exportNumbers = numbersOf{
	other: map[string]string{
		"heap of 32 to [104 MB]. A": measured, "link takes [6 bytes] in": measured, "19, 499 and [317 bytes] (": measured,
		"yes | [64 bits] in hexadecimal": anothers, // a SimHash of 64 bits is the published kind
	},
}
