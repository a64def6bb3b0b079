// Package reasons declares, once each, why a page is not requested, or not yet. All
// that enumerates reasons is a column of the one table: the words of the commands,
// the status in Temporal's UI, what has a skipped page decided again. The database
// reads the same table as db/functions/reasons.sql, which SQL writes.
//
// A new reason is a constant and a row in reasons.go, and whatever decides by it.
package reasons
