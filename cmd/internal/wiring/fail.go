package wiring

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes of the commands.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// usageError is a mistake of the person who gave the command.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Usagef is an error that a person can mend by giving the command otherwise: it
// names what was given, what is wrong with it and what is wanted.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// IsUsage reports whether an error is a mistake of the person who gave the command.
func IsUsage(err error) bool {
	_, is := errors.AsType[usageError](err)
	return is
}

// FailJSON is Fail for programs: one JSON object in place of lines.
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

// Fail prints an error and returns the exit code for it. Of several mistakes each has
// a line of its own.
func Fail(w io.Writer, command string, err error) int {
	text, code := failure(err)
	if code != ExitUsage {
		fmt.Fprintf(w, "%s: %s\n", command, text)
		return code
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "%s: %s\n", command, line)
	}
	return code
}

// failure is what is said of an error, and the exit code for it. Of a full disk only that is
// told, whatever failed for it.
func failure(err error) (text string, code int) {
	text = err.Error()
	if _, usage := errors.AsType[usageError](err); usage {
		return text, ExitUsage
	}
	if what, full := diskFull(text); full {
		text = "the disk is full: free some space and give the command again; all that was stored is kept (" + what + ")"
	}
	return text, ExitFailed
}
