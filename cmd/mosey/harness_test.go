package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// unlimited is set for all commands. The limit of a process is for one crawl. Here are several,
// and the process would collect garbage all the time.
const unlimited = "GOMEMLIMIT=off"

// patience bounds every wait for what happens much sooner.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	runsAsMosey()
	debug.SetGCPercent(400) // as a crawl does below its limit
	code := dbtest.Main(m)
	if dir := os.Getenv("MOSEY_REPLAY_RECORD"); dir != "" && code == 0 {
		if err := recordHistories(dir, temporalStack.info.TemporalAddress); err != nil {
			fmt.Fprintln(os.Stderr, "record histories:", err)
			code = 1
		}
	}
	if err := temporalStack.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test's Temporal:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// commandHarness runs mosey in this process, each command in a world of its own.
type commandHarness struct {
	t *testing.T

	environ  wiring.Env
	settings []string // files
	stdin    string
	terminal bool
	// dir is the data directory; empty where commands get none. It is in the environment, or a flag if
	// dirFlag is set.
	dir     string
	dirFlag bool
}

// newHarness is a world without a database, and with a data directory that is empty.
func newHarness(t *testing.T) *commandHarness {
	t.Helper()
	dir, err := os.MkdirTemp("", "mosey-cmd-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return &commandHarness{t: t, dir: dir, environ: wiring.Env{unlimited}}
}

// newHarnessWithDatabase is a world with a migrated database of its own, named by
// DATABASE_URL, and a store to fill it with.
func newHarnessWithDatabase(t *testing.T) (*commandHarness, *db.Store) {
	t.Helper()
	url := dbtest.URL(t)
	store, err := db.OpenOwner(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	h := newHarness(t)
	h.Setenv("DATABASE_URL", url)
	return h, store
}

// Setenv sets a variable for the commands that follow.
func (h *commandHarness) Setenv(name, value string) { h.environ = append(h.environ, name+"="+value) }

// WriteFile writes a file and returns its path.
func (h *commandHarness) WriteFile(name, content string) string {
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

// Said returns standard error without the lines of a busy machine: a request to a server timed out
// and is retried, or a workflow did not run for a second.
func (r execution) Said() string {
	var said strings.Builder
	for line := range strings.Lines(r.Stderr) {
		if !strings.Contains(line, "context deadline exceeded") && !strings.Contains(line, "TMPRL11") {
			said.WriteString(line)
		}
	}
	return said.String()
}

// Execute runs a command until it ends.
func (h *commandHarness) Execute(args ...string) execution {
	h.t.Helper()
	return h.Start(args...).Wait()
}

// Refuse runs a command and asserts that it is refused with exit code 2 and one line
// that has all the pieces: the input, the reason, the remedy.
func (h *commandHarness) Refuse(args []string, pieces ...string) {
	h.t.Helper()
	r := h.Execute(args...)
	require.Equal(h.t, wiring.ExitUsage, r.Code, "%v: %s", args, r.Stderr)
	require.Empty(h.t, r.Stdout, "%v", args)
	output.ContainsOnSameLine(h.t, r.Stderr, append([]string{"mosey: "}, pieces...)...)
}

// Fail is Refuse for failures other than mistakes on the command line: exit code 1.
func (h *commandHarness) Fail(args []string, pieces ...string) {
	h.t.Helper()
	r := h.Execute(args...)
	require.Equal(h.t, wiring.ExitFailed, r.Code, "%v: %s", args, r.Stderr)
	require.NotContains(h.t, r.Stderr, crawl.ErrInvalid.Error(), "%v", args)
	output.ContainsOnSameLine(h.t, r.Stderr, append([]string{"mosey: "}, pieces...)...)
}

// Print runs a command that works and says nothing on standard error, and returns
// what it prints.
func (h *commandHarness) Print(args ...string) string {
	h.t.Helper()
	r := h.Execute(args...)
	require.Zero(h.t, r.Code, "%v: %s", args, r.Stderr)
	require.Empty(h.t, r.Said(), "%v", args)
	return r.Stdout
}

// Decode is Print for a command that prints one JSON value.
func (h *commandHarness) Decode(value any, args ...string) {
	h.t.Helper()
	out := h.Print(args...)
	d := json.NewDecoder(strings.NewReader(out))
	require.NoError(h.t, d.Decode(value), "%s", out)
	require.False(h.t, d.More(), "more than one value: %s", out)
}

// started is one that runs.
type started struct {
	t              *testing.T
	stdout, stderr output.Buffer
	cancel         context.CancelFunc
	done           chan struct{}
	code           int
}

// Start starts a command, which ends with the test at the latest.
func (h *commandHarness) Start(args ...string) *started {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	c := &started{t: h.t, cancel: cancel, done: make(chan struct{})}
	e := &command.Env{
		Stdin: strings.NewReader(h.stdin), Stdout: &c.stdout, Stderr: &c.stderr, Terminal: h.terminal,
		Environ: slices.Clone(h.environ), Settings: h.settings,
		ProgressInterval: time.Hour, // tests compare stderr, and a busy machine takes its time
	}
	switch {
	case h.dirFlag:
		args = append([]string{"--data-dir", h.dir}, args...)
	case h.dir != "":
		e.Environ = append(e.Environ, "MOSEY_DATA_DIR="+h.dir)
	}
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

// Field is the rest of the line that begins with a name, which is waited for.
func (c *started) Field(name string) (value string) {
	c.t.Helper()
	c.Await(name)
	for line := range strings.Lines(c.stdout.String()) {
		if rest, found := strings.CutPrefix(line, name); found {
			return strings.TrimSpace(rest)
		}
	}
	require.FailNow(c.t, "no such line", "%s: %s", name, &c.stdout)
	return ""
}
