// Package logfile keeps the log files of the embedded parts from filling the
// disk.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// oldSuffix is appended to the name of the one older file that is kept.
const oldSuffix = ".1"

// Rotate renames the file at path to path.1, in place of an older one, when it
// is larger than maxBytes. A missing file is fine.
func Rotate(path string, maxBytes int64) error {
	stat, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	if stat.Size() <= maxBytes {
		return nil
	}
	if err := os.Rename(path, path+oldSuffix); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	return nil
}

// Open opens the file at path for appending, readable by its owner alone.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return file, nil
}

// Writer appends to a file and rotates it, so that the file and its predecessor
// together stay below twice the maximum and one write. Safe for concurrent use.
type Writer struct {
	path     string
	maxBytes int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// NewWriter opens the file at path, rotating it first if it is larger than
// maxBytes already.
func NewWriter(path string, maxBytes int64) (*Writer, error) {
	w := &Writer{path: path, maxBytes: maxBytes}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := Rotate(w.path, w.maxBytes); err != nil {
		return err
	}
	file, err := Open(w.path)
	if err != nil {
		return err
	}
	stat, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open log: %w", errors.Join(err, file.Close()))
	}
	w.file, w.size = file, stat.Size()
	return nil
}

// Write appends data, which is never split over two files.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rotated error
	if w.size > w.maxBytes {
		// Where no new file can be had, the old one goes on: a log that is too
		// long is better than none.
		old := w.file
		if rotated = w.open(); rotated == nil {
			rotated = old.Close()
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
