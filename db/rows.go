package db

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// document encodes v as JSON for Postgres, which cannot store a NUL: it becomes U+FFFD.
func document(label string, v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", label, err)
	}
	nul := []byte(`\u0000`)
	for from := 0; ; {
		i := bytes.Index(doc[from:], nul)
		if i < 0 {
			return doc, nil
		}
		at := from + i
		// after an odd number of backslashes this one is escaped itself
		if before := len(doc[:at]) - len(bytes.TrimRight(doc[:at], `\`)); before%2 == 0 {
			copy(doc[at:], `\ufffd`)
		}
		from = at + len(nul)
	}
}

// unmarshalNullable decodes a document that may be null.
func unmarshalNullable(data []byte, v any) error {
	if data == nil {
		return nil
	}
	return json.Unmarshal(data, v)
}

func mapRows[R, T any](rows []R, convert func(R) T) []T {
	all := make([]T, len(rows))
	for i, r := range rows {
		all[i] = convert(r)
	}
	return all
}

// orZero replaces the error of a query without a row by the zero value.
func orZero[T any](row T, err error) (T, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return row, nil
	}
	return row, err
}

// The zero value stands for null.

// convertPtr returns nil for nil.
func convertPtr[A, B any](v *A, convert func(A) B) *B {
	if v == nil {
		return nil
	}
	return new(convert(*v))
}

func int16Of(n *int16) int { return int(valueOf(n)) }

func valueOf[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

// valueOrNil returns nil for the zero value.
func valueOrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// timeOrZero returns zero for the epoch, which queries return for a missing time.
func timeOrZero(t time.Time) time.Time {
	if t.Unix() == 0 {
		return time.Time{}
	}
	return t
}
