// Package sitemap reads what lists the pages of a site: sitemaps as sitemaps.org says, files
// of URLs in XML or as plain text, and indexes of such files, compressed or not; and feeds.
//
// What is read is a stranger's: a file counts up to [MaxBytes] after it is unpacked and
// [MaxEntries] URLs, is read from front to back without being held as a tree, and one that
// is cut off or malformed counts as far as it can be read. The package does no I/O, and
// whose URLs a sitemap may name is for the caller to judge.
package sitemap
