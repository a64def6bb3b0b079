// Package index is the search index: which pages have a word, how often, in which of
// their texts and where. It knows the layout of the index and how a query is evaluated;
// its chunks are stored and fetched by others.
//
// The index is made of segments, as Lucene's is. A segment holds some pages and never
// changes. The pages of a few seconds make a small one ([Builder]); segments of about the
// same size are merged into one, in the background ([Merge]). A page that is read again is
// in a newer segment with a higher version. Its older versions stay where they are until a
// merge drops them; a search finds out when it looks up the page.
//
// A segment numbers its pages from 0, those that are worth most first. It is stored in
// chunks of up to 7,800 bytes, each of which fits into a page of Postgres. Only a word that
// a page has thousands of times takes more, up to 24 KB for its positions:
//
//   - terms: the dictionary, in the order of its keys. An entry has the number of pages,
//     and where these are few the postings and the positions themselves. Otherwise it
//     says with which page each block of them begins.
//   - postings: pages, and for each a byte of [feature]: in which texts the term is, and
//     how often in the main text.
//   - positions: where the term is in each page.
//   - columns: for each page what is needed of it: length and worth, language, date, and
//     its id.
//
// A key begins with a letter: w is a word as it is written, with positions; s is a stem,
// without; d is a domain, l a language.
//
// A query is evaluated whole: each page that has what is asked for gets a score, whatever
// their number. That is about 2 bytes and 10 ns for each page of a word, so that a word on
// a third of a million pages takes some milliseconds. The pages of the rarest word are
// looked up first, and of other words only the blocks that may have one of these.
package index
