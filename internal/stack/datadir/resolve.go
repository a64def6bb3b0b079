package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const appName = "mosey"

// rootDir is the superuser's default on Unix. Its home is closed to the user that runs Postgres.
const rootDir = "/var/lib/" + appName

// Resolve returns the absolute path of the data directory: dir, or the default of the platform if
// dir is empty. It creates nothing.
//
// The default is /var/lib/mosey for root, $XDG_DATA_HOME/mosey or ~/.local/share/mosey on Linux and
// the BSDs, ~/Library/Application Support/mosey on macOS, and %LocalAppData%\mosey on Windows.
func Resolve(dir string) (string, error) {
	if dir == "" {
		return platformDefault(runtime.GOOS, os.Geteuid(), os.Getenv)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve data directory %q: %w", dir, err)
	}
	return abs, nil
}

func platformDefault(goos string, euid int, getenv func(string) string) (string, error) {
	if goos == "windows" {
		return below(getenv("LocalAppData"), "%LocalAppData%", appName)
	}
	if euid == 0 {
		return rootDir, nil
	}
	if goos == "darwin" {
		return below(getenv("HOME"), "$HOME", "Library", "Application Support", appName)
	}
	// The XDG base directory specification requires programs to ignore a relative value.
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, appName), nil
	}
	return below(getenv("HOME"), "$HOME", ".local", "share", appName)
}

func below(base, variable string, elements ...string) (string, error) {
	if base == "" {
		return "", errors.New("no default data directory, because " + variable +
			" is not set: give one with --data-dir")
	}
	return filepath.Join(append([]string{base}, elements...)...), nil
}
