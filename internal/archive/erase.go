package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/mosey-web/mosey/crawl"
)

// Erase overwrites a record with one of the same length that says so. The other records keep their
// places. It is safe while the file is written.
func Erase(dir string, at crawl.Archived) error {
	filler, err := filler(int(at.Length))
	if err != nil {
		return fmt.Errorf("erase a record of %s: %w", at.File, err)
	}
	f, err := openFile(dir, at.File, os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(filler, at.Offset)
	return errors.Join(err, f.Sync(), f.Close())
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
