// Package seedfile reads seed files, of up to millions of entries: URLs or hosts one a
// line, CSV, the Tranco and Majestic lists, and OPML. [Open] and [From] unpack compressed
// lists and count how far they are read; [Read] reads from front to back and holds one
// record at a time.
//
// A list comes from somebody else. Entries that cannot be seeds are reported with their
// line and skipped. Hostile input, such as a quote that is never closed or a file that
// unpacks to terabytes, costs a bounded amount of memory. Only a list in another format
// than its source names is an error.
package seedfile
