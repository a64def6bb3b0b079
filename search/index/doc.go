// Package index is the search index: which pages have a word, how often and in which of their texts.
// It defines the layout of the index and evaluates queries. Its callers store and fetch the
// chunks.
//
// The index consists of segments, as Lucene's does. A segment has some pages and never changes. The
// pages of a few seconds make a small one ([Build]); segments of about the same size are merged into
// one, in the background ([Merge]). A page that is read again is in a newer segment with a higher
// version. Its older versions stay until a merge drops them; a search skips them when it looks up
// the page.
//
// A segment numbers its pages from 0, the highest worth first. Its chunks have up to 7,800 bytes, so
// that each fits into a page of Postgres:
//
//   - terms: the dictionary, in the order of its keys. An entry has the number of pages, and the
//     postings if they are small, or else the first page of each block of them.
//   - postings: pages, and for each a byte of [feature]: the texts that have the term, and its count
//     in the main text. A posting of a word also has the buckets of the words before it.
//   - columns: the length, worth, language, date and id of each page.
//
// A key begins with a letter: w for a word as it is written, s for a stem, d for a domain, l for a
// language.
//
// The index has no positions, from which a text could be put together again. A phrase is found by its
// words, each of which must have the bucket of the word before it ([crawl.BucketOf]). That is a biword
// index (Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, section 2.4.1)
// whose biwords are hashed: some pages that have the words apart are found, too.
//
// Each page that matches a query gets a score, whatever their number. That takes about 4 bytes and
// 10 ns for each page of a word: some milliseconds for a word on a third of a million pages. The
// rarest word is looked up first, and of other words only the blocks that may have one of its pages.
package index
