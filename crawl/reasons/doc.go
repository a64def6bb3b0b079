// Package reasons declares each reason for not requesting a page, or not yet, once. Everything that
// enumerates reasons is a column of one table: the commands' texts, the status in Temporal's UI,
// the events that decide a skipped page again. The database reads the same table as
// db/functions/reasons.sql, which SQL writes.
//
// A new reason needs a constant and a row in reasons.go, and the code that uses it.
package reasons
