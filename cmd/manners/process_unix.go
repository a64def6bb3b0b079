//go:build unix

package main

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup gives a command its own process group, so that all its children end with it and Ctrl-C
// does not reach it.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

// sendSignal sends a signal to all processes of a command. It returns nil if they have ended.
func sendSignal(cmd *exec.Cmd, sig syscall.Signal) error {
	if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
