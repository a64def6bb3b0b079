package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// binVariable names the only folder of binaries to use.
const binVariable = "MOSEY_POSTGRES_BIN"

// helperTimeout bounds a call of a small system program.
const helperTimeout = 10 * time.Second

// sources lists the places to search for binaries, in this order.
type sources struct {
	// bin is the folder that the user chose. It excludes all other sources.
	bin string
	// path is a list of folders, as in $PATH.
	path string
	// globs match the folders that systems and package managers use.
	globs []string
	cache string
	// repository is the Maven repository for downloads. Empty disables downloads.
	repository string
}

func usualDirs() []string {
	if runtime.GOOS == "windows" {
		return []string{filepath.Join(os.Getenv("ProgramFiles"), "PostgreSQL", "*", "bin")}
	}
	return []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // PGDG packages for the Red Hat family
		"/usr/lib/postgresql*/bin",  // SUSE, Alpine
		"/usr/libexec/postgresql*",  // Alpine
		"/usr/local/pgsql/bin",      // built from source
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"/opt/local/lib/postgresql*/bin", // MacPorts
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

type binaries struct {
	dir   string
	major int
}

func (b binaries) initdb() string   { return b.program("initdb") }
func (b binaries) postgres() string { return b.program("postgres") }

func (b binaries) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(b.dir, name)
}

// find returns binaries for a cluster of a major version, or for a new cluster if major is 0. It
// prefers $PATH if its version is new enough, else the newest version.
func (s sources) find(ctx context.Context, major int, progress func(string)) (binaries, error) {
	if s.bin != "" {
		return s.findChosen(ctx, major)
	}
	var usual []string
	for _, glob := range s.globs {
		// Glob only fails for a malformed pattern, and these are constants.
		matches, _ := filepath.Glob(glob)
		usual = append(usual, matches...)
	}
	var found []binaries
	for _, dirs := range [][]string{filepath.SplitList(s.path), usual} {
		for _, dir := range dirs {
			// Skip a folder without Postgres, or with one that does not run here.
			if installed, err := inspect(ctx, dir); err == nil {
				found = append(found, installed)
			}
		}
		if best, ok := choose(found, major); ok {
			return best, nil
		}
	}
	downloaded, err := s.download(ctx, major, progress)
	if err != nil {
		return binaries{}, missing(major, found, err)
	}
	return downloaded, nil
}

func (s sources) findChosen(ctx context.Context, major int) (binaries, error) {
	installed, err := inspect(ctx, s.bin)
	if err != nil {
		return binaries{}, fmt.Errorf("%s=%s does not contain Postgres: %w", binVariable, s.bin, err)
	}
	if _, ok := choose([]binaries{installed}, major); !ok {
		return binaries{}, missing(major, []binaries{installed},
			errors.New("only "+binVariable+" was checked"))
	}
	return installed, nil
}

// choose returns the installation for a cluster of a major version, or the newest if major is 0.
func choose(found []binaries, major int) (binaries, bool) {
	var best binaries
	for _, b := range found {
		switch {
		case major != 0 && b.major == major:
			return b, true
		case major == 0 && b.major >= minMajor && b.major > best.major:
			best = b
		}
	}
	return best, best.dir != ""
}

// missing returns the error for missing binaries, whatever the cause.
func missing(major int, found []binaries, cause error) error {
	versions := "no Postgres"
	if len(found) > 0 {
		var names []string
		for _, b := range found {
			names = append(names, fmt.Sprintf("%d in %s", b.major, b.dir))
		}
		slices.Sort(names)
		versions = "only Postgres " + strings.Join(slices.Compact(names), ", ")
	}
	if major != 0 {
		return fmt.Errorf("the database in the data directory needs Postgres %d, but %s found (%w): "+
			"install Postgres %d or name the folder of its programs in %s; the data is unchanged",
			major, versions, cause, major, binVariable)
	}
	return fmt.Errorf("no usable Postgres: %s found on this machine, and the download failed (%w): "+
		"install Postgres %d or newer, name the folder of its programs in %s, or set DATABASE_URL to your "+
		"database", versions, cause, minMajor, binVariable)
}

// versionPattern matches the output of "postgres --version", for example "postgres (PostgreSQL)
// 16.4 (Debian 16.4-1)" or "... 18beta1".
var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect returns the binaries in a folder. Both programs must exist and run.
func inspect(ctx context.Context, dir string) (binaries, error) {
	b := binaries{dir: dir}
	if !filepath.IsAbs(dir) {
		return binaries{}, fmt.Errorf("%q is not an absolute path", dir)
	}
	for _, program := range []string{b.initdb(), b.postgres()} {
		stat, err := os.Stat(program)
		if err != nil {
			return binaries{}, err
		}
		if !stat.Mode().IsRegular() {
			return binaries{}, fmt.Errorf("%s is not executable", program)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, b.postgres(), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("%s --version: %w", b.postgres(), err)
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return binaries{}, fmt.Errorf("%s --version: cannot read %q", b.postgres(), out)
	}
	// The pattern admits digits only. Atoi returns the largest int for too many digits.
	b.major, _ = strconv.Atoi(string(match[1]))
	return b, nil
}
