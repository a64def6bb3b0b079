package imagestore

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// Files are other files in a store, such as backups, under a prefix. List excludes them.
type Files struct {
	Store *Store
	// Prefix must end in a slash and must not begin an image's key.
	Prefix string
}

// Write stores a file atomically, readable only by its owner. sha256 is its lower case hex digest.
func (f *Files) Write(ctx context.Context, name, sha256 string, size int64, body io.ReadSeeker) error {
	if err := checkName(name); err != nil {
		return err
	}
	return f.Store.write(ctx, object{
		key: f.Prefix + name, label: name, mediaType: "application/octet-stream", size: size, sha: sha256, private: true,
	}, body)
}

// Read returns the bytes of a file like Get, to be closed. An empty sha256 skips the check.
func (f *Files) Read(ctx context.Context, name, sha256 string) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	in, _, err := f.Store.read(ctx, span{key: f.Prefix + name}, name, sha256)
	return in, err
}

// ReadRange returns length bytes of a file from offset on, or with length 0 all of them, to be
// closed. A bucket returns crawl.ErrNotFound for a file that ends before offset.
func (f *Files) ReadRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	in, _, err := f.Store.read(ctx, span{key: f.Prefix + name, offset: offset, length: length}, name, "")
	return in, err
}

// Size returns the size of a file, or crawl.ErrNotFound.
func (f *Files) Size(ctx context.Context, name string) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	size, _, err := f.Store.backend.stat(ctx, f.Prefix+name)
	if isMissing(err) {
		return 0, fmt.Errorf("%w: %s in %s", crawl.ErrNotFound, name, f.Store.name)
	}
	if err != nil {
		return 0, f.Store.describeFailure("look at "+name, err)
	}
	return size, nil
}

// String returns the location of the store without credentials.
func (f *Files) String() string { return f.Store.name }

// Remove deletes a file if it exists.
func (f *Files) Remove(ctx context.Context, name string) error {
	return f.Store.remove(ctx, f.Prefix+name, name)
}

// Names returns the sorted names of all files, without the prefix.
func (f *Files) Names(ctx context.Context) (names []string, err error) {
	err = f.Store.backend.walk(ctx, f.Prefix, func(e entry) error {
		if e.mode.IsRegular() {
			names = append(names, strings.TrimPrefix(e.key, f.Prefix))
		}
		return nil
	})
	if err != nil {
		return nil, f.Store.describeFailure("list "+f.Prefix, err)
	}
	return names, nil
}

// checkName refuses a name outside the prefix.
func checkName(name string) error {
	isOutside := strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") || strings.Contains(name, `\`)
	if name == "" || path.Clean(name) != name || isOutside {
		return fmt.Errorf("%w: %q is not a file name", crawl.ErrInvalid, name)
	}
	return nil
}
