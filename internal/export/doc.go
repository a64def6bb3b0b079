// Package export writes rows to files that other programs read: Parquet, JSON lines and
// CSV. The columns of each kind of row are declared once, for all formats; docs/export.md
// lists them.
//
// An [Export] reads its rows in batches and keeps none: its memory does not grow with
// what is exported. Into a directory it writes files of a bounded number of rows and a
// manifest of those that are whole, so that it goes on where it was, whatever stopped it.
package export
