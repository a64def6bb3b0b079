package payloads

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// keyBytes is the length of a key of AES-256.
const keyBytes = 32

// idPattern is what the name of a key may be: it stands in the clear beside what it encrypts.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Keys are keys by their names. The first encrypts, and each decrypts. The zero value and nil have
// none: what is stored is not encrypted then.
type Keys struct {
	// first is the name of the key that encrypts; empty is none.
	first string
	keys  map[string]cipher.AEAD
}

// First is the name of the key that encrypts; empty means that nothing is encrypted.
func (k *Keys) First() string {
	if k == nil {
		return ""
	}
	return k.first
}

// exposed are the bits of a file's mode that a file of keys may not have: to be read by everybody,
// or written by others than its owner. A group may read it, as Kubernetes mounts secrets.
const exposed = 0o027

// ReadFile reads a file of keys. No error has a key in it.
func ReadFile(name string) (keys *Keys, err error) {
	file, err := os.Open(name)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // without the name a second time
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stat, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if mode := stat.Mode().Perm(); runtime.GOOS != "windows" && mode&exposed != 0 {
		return nil, fmt.Errorf("%s has mode %04o, so that others may read or change it: chmod 600 %s", name, mode, name)
	}
	if keys, err = Read(file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return keys, nil
}

// Read reads keys: a line has a name and 32 bytes in base64. Empty lines, and those that begin with #,
// say nothing.
func Read(r io.Reader) (*Keys, error) {
	k := &Keys{keys: map[string]cipher.AEAD{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := k.add(fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if k.first == "" {
		return nil, errors.New("no key: want a line with a name and 32 bytes in base64, such as that of: echo k1 $(openssl rand -base64 32)")
	}
	return k, nil
}

// add adds the key of a line. Its errors must not quote the line: a key may stand where its name
// belongs.
func (k *Keys) add(fields []string) error {
	if len(fields) != 2 {
		return fmt.Errorf("%d words: want two, a name and 32 bytes in base64", len(fields))
	}
	id := fields[0]
	if !idPattern.MatchString(id) {
		return errors.New("the first word is the name of the key: want up to 64 letters, digits and . _ -")
	}
	key, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return errors.New("the second word is the key: want base64, as openssl rand -base64 32 prints it")
	}
	if len(key) != keyBytes {
		return fmt.Errorf("the key has %d bytes: want 32, as openssl rand -base64 32 prints them", len(key))
	}
	if _, twice := k.keys[id]; twice {
		return fmt.Errorf("there is a key %s above: give each a name of its own", id)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	if k.keys[id], err = cipher.NewGCM(block); err != nil {
		return err
	}
	if k.first == "" {
		k.first = id
	}
	return nil
}
