// Package output keeps what a command under test prints.
package output

import (
	"bytes"
	"sync"
)

// Buffer is what has been printed so far. It may be read while it is written to.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to it.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is all of it.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
