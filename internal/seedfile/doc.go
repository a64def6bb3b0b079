// Package seedfile reads seed files of up to millions of entries: URLs or hosts, one per line, CSV,
// the Tranco and Majestic lists, and OPML. [Open] and [From] unpack compressed lists and count
// their progress. [Read] reads in one pass and holds one record at a time.
//
// Lists are untrusted. Entries that cannot be seeds are reported with their line and skipped.
// Hostile input, such as an unclosed quote or a file that unpacks to terabytes, costs a bounded
// amount of memory. Only a list in another format than its declared source is an error.
package seedfile
