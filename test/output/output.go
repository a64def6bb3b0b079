// Package output stores the output of a command under test.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Buffer holds the output so far. It may be read during writes.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends to the buffer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the whole output.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Lines decodes text that has one JSON value per line.
func Lines[T any](t testing.TB, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var value T
		require.NoError(t, json.Unmarshal([]byte(line), &value), line)
		all = append(all, value)
	}
	return all
}

// Broken is a pipe without a reader.
type Broken struct{}

// Write fails.
func (Broken) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// ContainsOnSameLine asserts that one line of a text has all pieces, in this order.
func ContainsOnSameLine(t testing.TB, text string, pieces ...string) {
	t.Helper()
	for line := range strings.Lines(text) {
		found := true
		for _, piece := range pieces {
			_, rest, ok := strings.Cut(line, piece)
			if !ok {
				found = false
				break
			}
			line = rest
		}
		if found {
			return
		}
	}
	require.FailNow(t, "no such line", "%q in\n%s", pieces, text)
}
