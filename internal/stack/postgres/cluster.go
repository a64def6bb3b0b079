package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/mosey-web/mosey/internal/files"
)

// ErrNoCluster means that the data directory holds no database yet.
var ErrNoCluster = errors.New("the data directory has no database yet")

// ClusterMajor reads the major version of the cluster, or returns ErrNoCluster. It changes nothing.
func ClusterMajor(dir string) (int, error) {
	data := dataDir(dir)
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNoCluster
	}
	content, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return 0, fmt.Errorf("the database in %s belongs to another user: start "+
			"Mosey as that user or as root: %w", dir, err)
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("%s is not a Postgres cluster: move it away or "+
			"choose another --data-dir; it is unchanged: %w", data, err)
	case err != nil:
		return 0, fmt.Errorf("read version of the cluster: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || major <= 0 {
		return 0, fmt.Errorf("%s has the unknown version %q; it is unchanged",
			data, bytes.TrimSpace(content))
	}
	return major, nil
}

// HasCluster reports whether a data directory holds a database. It changes nothing.
func HasCluster(dir string) (bool, error) {
	_, err := ClusterMajor(dir)
	if errors.Is(err, ErrNoCluster) {
		return false, nil
	}
	return err == nil, err
}

// StartActivity returns the Info.Activity for Start, which depends on whether Start will create the
// cluster.
func StartActivity(dir string) string {
	if has, err := HasCluster(dir); err == nil && !has {
		return "creates the database"
	}
	return "starts the database"
}

// prepare finds binaries that fit the cluster, and creates the cluster if it is missing.
func prepare(ctx context.Context, cfg Config, user account) (binaries, error) {
	if err := user.canReach(ClusterDir(cfg.Dir)); err != nil {
		return binaries{}, err
	}
	major, err := ClusterMajor(cfg.Dir)
	if err != nil && !errors.Is(err, ErrNoCluster) {
		return binaries{}, err
	}
	isNew := err != nil
	b, err := cfg.sources.find(ctx, major, cfg.Progress)
	if err != nil {
		return binaries{}, err
	}
	if isNew {
		cfg.Progress("creating the database")
		if err := createCluster(ctx, cfg, b, user); err != nil {
			return binaries{}, fmt.Errorf("create the database in %s: %w", cfg.Dir, err)
		}
	}
	return b, nil
}

// initPattern names incomplete clusters. After a kill, a retry uses a new name.
const initPattern = "initdb-"

func createCluster(ctx context.Context, cfg Config, b binaries, user account) error {
	home := ClusterDir(cfg.Dir)
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := user.chown(home); err != nil {
		return err
	}
	if err := removeIncomplete(home); err != nil {
		return err
	}
	password := passwordFile(cfg.Dir)
	_, err := os.Stat(password)
	if errors.Is(err, fs.ErrNotExist) {
		err = replaceFile(password, rand.Text()+"\n", user)
	}
	if err != nil {
		return err
	}
	incomplete, err := os.MkdirTemp(home, initPattern)
	if err != nil {
		return err
	}
	if err := user.chown(incomplete); err != nil {
		return err
	}
	if err := initialise(ctx, b, user, incomplete, password); err != nil {
		return errors.Join(err, os.RemoveAll(incomplete))
	}
	// initdb has synced its files.
	if err := os.Rename(incomplete, dataDir(cfg.Dir)); err != nil {
		return err
	}
	return files.SyncDirectory(home)
}

// removeIncomplete removes the files of a killed initdb. A complete cluster has another name.
func removeIncomplete(home string) error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), initPattern) {
			if err := os.RemoveAll(filepath.Join(home, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func writePassFile(dir string, user account) error {
	content, err := os.ReadFile(passwordFile(dir))
	if err != nil {
		return fmt.Errorf("read the password of the database: %w", err)
	}
	password := strings.TrimSpace(string(content))
	if password == "" {
		return fmt.Errorf("the password file %s is empty", passwordFile(dir))
	}
	escaped := strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(password)
	line := "*:*:*:" + role + ":" + escaped + "\n"
	path := passFile(dir)
	if present, err := os.ReadFile(path); err == nil && string(present) == line {
		return nil
	}
	if err := replaceFile(path, line, user); err != nil {
		return fmt.Errorf("write the password for clients of the database: %w", err)
	}
	return nil
}

// replaceFile atomically replaces and syncs a file: without its password a cluster is useless.
func replaceFile(path, text string, user account) error {
	chownFile := func(file *os.File) error { return user.chown(file.Name()) }
	return files.Replace(path, []byte(text), (*os.File).Sync, chownFile)
}

// initialise creates a cluster in an empty directory. It uses the collation C, because updates of
// the operating system change its collations and corrupt indexes.
func initialise(ctx context.Context, b binaries, user account, dir, passwordFile string) error {
	// The death signal comes when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, b.initdb(),
		"--pgdata="+dir,
		"--username="+role,
		"--pwfile="+passwordFile,
		"--auth=scram-sha-256",
		"--encoding=UTF8",
		"--locale=C",
		"--data-checksums",
		"--no-instructions",
	)
	user.command(cmd, syscall.SIGKILL)
	cmd.Dir = filepath.Dir(dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", b.initdb(), err, reason(out))
	}
	conf, err := os.OpenFile(filepath.Join(dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = conf.WriteString(tunables)
	return errors.Join(err, conf.Sync(), conf.Close())
}

// fullDisk matches the messages of Postgres about a full disk.
var fullDisk = regexp.MustCompile(`.*(No space left on device|Check free disk space).*`)

// reason extracts a report of a full disk, or the last five lines, from a program's output.
func reason(out []byte) string {
	if line := fullDisk.Find(out); line != nil {
		return string(line)
	}
	lines := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// environment returns the named variables only, without PG* settings and secrets.
func environment(names ...string) []string {
	env := []string{"LC_ALL=C", "LANG=C"}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
