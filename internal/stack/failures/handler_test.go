package failures_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/failures"
)

// log is a handler on a clock that is set by hand, and what was told by it.
type log struct {
	*testBundle

	handler slog.Handler
	file    strings.Builder
	quiet   atomic.Bool
}

func newLog() *log {
	l := &log{testBundle: setup()}
	l.handler = failures.NewHandler(slog.NewTextHandler(&l.file, nil), l.Reporter, &l.quiet)
	return l
}

func (l *log) line(t *testing.T, level slog.Level, message, failure string) {
	t.Helper()
	r := slog.NewRecord(l.now, level, message, 0)
	if failure != "" {
		r.AddAttrs(slog.String("error", failure))
	}
	require.NoError(t, l.handler.Handle(context.Background(), r))
}

// repeat logs an error every few seconds for a while.
func (l *log) repeat(t *testing.T, span, every time.Duration, message, failure string) {
	t.Helper()
	for end := l.now.Add(span); !l.now.After(end); l.now = l.now.Add(every) {
		l.line(t, slog.LevelError, message, failure+" "+strconv.FormatInt(l.now.Unix(), 10))
	}
}

// What Temporal logs in the ordinary life of a crawl, with its starts, pauses, kills and ends,
// is told to nobody. The lines are real ones.
func TestOrdinaryLife(t *testing.T) {
	t.Parallel()
	l := newLog()
	for range 200 {
		l.now = l.now.Add(10 * time.Millisecond)
		l.line(t, slog.LevelError, "service failures", "Frontend is not healthy yet")
		l.line(t, slog.LevelWarn, "Failed to poll for task.", `connection error: desc = "transport: Error while dialing"`)
	}
	for range 1000 {
		l.now = l.now.Add(10 * time.Second)
		l.line(t, slog.LevelError, "Unable to call matching.PollActivityTaskQueue.", "context canceled")
		l.line(t, slog.LevelError, "Update workflow execution operation failed.", "context canceled")
		l.line(t, slog.LevelError, "service failures", "GetTaskQueue operation failed. Failed to check if task queue x of type Workflow existed. "+
			"Error: context canceled")
		l.line(t, slog.LevelWarn, "Fail to process task", "context deadline exceeded")
		// a machine that has too much to do
		l.line(t, slog.LevelError, "Update workflow execution operation failed.", "context deadline exceeded")
		l.line(t, slog.LevelError, "Persistent fetch operation Failure", "GetWorkflowExecution: failed to get signal info. "+
			"Error: Failed to get signal info. Error: context deadline exceeded")
	}
	require.Empty(t, l.out.String())
	require.Equal(t, 2*200+6*1000, strings.Count(l.file.String(), "\n"), "the file has all")
}

func TestWhatIsTold(t *testing.T) {
	t.Parallel()
	const text = "Operation failed with an error."
	for name, c := range map[string]struct {
		do   func(t *testing.T, l *log)
		want string
	}{
		"BrokenFile": {func(t *testing.T, l *log) {
			t.Helper()
			l.line(t, slog.LevelWarn, "Fail to process task", "GetOrCreateShard failed: database disk image is malformed (11)")
			l.line(t, slog.LevelError, text, "ListNamespaces operation failed. Error: database disk image is malformed (11)")
		}, `error="Fail to process task: GetOrCreateShard failed: database disk image is malformed (11)"`},
		"FailingDisk": {func(t *testing.T, l *log) {
			t.Helper()
			l.line(t, slog.LevelError, text, "disk I/O error (10)")
		}, `disk I/O error (10)`},
		"Panic": {func(t *testing.T, l *log) {
			t.Helper()
			l.line(t, slog.LevelError, "Panic is captured", "runtime error: index out of range")
		}, "index out of range"},
		"WouldHaveEnded": {func(t *testing.T, l *log) {
			t.Helper()
			l.line(t, slog.LevelError+4, "Failed to serve on frontend listener", "accept: too many open files")
		}, "too many open files"},
		"Lasts": {func(t *testing.T, l *log) {
			t.Helper()
			l.repeat(t, 5*time.Minute, 15*time.Second, text, "database is locked (5)")
		}, "database is locked (5)"},
		"HasBeenAddedBefore": {func(t *testing.T, l *log) {
			t.Helper()
			slog.New(l.handler).With("error", "disk I/O error (10)").Error(text)
		}, `disk I/O error (10)`},
		"FullDiskIsMoseysOwnSentence": {func(t *testing.T, l *log) {
			t.Helper()
			l.line(t, slog.LevelError, text, "database or disk is full (13)")
		}, `msg="Temporal cannot store data" error="database or disk is full (13)"`},
		"NotForAWhile": {func(t *testing.T, l *log) {
			t.Helper()
			l.repeat(t, 2*time.Minute, time.Second, text, "database is locked (5)")
		}, ""},
		"NotSeldom": {func(t *testing.T, l *log) {
			t.Helper()
			l.repeat(t, 5*time.Hour, 90*time.Second, text, "database is locked (5)")
		}, ""},
		"NotAtTheStartOrTheEnd": {func(t *testing.T, l *log) {
			t.Helper()
			l.quiet.Store(true)
			l.line(t, slog.LevelError, text, "disk I/O error (10)")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog()
			c.do(t, l)
			if c.want == "" {
				require.Empty(t, l.out.String())
				return
			}
			require.Equal(t, 1, l.lines(), l.out.String())
			require.Contains(t, l.out.String(), c.want)
		})
	}
}
