package e2e_test

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/programs"
)

// isolatedVariable is set in a process that isolate has started.
const isolatedVariable = "MOSEY_E2E_ISOLATED"

// capabilities are what it takes to make network namespaces and what joins them.
//
//nolint:gochecknoglobals // a constant, but for its type
var capabilities = []uintptr{12 /* CAP_NET_ADMIN */, 21 /* CAP_SYS_ADMIN */}

// isolate runs a test of this binary in a process with a network of its own. The test may do what
// it likes there, and the network of the machine is left alone. Root may do so, and other users
// where the system has user namespaces for them; elsewhere the test is skipped. It returns in the
// process that is to do the test, and tells others to return. That process gets the variables that
// prepare returns, which may build what has to be got from elsewhere.
func isolate(t *testing.T, prepare func() (variable string)) (here bool) {
	t.Helper()
	if os.Getenv(isolatedVariable) != "" {
		return true
	}
	attributes := func() *syscall.SysProcAttr {
		attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if uid := os.Getuid(); uid != 0 {
			// it keeps its name, since Postgres refuses to run as root
			attr.Cloneflags |= syscall.CLONE_NEWUSER
			attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
			attr.AmbientCaps = capabilities
		}
		return attr
	}
	self, err := os.Executable()
	require.NoError(t, err)
	probe := exec.CommandContext(t.Context(), self, "-test.list", "^$")
	probe.Env, probe.SysProcAttr = environ(programs.Variable+"="+t.TempDir()), attributes()
	if err := probe.Run(); err != nil {
		t.Skipf("this user may not have a network of its own (a network namespace) here: %v", err)
	}

	args := []string{"-test.run", "^" + t.Name() + "$", "-test.v", "-test.timeout", "20m"}
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.short" || strings.HasPrefix(f.Name, "topology.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	child := exec.CommandContext(t.Context(), self, args...)
	child.Env = environ(isolatedVariable+"=1", programs.Variable+"="+filepath.Dir(moseyBin), prepare())
	child.SysProcAttr = attributes()
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	child.Stderr = child.Stdout
	require.NoError(t, child.Start())
	skipped := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		skipped = skipped || strings.Contains(lines.Text(), "--- SKIP: "+t.Name())
	}
	require.NoError(t, child.Wait())
	if skipped {
		t.Skip("it was skipped there, for the reason above")
	}
	return false
}
