package db

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// document writes a document as the database takes it. Text of foreign servers is
// made fit to store here, once: JSON makes invalid UTF-8 U+FFFD anyway, and NUL,
// which Postgres cannot store in text, becomes U+FFFD too.
func document(what string, v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", what, err)
	}
	return withoutNUL(doc), nil
}

// nul is a NUL in JSON.
var nul = []byte(`\u0000`)

// withoutNUL replaces each NUL in a JSON document by U+FFFD. A backslash that is
// itself escaped is no part of one.
func withoutNUL(doc []byte) []byte {
	for from := 0; ; {
		i := bytes.Index(doc[from:], nul)
		if i < 0 {
			return doc
		}
		at := from + i
		before := len(doc[:at]) - len(bytes.TrimRight(doc[:at], `\`))
		if before%2 == 0 {
			copy(doc[at:], `\ufffd`)
		}
		from = at + len(nul)
	}
}
