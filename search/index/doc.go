// Package index implements the search index. The index records the pages of each word, its number
// of occurrences and the texts that contain it. The package defines the layout of the index and
// evaluates queries. Its callers store and fetch the chunks.
//
// The index consists of segments, like Lucene's. A segment has some pages and never changes.
// [Build] makes a small segment of the pages of a few seconds. [Merge] combines segments of similar
// size in the background. A page that is fetched again is in a newer segment with a higher version.
// Merges drop the older versions. Until then, searches skip them when they look up the page.
//
// A segment numbers its pages from 0, the highest worth first. Its chunks have up to 7,800 bytes,
// so that each fits into a page of Postgres:
//
//   - terms: the dictionary, in the order of its keys. An entry has the number of pages, and small
//     postings or else the first page of each block of postings.
//   - postings: pages, and for each a byte of [feature]: the texts with the term, and its count
//     in the main text. A posting of a word also has the buckets of the preceding words.
//   - columns: the length, worth, language, date and id of each page.
//
// A key begins with a letter: w for a word as written, s for a stem, d for a domain, l for a
// language.
//
// The index has no positions, so that texts cannot be reconstructed. A phrase matches if each word
// has the bucket of the preceding word ([crawl.BucketOf]). This is a biword index (Manning,
// Raghavan and Schütze, "Introduction to Information Retrieval", 2008, section 2.4.1) with hashed
// biwords. Some pages whose words are apart thus match, too.
//
// Every matching page gets a score. That takes about 4 bytes and 10 ns for each page of a word:
// some milliseconds for a word on a third of a million pages. The rarest word is looked up first,
// and then only the blocks of other words that may have one of its pages.
package index
