package archive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/gzip"
)

// repairAll completes the files of killed processes, and returns their names.
func repairAll(dir string) (repaired []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+Suffix+OpenSuffix))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		isDead, err := repair(path)
		if err != nil {
			return repaired, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		if isDead {
			repaired = append(repaired, strings.TrimSuffix(filepath.Base(path), OpenSuffix))
		}
	}
	return repaired, nil
}

// repair cuts off an incomplete record at the end of a file, and completes the file. It leaves a
// file whose writer lives, and removes an empty one.
func repair(path string) (isDead bool, err error) {
	final := strings.TrimSuffix(path, OpenSuffix)
	lock := flock.New(final + lockSuffix)
	if isLocked, err := lock.TryLock(); err != nil || !isLocked {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock(lock)) }()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) { // completed meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	end, err := lastComplete(f)
	if err == nil {
		err = f.Truncate(end)
	}
	err = errors.Join(err, f.Sync(), f.Close())
	switch {
	case err != nil:
		return false, err
	case end == 0:
		return true, os.Remove(path)
	}
	return true, rename(final)
}

// lastComplete returns the end of the last complete gzip member.
func lastComplete(f io.Reader) (end int64, err error) {
	in := &countingReader{in: f}
	buffered := bufio.NewReaderSize(in, 1<<20)
	var member *gzip.Reader
	for {
		if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
			return end, nil
		} else if err != nil {
			return 0, err
		}
		if member == nil {
			member, err = gzip.NewReader(buffered)
		} else {
			err = member.Reset(buffered)
		}
		if err == nil {
			member.Multistream(false)
			_, err = io.Copy(io.Discard, member)
		}
		if in.err != nil {
			return 0, in.err
		}
		if err != nil {
			return end, nil //nolint:nilerr // the rest is incomplete
		}
		end = in.n - int64(buffered.Buffered())
	}
}

// countingReader counts bytes and keeps an error of the file.
type countingReader struct {
	in  io.Reader
	n   int64
	err error
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
