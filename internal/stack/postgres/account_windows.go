package postgres

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// account is the user that Postgres runs as. On Windows, this is always our own user.
type account struct{ name string }

func chooseAccount(string) (account, error) { return account{}, nil }

func (account) chown(string) error    { return nil }
func (account) canReach(string) error { return nil }

// command prepares a Postgres program to run in its own process group: Ctrl-C at the terminal only
// reaches us, and we stop Postgres last.
func (account) command(cmd *exec.Cmd, _ syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP,
	}
	cmd.Env = environment("PATH", "SystemRoot", "TEMP", "TMP")
}

// isPostmaster returns false: Postgres itself refuses to start beside a live postmaster.
func isPostmaster(int, string) bool { return false }

// interrupt requests a fast shutdown. Windows has no signals: pg_ctl implements a substitute.
func interrupt(_ *os.Process, b binaries, data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	return exec.CommandContext(ctx, b.program("pg_ctl"),
		"stop", "--no-wait", "--mode=fast", "--pgdata="+data).Run()
}

// abort kills a postmaster: the next start recovers.
func abort(process *os.Process) error { return process.Kill() }
