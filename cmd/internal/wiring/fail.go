package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Exit codes of the commands.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Usagef returns an error that an operator can fix by changing the command. The text names the
// given value, its fault and the allowed values.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// IsUsage reports whether an error is a mistake in the command.
func IsUsage(err error) bool {
	_, isUsage := errors.AsType[usageError](err)
	return isUsage
}

// FailJSON is Fail for programs: it prints one JSON object.
func FailJSON(w io.Writer, err error) int {
	text, code := failure(err)
	data, marshalErr := json.Marshal(struct {
		Error    string `json:"error"`
		ExitCode int    `json:"exit_code"`
	}{text, code})
	if marshalErr != nil {
		return Fail(w, "mosey", errors.Join(err, marshalErr))
	}
	fmt.Fprintf(w, "%s\n", data)
	return code
}

// Fail prints an error and returns its exit code. Each of several mistakes gets its own line.
func Fail(w io.Writer, command string, err error) int {
	text, code := failure(err)
	if code == ExitUsage {
		text = strings.ReplaceAll(text, "\n", "\n"+command+": ")
	}
	fmt.Fprintf(w, "%s: %s\n", command, text)
	return code
}

// failure returns the text and the exit code of an error. A full disk replaces any other text.
func failure(err error) (text string, code int) {
	text = err.Error()
	if IsUsage(err) {
		return text, ExitUsage
	}
	if action, isFull := ParseDiskFull(text); isFull {
		text = "the disk is full: free some space and give the command again; stored data is kept (" + action + ")"
	}
	return text, ExitFailed
}

// DiskSpace is the free and the total space of a disk, in bytes and inodes. Some disks count no
// inodes.
type DiskSpace struct{ Free, Size, Inodes, InodesTotal uint64 }

// diskFullPattern matches full disks in errors of Postgres (SQLSTATE 53100), SQLite and the system.
// Errors of Temporal's server cross a process as text.
var diskFullPattern = regexp.MustCompile(`(?i)no space left on device|check free disk space|database or disk is full|SQLSTATE 53100`)

// ParseDiskFull reports whether a text says that a disk is full, and summarizes the failed action.
func ParseDiskFull(text string) (action string, isFull bool) {
	for line := range strings.SplitSeq(text, "\n") {
		found := diskFullPattern.FindStringIndex(line)
		if found == nil {
			continue
		}
		action = line[:found[1]]
		for _, begin := range []string{"ERROR: ", "FATAL: ", "PANIC: ", "error: "} {
			if _, rest, ok := strings.Cut(action, begin); ok {
				action = rest
			}
		}
		const maxLen = 200
		if action = strings.TrimSpace(action); len(action) > maxLen {
			action = "…" + strings.ToValidUTF8(action[len(action)-maxLen:], "")
		}
		if strings.Contains(action, "(SQLSTATE") {
			action += ")"
		}
		return action, true
	}
	return "", false
}

const diskNoticeInterval = time.Minute

// diskLog logs a full disk as one sentence, in place of activity errors and Temporal's time-outs.
type diskLog struct {
	slog.Handler

	state *diskState
}

type diskState struct {
	// base is the handler without attributes
	base slog.Handler

	mu               sync.Mutex
	loggedAt, seenAt time.Time
}

// newLogger logs to a handler, and reports a full disk in one sentence.
func newLogger(handler slog.Handler) *slog.Logger {
	return slog.New(diskLog{handler, &diskState{base: handler}})
}

func (h diskLog) Handle(ctx context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if strings.EqualFold(a.Key, "error") {
			text += "\n" + a.Value.String()
		}
		return true
	})
	action, isFull := ParseDiskFull(text)
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	switch {
	case isFull:
		h.state.seenAt = r.Time
	case strings.HasSuffix(text, context.DeadlineExceeded.Error()) && r.Time.Sub(h.state.seenAt) < diskNoticeInterval:
		return nil
	default:
		return h.Handler.Handle(ctx, r)
	}
	if r.Time.Sub(h.state.loggedAt) < diskNoticeInterval {
		return nil
	}
	h.state.loggedAt = r.Time
	return h.state.base.Handle(ctx, slog.NewRecord(r.Time, slog.LevelError,
		"the disk is full: free some space, and the crawl resumes with all stored data ("+action+")", 0))
}

func (h diskLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return diskLog{h.Handler.WithAttrs(attrs), h.state}
}

func (h diskLog) WithGroup(name string) slog.Handler {
	return diskLog{h.Handler.WithGroup(name), h.state}
}
