// Package export writes rows to files for other programs: Parquet, JSON lines and CSV. Each kind of
// row declares its columns once, for all formats (docs/export.md). An [Export] reads rows in
// batches, so that its memory is bounded. In a directory it writes files of a bounded number of
// rows, and lists the complete files in a manifest, so that it can resume.
package export
