// Package plans tests how many rows plans read: it runs each statement of db/queries and each
// inside db/functions on a database of a million pages.
//
// Rows that are only counted, sorted away or compared in vain are read but not needed: see needs.
// The first such fault was a count of attempts along the wrong index, which read more with every
// stored page.
package plans
