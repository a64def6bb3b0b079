package imagestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/internal/files"
)

const (
	dirMode         = 0o750  // readable by the group, for backups and web servers
	temporarySuffix = ".tmp" // of a partial file
)

// directory is the absolute path of a directory of files.
type directory string

func openDirectory(path string) (directory, error) {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	return directory(path), err
}

func (d directory) path(key string) string {
	return filepath.Join(string(d), filepath.FromSlash(key))
}

// write writes a temporary file beside the final path, and renames it after its bytes are on disk.
func (d directory) write(_ context.Context, o object, body io.ReadSeeker) (err error) {
	path := d.path(o.key)
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	mode := fs.FileMode(0o666) // minus the umask
	if o.private {
		mode = 0o600
	}
	file, err := createTemporary(path, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, body)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return files.SyncDirectory(filepath.Dir(path))
}

// createTemporary creates a file whose name parseKey recognizes.
func createTemporary(path string, mode fs.FileMode) (*os.File, error) {
	for {
		stamp := strconv.FormatInt(time.Now().UnixNano(), 16)
		file, err := os.OpenFile(path+"."+stamp+temporarySuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

func (d directory) read(_ context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	file, err := os.Open(d.path(key))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if length > 0 {
		return section{Reader: io.NewSectionReader(file, offset, length), Closer: file}, length, nil
	}
	return file, info.Size(), nil
}

// section is a part of a file.
type section struct {
	io.Reader
	io.Closer
}

func (d directory) stat(_ context.Context, key string) (int64, time.Time, error) {
	info, err := os.Stat(d.path(key))
	if err != nil {
		return 0, time.Time{}, err
	}
	return info.Size(), info.ModTime(), nil
}

func (d directory) remove(_ context.Context, key string) error { return os.Remove(d.path(key)) }

func (d directory) walk(ctx context.Context, prefix string, yield func(entry) error) error {
	root := path.Clean(prefix)
	return fs.WalkDir(os.DirFS(string(d)), root, func(key string, file fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && key != "." { // deleted meanwhile
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || key == root {
			return err
		}
		found := entry{key: key, mode: file.Type()}
		if found.mode.IsRegular() {
			info, err := file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			found.size, found.written = info.Size(), info.ModTime()
		}
		return yield(found)
	})
}
