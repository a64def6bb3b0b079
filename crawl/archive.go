package crawl

import "time"

// Archived is the record of a response in an archive. The JSON is an on-disk format.
type Archived struct {
	// URL is the requested URL in the site's spelling; empty means the page's URL.
	URL string `json:"url,omitempty"`
	// File is the name of a WARC file. The record is one gzip member of Length bytes at Offset.
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	// Digest is the WARC-Payload-Digest: "sha256:" and hexadecimal digits, of the bytes after the
	// response's head, with their content and transfer codings.
	Digest string `json:"digest"`
	// At is the WARC-Date, the start of the request by the worker's clock.
	At time.Time `json:"at"`
	// Revisit is set for a revisit record: the payload is the one of the page's last other record.
	Revisit bool `json:"revisit,omitempty"`
	// Truncated is set if the body is not complete.
	Truncated bool `json:"truncated,omitempty"`
}
