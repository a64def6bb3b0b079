package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/mosey-web/mosey/crawl"
)

// Erase overwrites records of a file, each with one of the same length that says so. The other
// records keep their places. It is safe while the file is written. No other call may erase records
// of the same file in a bucket at the same time.
func Erase(ctx context.Context, from Place, name string, records []crawl.Archived) error {
	if err := checkName(name); err != nil {
		return err
	}
	return from.change(ctx, name, func(f io.WriterAt) error {
		for _, at := range records {
			filler, err := filler(int(at.Length))
			if err == nil {
				_, err = f.WriteAt(filler, at.Offset)
			}
			if err != nil {
				return fmt.Errorf("erase a record of %s: %w", name, err)
			}
		}
		return nil
	})
}

// filler returns a gzip member of a length, with a metadata record.
func filler(length int) ([]byte, error) {
	now := time.Now()
	member := func(blockBytes int, comment string) ([]byte, error) {
		block := "erased at its publisher's request" + strings.Repeat(" ", blockBytes)
		r, err := newRecord("metadata", now, "text/plain", func() io.Reader { return strings.NewReader(block) })
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
		if err != nil {
			return nil, err
		}
		w.Comment = comment
		err = errors.Join(r.writeTo(w), w.Close())
		return out.Bytes(), err
	}
	empty, err := member(0, "")
	if err != nil {
		return nil, err
	}
	// A comment of the member fills what the uncompressed blocks leave, from two bytes on.
	const slack = 32
	size := length - len(empty)
	size -= min(size, slack+size/1000)
	most, err := member(size, "")
	if err != nil {
		return nil, err
	}
	left := length - len(most)
	if left < 2 {
		return nil, fmt.Errorf("%d bytes are too few to say so", length)
	}
	return member(size, strings.Repeat("-", left-1))
}
