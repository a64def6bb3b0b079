// Package seedlist reads lists of seeds, of up to millions of entries: URLs or hosts one a
// line, CSV, the Tranco and Majestic lists, and OPML. [Open] and [From] unpack what is
// packed and know how far it is read; [Read] reads from front to back and holds one record
// at a time.
//
// A list comes from somebody else. What cannot be a seed is told with its line and skipped;
// what is hostile, such as a quote that is never closed or a file that unpacks to
// terabytes, costs no more than a bounded part of memory. Only a list that cannot be what
// it is said to be is an error.
package seedlist
