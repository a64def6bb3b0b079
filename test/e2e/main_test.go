package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mosey-web/mosey/test/programs"
)

// The programs under test.
var moseyBin, workerBin, mannersBin string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, remove, err := programs.Dir()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	moseyBin, workerBin, mannersBin = filepath.Join(dir, "mosey"), filepath.Join(dir, "worker"), filepath.Join(dir, "manners")
	return m.Run(), nil
}
