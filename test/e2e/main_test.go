package e2e_test

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
	"testing"
)

// The binaries under test, built once. They are never built with -race: that
// would compile the Temporal server a second time.
var moseyBin, workerBin string

// builtVariable names a directory that has them already.
const builtVariable = "MOSEY_E2E_BUILT"

func TestMain(m *testing.M) {
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// lookAtSources lets Go's test cache know of what the binaries are made: it goes by
// the files that a test looks at, and would else keep a result for other sources.
var lookAtSources = sync.OnceValue(func() error {
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

func build(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "mosey-e2e-bin-")
	if err != nil {
		return 1, fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if built := os.Getenv(builtVariable); built != "" {
		moseyBin, workerBin = filepath.Join(built, "mosey"), filepath.Join(built, "worker")
		return m.Run(), nil
	}
	moseyBin, workerBin = filepath.Join(dir, "mosey"), filepath.Join(dir, "worker")
	for bin, pkg := range map[string]string{moseyBin: "mosey", workerBin: "worker"} {
		cmd := exec.Command("go", "build", "-o", bin, "github.com/mosey-web/mosey/cmd/"+pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return m.Run(), nil
}
