//go:build unix

package extra

import (
	"os/exec"
	"syscall"
)

// shell returns the command that runs a line of the operator. It has its own process group, so that
// its children end with it and Ctrl-C does not reach it.
func shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line) //nolint:noctx // kill ends its children, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // ESRCH: it has ended
