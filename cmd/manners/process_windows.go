package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command its own process group, so that Ctrl-C does not reach it.
var ownGroup = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}

// sendSignal kills a command, because Windows has no signals. It returns nil if the command has
// ended.
func sendSignal(cmd *exec.Cmd, _ syscall.Signal) error {
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
