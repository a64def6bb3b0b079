// Package programs gives tests the programs of this tree.
package programs

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Variable names a directory that holds the programs already. `go tool task test` sets it, so
// that each program is linked once for all packages.
const Variable = "MOSEY_TEST_PROGRAMS"

// Dir returns the directory with the programs mosey, worker and manners. It builds them into a
// new directory if the environment names none. They are never built with -race, because that
// would compile the Temporal server a second time. remove deletes a directory that Dir made.
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
		_ = remove() // the build's error says more
		return "", nil, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, remove, nil
}

// Depend makes Go's test cache depend on the sources of the programs: the cache knows only the
// files that a test looks at, and would keep a result for other sources.
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
