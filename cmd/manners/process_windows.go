package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// apart gives a command a process group of its own, so that Ctrl-C is not for it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate ends a command, which cannot be asked to.
func terminate(cmd *exec.Cmd) error { return kill(cmd) }

// kill ends a command at once.
func kill(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
