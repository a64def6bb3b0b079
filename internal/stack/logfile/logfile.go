// Package logfile bounds the log files of the embedded services.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Open opens the file at path for appending, readable only by its owner, and returns its size. It
// first renames a file larger than maxBytes to path.1, which replaces an older file there.
func Open(path string, maxBytes int64) (file *os.File, size int64, err error) {
	stat, err := os.Stat(path)
	switch {
	case err == nil && stat.Size() > maxBytes:
		err = os.Rename(path, path+".1")
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("rotate log: %w", err)
	}
	if file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, 0, fmt.Errorf("open log: %w", err)
	}
	if stat, err = file.Stat(); err != nil {
		return nil, 0, fmt.Errorf("open log: %w", errors.Join(err, file.Close()))
	}
	return file, stat.Size(), nil
}

// Writer appends to a file and rotates it. The file and its predecessor together stay below twice
// the maximum plus one write. It is safe for concurrent use.
type Writer struct {
	path     string
	maxBytes int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// NewWriter opens the file at path as Open does.
func NewWriter(path string, maxBytes int64) (*Writer, error) {
	file, size, err := Open(path, maxBytes)
	if err != nil {
		return nil, err
	}
	return &Writer{path: path, maxBytes: maxBytes, file: file, size: size}, nil
}

// Write appends data and never splits it over two files.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rotated error
	if w.size > w.maxBytes {
		// If no new file can be opened, the old one stays in use.
		file, size, err := Open(w.path, w.maxBytes)
		if rotated = err; err == nil {
			rotated = w.file.Close()
			w.file, w.size = file, size
		}
	}
	n, err := w.file.Write(data)
	w.size += int64(n)
	return n, errors.Join(rotated, err)
}

// Close closes the file. Later writes fail.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Close()
}
