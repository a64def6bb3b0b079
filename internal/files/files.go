// Package files replaces files atomically, and makes their names survive a power cut.
package files

import (
	"errors"
	"os"
	"runtime"
)

// TempSuffix ends the fixed name of Replace's temporary file: a killed process leaves at most one.
const TempSuffix = ".tmp"

// Replace writes a file for its owner alone. A reader sees the old file or the new one. Replace
// only syncs the file if one of the steps before the rename is (*os.File).Sync.
func Replace(path string, data []byte, steps ...func(*os.File) error) error {
	file, err := os.OpenFile(path+TempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	for _, step := range steps {
		if err == nil {
			err = step(file)
		}
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(path+TempSuffix, path)
}

// SyncDirectory makes the names of files survive a power cut, as Sync does for their bytes.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" { // which cannot sync directories, and journals such changes
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
