package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// setProcessGroup gives a command its own process group, so that Ctrl-C does not reach it.
func setProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate kills a command, because Windows has no SIGTERM.
func terminate(cmd *exec.Cmd) error { return kill(cmd) }

// kill ends a command at once.
func kill(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
