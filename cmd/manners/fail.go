package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// Unwrap returns the wrapped error.
func (e usageError) Unwrap() error { return e.error }

// usagef returns an error that the user can fix by another command line. It names the input, the
// mistake and the remedy.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if _, usage := errors.AsType[usageError](err); usage {
		return exitUsage
	}
	return exitFailed
}

// fail prints an error and returns its exit code. Each of several mistakes has its own line.
func fail(w io.Writer, err error) int {
	code := exitCode(err)
	lines := []string{err.Error()}
	if code == exitUsage {
		lines = strings.Split(err.Error(), "\n")
	}
	for _, line := range lines {
		fmt.Fprintf(w, "manners: %s\n", line)
	}
	return code
}

// failJSON implements fail for programs: it prints one JSON object.
func failJSON(w io.Writer, err error) int {
	code := exitCode(err)
	data, marshalErr := json.Marshal(struct {
		Error    string `json:"error"`
		ExitCode int    `json:"exit_code"`
	}{err.Error(), code})
	if marshalErr != nil {
		return fail(w, errors.Join(err, marshalErr))
	}
	fmt.Fprintf(w, "%s\n", data)
	return code
}
