// Package files replaces files whole, and has their names survive a loss of power.
package files

import (
	"errors"
	"os"
	"runtime"
)

// TempSuffix ends the name of a file that Replace is writing. The name is fixed, so that a killed
// process leaves at most one.
const TempSuffix = ".tmp"

// Replace writes a file for its owner alone. A reader sees the old one or the new. Neither is forced
// to the disk, unless one of the last steps before the file gets its name is (*os.File).Sync.
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

// SyncDirectory makes the names of files survive a loss of power, as their bytes do already.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" { // which cannot do that, and journals such changes itself
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
