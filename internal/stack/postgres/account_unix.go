//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that Postgres runs as. The zero value means our own user.
type account struct {
	other    bool
	uid, gid uint32
	name     string
}

// chooseAccount returns our own account. For root, because Postgres refuses to run as root, it
// returns the owner of an existing cluster, else the user postgres, else nobody.
func chooseAccount(dir string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	stat, err := os.Stat(dataDir(dir))
	switch {
	case err == nil:
		owner, ok := stat.Sys().(*syscall.Stat_t)
		if ok && owner.Uid != 0 {
			id := strconv.FormatUint(uint64(owner.Uid), 10)
			name := "uid " + id
			if known, err := user.LookupId(id); err == nil {
				name = known.Username
			}
			return account{other: true, uid: owner.Uid, gid: owner.Gid, name: name}, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return account{}, fmt.Errorf("find the owner of the cluster: %w", err)
	}
	return lookUp("postgres", "nobody")
}

func lookUp(names ...string) (account, error) {
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return account{
			other: true, uid: uint32(uid), gid: uint32(gid), name: name,
		}, nil
	}
	return account{}, fmt.Errorf("postgres does not run as root, and no user named %q exists "+
		"to run it as: create one, start Mosey as a plain user, or set DATABASE_URL", names)
}

func (a account) chown(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// command prepares a Postgres program to run as the account, in its own session: Ctrl-C only
// reaches us. The program gets deathSignal when our process ends, if the platform supports it.
func (a account) command(cmd *exec.Cmd, deathSignal syscall.Signal) {
	attr := &syscall.SysProcAttr{Setsid: true}
	setDeathSignal(attr, deathSignal)
	if a.other {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	cmd.SysProcAttr = attr
	cmd.Env = environment("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
}

// canReach returns an error if mode bits keep the account out of a directory above path. It ignores
// finer rights, such as access control lists, and directories that do not exist yet.
func (a account) canReach(path string) error {
	if !a.other {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		stat, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !a.canPass(stat):
			return fmt.Errorf("postgres does not run as root, and the user %s has no access to the "+
				"directory %s and so to %s: choose another data directory with "+
				"--data-dir, give others access (chmod o+x %s), or start Mosey as a plain user",
				a.name, dir, path, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a account) canPass(stat fs.FileInfo) bool {
	bit := fs.FileMode(0o001)
	if owner, ok := stat.Sys().(*syscall.Stat_t); ok {
		switch {
		case owner.Uid == a.uid:
			bit = 0o100
		case owner.Gid == a.gid:
			bit = 0o010
		}
	}
	return stat.Mode()&bit != 0
}

// interrupt requests a fast shutdown, which needs no recovery.
func interrupt(process *os.Process, _ binaries, _ string) error {
	return process.Signal(syscall.SIGINT)
}

// abort requests an immediate shutdown: the next start recovers.
func abort(process *os.Process) error { return process.Signal(syscall.SIGQUIT) }
