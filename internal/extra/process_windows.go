package extra

import (
	"os/exec"
	"syscall"
)

// shell returns the command that runs a line of the operator. Ctrl-C does not reach it.
func shell(line string) *exec.Cmd {
	cmd := exec.Command("cmd", "/C", line) //nolint:noctx // Close ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	return cmd
}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // os.ErrProcessDone
