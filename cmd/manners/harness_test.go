package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// patience bounds every wait for what happens much sooner.
const patience = 2 * time.Minute

// harness runs commands in this process.
type harness struct {
	t       *testing.T
	environ []string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return &harness{t: t}
}

// Setenv sets a variable for the commands that follow.
func (h *harness) Setenv(name, value string) { h.environ = append(h.environ, name+"="+value) }

// WriteFile writes a file and returns its path.
func (h *harness) WriteFile(name, content string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), name)
	require.NoError(h.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// execution is the result of a command.
type execution struct {
	Code           int
	Stdout, Stderr string
}

// Execute runs a command until it ends.
func (h *harness) Execute(args ...string) execution {
	h.t.Helper()
	return h.Start(args...).Wait()
}

// Refuse runs a command and asserts that it ends with exit code 2 and one line that has
// all the pieces: the input, the reason, the remedy.
func (h *harness) Refuse(args []string, pieces ...string) {
	h.t.Helper()
	r := h.Execute(args...)
	require.Equal(h.t, exitUsage, r.Code, "%v: %s", args, r.Stderr)
	require.Empty(h.t, r.Stdout, "%v", args)
	output.ContainsOnSameLine(h.t, r.Stderr, append([]string{"manners: "}, pieces...)...)
}

// Fail is Refuse for errors that are no mistake of the command line: exit code 1.
func (h *harness) Fail(args []string, pieces ...string) {
	h.t.Helper()
	r := h.Execute(args...)
	require.Equal(h.t, exitFailed, r.Code, "%v: %s", args, r.Stderr)
	output.ContainsOnSameLine(h.t, r.Stderr, append([]string{"manners: "}, pieces...)...)
}

// Print runs a command that succeeds and writes nothing to standard error, and returns its output.
func (h *harness) Print(args ...string) string {
	h.t.Helper()
	r := h.Execute(args...)
	require.Zero(h.t, r.Code, "%v: %s", args, r.Stderr)
	require.Empty(h.t, r.Stderr, "%v", args)
	return r.Stdout
}

// started is a running command.
type started struct {
	t              *testing.T
	stdout, stderr output.Buffer
	cancel         context.CancelFunc
	done           chan struct{}
	code           int
}

// Start starts a command, which ends with the test at the latest.
func (h *harness) Start(args ...string) *started {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	c := &started{t: h.t, cancel: cancel, done: make(chan struct{})}
	e := &env{stdout: &c.stdout, stderr: &c.stderr, environ: h.environ}
	go func() {
		defer close(c.done)
		c.code = run(ctx, args, e)
	}()
	h.t.Cleanup(func() {
		cancel()
		<-c.done
	})
	return c
}

// Stop ends the command as Ctrl-C does, and waits for it.
func (c *started) Stop() execution {
	c.t.Helper()
	c.cancel()
	return c.Wait()
}

// Wait waits for the command's end.
func (c *started) Wait() execution {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		require.FailNow(c.t, "still running", "%s%s", &c.stdout, &c.stderr)
	}
	return execution{Code: c.code, Stdout: c.stdout.String(), Stderr: c.stderr.String()}
}

// Await waits until the command has printed a text on standard output.
func (c *started) Await(text string) {
	c.t.Helper()
	wait.Until(c.t, func() bool {
		select {
		case <-c.done:
			require.Contains(c.t, c.stdout.String(), text, "ended: %s", &c.stderr)
		default:
		}
		return strings.Contains(c.stdout.String(), text)
	}, patience, 5*time.Millisecond, "no %q: %s%s", text, &c.stdout, &c.stderr)
}
