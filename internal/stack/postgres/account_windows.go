package postgres

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// account is the user that Postgres runs as: on Windows, always our own.
type account struct{ name string }

func chooseAccount(string) (account, error) { return account{}, nil }

func (account) own(string) error      { return nil }
func (account) canReach(string) error { return nil }

// command prepares a program of Postgres to run in a process group of its own:
// Ctrl-C at the terminal is for us, who stop Postgres last.
func (account) command(cmd *exec.Cmd, _ syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP,
	}
	cmd.Env = environment("PATH", "SystemRoot", "TEMP", "TMP")
}

// isPostmaster cannot tell on Windows. Postgres itself refuses to start beside a live postmaster.
func isPostmaster(int, string) bool { return false }

// interrupt asks a postmaster for a fast shutdown. Windows has no signals, and
// Postgres's own stand-in for them is spoken by pg_ctl.
func interrupt(_ *os.Process, b binaries, data string) error {
	ctx, cancel := context.WithTimeout(context.Background(), helperPatience)
	defer cancel()
	return exec.CommandContext(ctx, b.program("pg_ctl"),
		"stop", "--no-wait", "--mode=fast", "--pgdata="+data).Run()
}

// abort ends a postmaster at once: the next start recovers.
func abort(process *os.Process) error { return process.Kill() }
