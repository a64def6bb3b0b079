package imagestore

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// Files are other files in a store, such as backups, under a prefix. List leaves them out.
type Files struct {
	store  *Store
	prefix string
}

// Files returns the files below prefix, which ends in a slash and begins no key of an image.
func (s *Store) Files(prefix string) *Files { return &Files{store: s, prefix: prefix} }

// Write stores a file, whole or not at all, readable by its owner alone. sha256 is that of its
// bytes, in lower case hexadecimal digits.
func (f *Files) Write(ctx context.Context, name, sha256 string, size int64, body io.ReadSeeker) error {
	if err := checkName(name); err != nil {
		return err
	}
	return f.store.write(ctx, object{
		key: f.prefix + name, what: name, mediaType: "application/octet-stream", size: size, sha: sha256, private: true,
	}, body)
}

// Read returns the bytes of a file, to be closed, like Get. An empty sha256 is any.
func (f *Files) Read(ctx context.Context, name, sha256 string) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	in, _, err := f.store.read(ctx, f.prefix+name, name, sha256)
	return in, err
}

// Remove deletes a file, if it is there.
func (f *Files) Remove(ctx context.Context, name string) error {
	return f.store.remove(ctx, f.prefix+name, name)
}

// Names are those of all files, sorted, without the prefix.
func (f *Files) Names(ctx context.Context) ([]string, error) {
	names, err := f.store.place.names(ctx, f.prefix)
	if err != nil {
		return nil, f.store.trouble("list "+f.prefix, err)
	}
	return names, nil
}

// checkName refuses a name that leads elsewhere.
func checkName(name string) error {
	leads := strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") || strings.Contains(name, `\`)
	if name == "" || path.Clean(name) != name || leads {
		return fmt.Errorf("%w: %q is no name of a file", crawl.ErrInvalid, name)
	}
	return nil
}
