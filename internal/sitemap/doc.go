// Package sitemap reads feeds and the sitemaps of sitemaps.org: files of URLs in XML or plain text,
// and indexes of such files, compressed or not.
//
// Files are untrusted. At most [MaxBytes] after unpacking and [MaxEntries] URLs are read, in one
// pass and without building a tree. Truncated and malformed files are read as far as possible. The
// package does no I/O. The caller decides whether a sitemap may name a URL.
package sitemap
