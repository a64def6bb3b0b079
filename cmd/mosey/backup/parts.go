package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/mosey-web/mosey/internal/imagestore"
)

// partBytes is how much is in one part. Each is on this machine's disk until it is stored.
var partBytes int64 = 256 << 20

// writeParts compresses what fill writes, and stores it in parts whose names begin with name.
// scratch is a directory for the part that is being made.
func writeParts(ctx context.Context, files *imagestore.Files, name, scratch string, fill func(io.Writer) error) ([]Part, error) {
	w := &partWriter{ctx: ctx, files: files, name: name, scratch: scratch}
	out, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress %s: %w", name, err)
	}
	err = fill(out)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = w.store()
	}
	return w.parts, errors.Join(err, w.discard())
}

// partWriter cuts what is written to it into parts.
type partWriter struct {
	ctx           context.Context //nolint:containedctx // of the one call that writes
	files         *imagestore.Files
	name, scratch string

	parts []Part
	file  *os.File // the part that is being made; nil before it has begun
	hash  hash.Hash
	size  int64
}

func (w *partWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if w.file == nil {
			if w.file, err = os.CreateTemp(w.scratch, "backup-*.tmp"); err != nil {
				return n, err
			}
			w.hash, w.size = sha256.New(), 0
		}
		now := p[:min(int64(len(p)), partBytes-w.size)]
		k, err := w.file.Write(now)
		w.hash.Write(now[:k])
		w.size, n, p = w.size+int64(k), n+k, p[k:]
		if err != nil {
			return n, err
		}
		if w.size == partBytes {
			if err := w.store(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// store stores the part that was made.
func (w *partWriter) store() error {
	if w.file == nil {
		return nil
	}
	part := Part{Name: fmt.Sprintf("%s.%04d", w.name, len(w.parts)), Bytes: w.size, SHA256: hex.EncodeToString(w.hash.Sum(nil))}
	err := w.files.Write(w.ctx, part.Name, part.SHA256, part.Bytes, w.file)
	if err == nil {
		w.parts = append(w.parts, part)
	}
	return errors.Join(err, w.discard())
}

func (w *partWriter) discard() error {
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// readParts calls fn with what writeParts was given. Each part has to have its SHA-256: where
// one has not, reading fails.
func readParts(ctx context.Context, files *imagestore.Files, parts []Part, progress func(read int64), fn func(io.Reader) error) error {
	r := &partReader{ctx: ctx, files: files, parts: parts, progress: progress}
	in, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer in.Close()
	err = fn(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // to the end, where the last hash is known
	}
	return errors.Join(err, r.close())
}

// partReader joins parts.
type partReader struct {
	ctx      context.Context //nolint:containedctx // of the one call that reads
	files    *imagestore.Files
	parts    []Part
	progress func(int64)

	in   io.ReadCloser // nil between two parts
	read int64
}

func (r *partReader) Read(p []byte) (int, error) {
	for {
		if r.in == nil {
			if len(r.parts) == 0 {
				return 0, io.EOF
			}
			var err error
			if r.in, err = r.files.Read(r.ctx, r.parts[0].Name, r.parts[0].SHA256); err != nil {
				return 0, err
			}
			r.parts = r.parts[1:]
		}
		n, err := r.in.Read(p)
		r.read += int64(n)
		r.progress(r.read)
		if errors.Is(err, io.EOF) {
			err = r.close()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (r *partReader) close() error {
	if r.in == nil {
		return nil
	}
	in := r.in
	r.in = nil
	return in.Close()
}
