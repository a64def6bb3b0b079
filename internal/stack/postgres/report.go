package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// linePrefix begins each line of the log: time, process, code (SQLSTATE) and kind of process.
const linePrefix = "%m [%p] %e %b "

// reported is a line of the log that begins a report. What follows it has other words in the
// place of the severity (DETAIL, STATEMENT, …) and may hold values of rows.
var reported = regexp.MustCompile(`^\S[^\[]*\[\d+\] ([0-9A-Z]{5}) ([a-z -]+) (PANIC|FATAL|ERROR|WARNING|LOG):  (.*)$`)

// killed is how the postmaster reports that one of its processes has crashed, or was killed
// for the want of memory. It ends all sessions for that and recovers.
var killed = regexp.MustCompile(`^.* \(PID \d+\) was terminated by (signal|exception)`)

// clients are the processes whose errors are those of a statement, and go to who asked for it.
var clients = []string{"client backend", "parallel worker", "walsender", "dead-end client backend"}

// Codes, or the beginning of some, see appendix A of the Postgres manual.
var (
	// broken: no memory, no connection or no room on the disk (53), trouble with the system,
	// such as a failing disk (58), and data or an index that is corrupt.
	broken = []string{"53", "58", "XX001", "XX002"}
	// ordinary: somebody ends what runs (57), and it waits for another transaction (40).
	ordinary = []string{"57", "40"}
)

// actionable returns the report in a line of the log if a person must know of it. The client of a
// failed statement or a refused connection knows already: such reports are left out.
func actionable(line string) (text string, is bool) {
	found := reported.FindStringSubmatch(line)
	if found == nil {
		return "", false
	}
	code, process, severity, text := found[1], found[2], found[3], found[4]
	begins := func(prefix string) bool { return strings.HasPrefix(code, prefix) }
	switch severity {
	case "PANIC":
		is = true
	case "FATAL", "ERROR":
		is = slices.ContainsFunc(broken, begins) ||
			!slices.Contains(clients, process) && !slices.ContainsFunc(ordinary, begins)
	case "WARNING":
		is = slices.ContainsFunc(broken, begins)
	default:
		return text, killed.MatchString(text)
	}
	return severity + ": " + text, is
}

// reportEvery is how often the log is looked at for what is new. It is short enough for a
// person, and long enough for a postmaster that has reported its own end to be gone: that is
// told in its own way, see supervise.
const reportEvery = 2 * time.Second

// report tells what the log of a postmaster reports from an offset on, until running ends.
func (s *Server) report(running context.Context, offset int64) {
	for pause(running, reportEvery) == nil {
		lines, next, err := linesSince(logPath(s.cfg.Dir), offset)
		switch {
		case err == nil:
			offset = next
		case running.Err() == nil:
			s.cfg.Logger.Warn("cannot read the log of Postgres, whose errors are not told therefore", "error", err)
			return
		}
		for _, line := range lines {
			// Before it is up it is the start that fails, and afterwards the end that is wanted.
			if text, is := actionable(line); is && s.lasts() && running.Err() == nil {
				s.teller.Tell(text)
			}
		}
	}
}

func (s *Server) lasts() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up && !s.quitting
}

// reportMost bounds what is read of the log at a time, in bytes. What is older is left out.
const reportMost = 1 << 20

// linesSince returns the whole lines of a file from an offset on, and where the next begins.
func linesSince(path string, offset int64) (lines []string, next int64, err error) {
	data, offset, err := readSince(path, offset, reportMost)
	if err != nil {
		return nil, offset, fmt.Errorf("read log: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(data) {
		lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
	}
	return lines, offset + int64(len(data)), nil
}

// readSince returns the end of a log from an offset on, at most so many bytes, and where that
// begins. It reads a log that is shorter than the offset from its start: boundLog has emptied it.
func readSince(path string, offset, most int64) (data []byte, from int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, offset, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stat, err := file.Stat()
	if err != nil {
		return nil, offset, err
	}
	if stat.Size() < offset {
		offset = 0
	}
	offset = max(offset, stat.Size()-most)
	data, err = io.ReadAll(io.NewSectionReader(file, offset, stat.Size()-offset))
	return data, offset, err
}
