package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

const (
	prefix       = "backups/"
	manifestFile = "manifest.json"
	// format is the version of the on-disk layout.
	format = 1
	// nameLayout begins a backup's name with its UTC time. The short database identity follows.
	nameLayout       = "20060102T150405Z"
	shortIdentityLen = 8
	// maxManifestBytes bounds a manifest, in bytes.
	maxManifestBytes = 4 << 20
)

var namePattern = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{8}$`)

func backupName(began time.Time, identity string) string {
	return began.Format(nameLayout) + "-" + identity[:min(len(identity), shortIdentityLen)]
}

// freeName is the first name that no other backup has, at began or in a later second.
func freeName(taken []string, began time.Time, identity string) string {
	for slices.Contains(taken, backupName(began, identity)) {
		began = began.Add(time.Second)
	}
	return backupName(began, identity)
}

func shortIdentity(name string) string { return name[len(name)-shortIdentityLen:] }

// Manifest describes a backup.
type Manifest struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	// StartedAt is the backup's start. Taken, no later than its state, decides how long a restore
	// closes slots.
	StartedAt time.Time `json:"began"`
	StateAt   time.Time `json:"state_at"`
	// Mosey and Schema are the versions of the writer. Postgres is the major version, and Platform
	// the system and architecture, that can read the database's files.
	Mosey    string `json:"mosey"`
	Schema   int64  `json:"schema"`
	Postgres int    `json:"postgres"`
	Platform string `json:"platform"`
	// Database is the identity of the database.
	Database string `json:"database"`
	// Host and DataDir are the backup's origin.
	Host    string `json:"host"`
	DataDir string `json:"data_dir"`
	// Base is a tar of the database's files, Temporal its state, and Password the database's
	// password file. Each is compressed (zstd) and cut into parts.
	Base     []Part `json:"base"`
	Temporal []Part `json:"temporal,omitempty"`
	Password []Part `json:"password"`
	// UnpackedBytes is the size of the database's files, in bytes.
	UnpackedBytes int64 `json:"unpacked_bytes"`
	// Images counts the images stored beside it; nil if they were left out.
	Images *command.CopiedImages `json:"images,omitempty"`
	// Verified is the time of its trial restore, or zero.
	Verified time.Time `json:"verified,omitzero"`
}

// Part is one file of a backup.
type Part struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Bytes returns the size of the backup, without images.
func (m *Manifest) Bytes() (sum int64) {
	for _, p := range slices.Concat(m.Base, m.Temporal, m.Password) {
		sum += p.Bytes
	}
	return sum
}

type backupStore struct {
	images *imagestore.Store
	files  *imagestore.Files
}

// names returns the names of all backups, oldest first. An incomplete backup was interrupted, or is
// running.
func (p *backupStore) names(ctx context.Context) (complete, incomplete []string, err error) {
	files, err := p.files.Names(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		name, _, _ := strings.Cut(file, "/")
		if !namePattern.MatchString(name) {
			continue // not ours
		}
		if path.Base(file) == manifestFile {
			complete = append(complete, name)
		} else if !slices.Contains(incomplete, name) {
			incomplete = append(incomplete, name)
		}
	}
	incomplete = slices.DeleteFunc(incomplete, func(name string) bool { return slices.Contains(complete, name) })
	return complete, incomplete, nil
}

func (p *backupStore) manifest(ctx context.Context, name string) (m Manifest, err error) {
	in, err := p.files.Read(ctx, name+"/"+manifestFile, "")
	if err != nil {
		return m, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxManifestBytes))
	if err = errors.Join(err, in.Close()); err != nil {
		return m, fmt.Errorf("read the backup %s: %w", name, err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read the backup %s: %s: %w", name, manifestFile, err)
	}
	if m.Format != format || m.Name != name {
		return m, crawl.NewStateError("the backup %s has the format %d, and this Mosey reads %d: use the version that made it (%s)",
			name, m.Format, format, m.Mosey)
	}
	return m, nil
}

// seal writes the manifest, which completes a backup.
func (p *backupStore) seal(ctx context.Context, m Manifest) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	data = append(data, '\n')
	sum := sha256.Sum256(data)
	return p.files.Write(ctx, m.Name+"/"+manifestFile, hex.EncodeToString(sum[:]), int64(len(data)), bytes.NewReader(data))
}

// remove deletes a backup, its manifest first, so that the rest is never taken for a complete one.
func (p *backupStore) remove(ctx context.Context, name string) error {
	if err := p.files.Remove(ctx, name+"/"+manifestFile); err != nil {
		return err
	}
	files, err := p.files.Names(ctx)
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasPrefix(file, name+"/") {
			if err := p.files.Remove(ctx, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// partBytes is the size of a part. Each is on this machine's disk until it is stored.
var partBytes int64 = 256 << 20

// writeParts compresses the output of fill, and stores it in parts whose names begin with name.
// scratch is a directory for the current part.
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

type partWriter struct {
	ctx           context.Context //nolint:containedctx // of the one call that writes
	files         *imagestore.Files
	name, scratch string

	parts []Part
	file  *os.File // the current part; nil at first
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

// readParts calls fn with the data of writeParts. Reading fails if a part's SHA-256 differs.
func readParts(ctx context.Context, files *imagestore.Files, parts []Part, progress func(read int64), fn func(io.Reader) error) error {
	r := &partReader{ctx: ctx, files: files, parts: parts, progress: progress}
	in, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer in.Close()
	err = fn(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // to the end, to verify the last hash
	}
	return errors.Join(err, r.close())
}

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
