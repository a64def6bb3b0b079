// Package sitemap reads lists of a site's pages: feeds, and sitemaps as in sitemaps.org,
// which are files of URLs in XML or plain text, and indexes of such files, compressed or
// not.
//
// A file is a stranger's. It counts up to [MaxBytes] after it is unpacked, and up to
// [MaxEntries] URLs. It is read from front to back and never held as a tree. A file that
// is cut off or malformed counts as far as it can be read. The package does no I/O. The
// caller judges whose URLs a sitemap may name.
package sitemap
