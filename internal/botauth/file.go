package botauth

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	// forbiddenModeBits are forbidden mode bits of a key file. Its group may read it, as on
	// Kubernetes.
	forbiddenModeBits = 0o027
	// maxFileBytes bounds a file of keys, in bytes.
	maxFileBytes = 64 << 10
	// maxKeys bounds the keys, because verifiers only read the beginning of a directory.
	maxKeys = 32
)

var extensions = []string{".json", ".jwk", ".jwks", ".key", ".pem"}

// load reads the keys of a file, or of a folder's files, the newest first.
func load(path string) ([]*Key, error) {
	if holdsKey(path) {
		return nil, errors.New("want a file name, but this looks like a key. Other users can see the command line, " +
			"so replace the key: mosey identity keygen FILE")
	}
	stat, err := os.Stat(path)
	if err != nil {
		return nil, wrapPathError(path, err)
	}
	files := []string{path}
	if stat.IsDir() {
		if files, err = filesOf(path); err != nil {
			return nil, wrapPathError(path, err)
		}
	}
	var keys []*Key
	for _, name := range files {
		more, err := loadFile(name)
		if err != nil {
			return nil, wrapPathError(name, err)
		}
		keys = append(keys, more...)
	}
	switch {
	case len(keys) == 0:
		return nil, wrapPathError(path, errors.New("the file has no key: create one with mosey identity keygen FILE"))
	case len(keys) > maxKeys:
		return nil, wrapPathError(path, fmt.Errorf("%d keys: want at most %d", len(keys), maxKeys))
	}
	// among equally new keys, the last in the file and by file name comes first
	slices.Reverse(keys)
	slices.SortStableFunc(keys, func(a, b *Key) int { return b.createdAt.Compare(a.createdAt) })
	byID := slices.SortedFunc(slices.Values(keys), func(a, b *Key) int { return cmp.Compare(a.ID, b.ID) })
	for i, k := range byID[1:] {
		if k.ID == byID[i].ID {
			return nil, wrapPathError(path, fmt.Errorf("the key %s occurs twice", k.ID))
		}
	}
	return keys, nil
}

func wrapPathError(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // avoids a second name
	}
	return fmt.Errorf("%s: %w", path, err)
}

// holdsKey reports whether a file name may be a key by mistake. It would end up in logs.
func holdsKey(path string) bool {
	if strings.ContainsAny(path, "{\n") || strings.Contains(path, "PRIVATE KEY") {
		return true
	}
	text := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(path)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 32 && len(raw) != 48 && len(raw) != 64 { // 32 bytes, those as PKCS#8 or in hexadecimal digits, both parts
		return false
	}
	_, err = os.Stat(path)
	return err != nil
}

// filesOf returns the key files of a folder. It skips dot files: Kubernetes's versions of a secret.
func filesOf(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && slices.Contains(extensions, strings.ToLower(filepath.Ext(e.Name()))) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the folder has no key files: want names that end in %s", strings.Join(extensions, ", "))
	}
	return files, nil
}

func loadFile(name string) (keys []*Key, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if mode := stat.Mode().Perm(); runtime.GOOS != "windows" && mode&forbiddenModeBits != 0 {
		return nil, fmt.Errorf("its mode %04o lets other users access it: chmod 600 %s", mode, name)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxFileBytes)
	}
	return parse(data, stat.ModTime())
}

// pick returns the newest valid key.
func pick(path string, keys []*Key, now time.Time) (*Key, error) {
	for _, k := range keys {
		if !now.Before(k.NotBefore) && (k.NotAfter.IsZero() || now.Before(k.NotAfter)) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("%s: no key is valid now (nbf, exp): add one with mosey identity keygen", path)
}
