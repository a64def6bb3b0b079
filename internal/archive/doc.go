// Package archive stores responses in WARC files (ISO 28500:2017, WARC 1.1), one gzip member for
// each record, and reads them again.
//
// Each run has files of its own. A file is written under its name and [OpenSuffix], and renamed
// when it is complete. A stored record survives a killed process and a power cut. [Open] repairs
// the files of killed processes.
package archive
