// Package programs provides tests with the programs of this tree.
package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Variable names a directory that holds the programs already. `go tool task test` sets it, so that
// each program is linked once for all packages.
const Variable = "MOSEY_TEST_PROGRAMS"

// Dir returns the directory with the programs mosey, worker and manners. It builds them into a new
// directory if the environment names none. They are never built with -race, because that would
// compile the Temporal server a second time. remove deletes a directory that Dir made.
func Dir() (dir string, remove func() error, err error) {
	if dir := os.Getenv(Variable); dir != "" {
		return dir, func() error { return nil }, nil
	}
	dir, err = os.MkdirTemp("", "mosey-programs-")
	if err != nil {
		return "", nil, fmt.Errorf("make a directory: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "github.com/mosey-web/mosey/cmd/...").CombinedOutput()
	if err != nil {
		_ = remove() // the build's error is more helpful
		return "", nil, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, remove, nil
}

// Temporal builds Temporal's command-line client into a directory and returns its path. It uses the
// sources of the module that test/temporal requires, without its development server: see
// test/temporal/devserver.
func Temporal(dir string) (program string, err error) {
	module := filepath.Join("..", "temporal")
	sources, err := os.MkdirTemp("", "mosey-temporal-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(sources)) }()
	goCommand := func(dir string, args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", args[0], err, &errs)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if _, err := goCommand(module, "mod", "download", temporalCLI); err != nil {
		return "", err
	}
	cached, err := goCommand(module, "list", "-m", "-f", "{{.Dir}}", temporalCLI)
	if err != nil {
		return "", err
	}
	devserver := filepath.Join("cli", "temporalcli", "devserver")
	err = errors.Join(
		os.CopyFS(sources, os.DirFS(module)),
		os.CopyFS(filepath.Join(sources, "cli"), os.DirFS(cached)),
		os.Remove(filepath.Join(sources, devserver, "log.go")),
		os.Rename(filepath.Join(sources, "devserver", "server.go"), filepath.Join(sources, devserver, "server.go")),
	)
	if err != nil {
		return "", fmt.Errorf("copy the sources of Temporal's command: %w", err)
	}
	program = filepath.Join(dir, "temporal")
	if _, err := goCommand(sources, "mod", "edit", "-replace="+temporalCLI+"=./cli"); err != nil {
		return "", err
	}
	// The sources' paths are new each time; -trimpath omits them, so that Go's cache hits.
	_, err = goCommand(sources, "build", "-trimpath", "-ldflags=-s -w", "-o", program, temporalCLI+"/cmd/temporal")
	return program, err
}

// temporalCLI is the module of Temporal's command-line client.
const temporalCLI = "github.com/temporalio/cli"

// Depend makes Go's test cache depend on the sources of the programs, because the cache only knows
// the files that a test opens and would keep a stale result.
var Depend = sync.OnceValue(func() error { //nolint:gochecknoglobals // computed once for the process
	return filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && !strings.HasPrefix(d.Name(), ".."):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".sql", ".mod", ".sum"}, filepath.Ext(path)):
			return nil
		}
		_, err = os.Stat(path)
		return err
	})
})

// Write writes a program to run. No other goroutine starts a process meanwhile: a process between
// fork and exec keeps the file open for writing, so that Linux refuses to run it (ETXTBSY,
// https://go.dev/issue/22315).
func Write(t testing.TB, path string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, content, 0o755))
}
