package postgres

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Password is that of the cluster in a data directory. A backup needs it: the cluster knows it
// only in another form.
func Password(dir string) (string, error) {
	text, err := os.ReadFile(passwordFile(dir))
	if err != nil {
		return "", fmt.Errorf("read the password of the database: %w", err)
	}
	return string(text), nil
}

// Unpack makes the cluster of a data directory, which must have none, from the tar of a
// BaseBackup and its password. Its files are not flushed to the disk: Postgres does that before it
// recovers them (SyncDataDirectory). Until a Postgres has been started and stopped there, nobody
// may take the directory for whole.
func Unpack(ctx context.Context, dir, password string, archive io.Reader) (err error) {
	user, err := chooseAccount(dir)
	if err != nil {
		return err
	}
	home := ClusterDir(dir)
	if err := user.canReach(home); err != nil {
		return err
	}
	for _, path := range []string{home, dataDir(dir)} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("unpack the database: %w", err)
		}
		if err := user.own(path); err != nil {
			return fmt.Errorf("unpack the database: %w", err)
		}
	}
	if err := replaceFile(passwordFile(dir), password, user); err != nil {
		return fmt.Errorf("unpack the database: %w", err)
	}
	root, err := os.OpenRoot(dataDir(dir)) // whatever names the archive has, they stay within
	if err != nil {
		return fmt.Errorf("unpack the database: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	in := tar.NewReader(archive)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return syncDir(home)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("unpack the database: %w", err)
		}
		if err := unpackEntry(root, user, dataDir(dir), header, in); err != nil {
			return fmt.Errorf("unpack the database: %w", err)
		}
	}
}

func unpackEntry(root *os.Root, user account, data string, header *tar.Header, in io.Reader) error {
	name := filepath.Clean(filepath.FromSlash(header.Name))
	switch header.Typeflag {
	case tar.TypeDir:
		if name == "." {
			return nil
		}
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, in)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is neither a file nor a folder", header.Name)
	}
	return user.own(filepath.Join(data, name))
}
