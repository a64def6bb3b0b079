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

// reportPattern matches a log line that begins a report. The following lines of a report have other
// severities (DETAIL, STATEMENT, …) and may hold values of rows.
var reportPattern = regexp.MustCompile(`^\S[^\[]*\[\d+\] ([0-9A-Z]{5}) ([a-z -]+) (PANIC|FATAL|ERROR|WARNING|LOG):  (.*)$`)

// killedPattern matches the report that a process has crashed or was killed, for example for lack
// of memory. The postmaster then ends all sessions and recovers.
var killedPattern = regexp.MustCompile(`^.* \(PID \d+\) was terminated by (signal|exception)`)

// clientProcesses are the processes whose errors belong to a statement and reach its client.
var clientProcesses = []string{"client backend", "parallel worker", "walsender", "dead-end client backend"}

// Codes or prefixes of codes, see appendix A of the Postgres manual.
var (
	// brokenCodes: no memory, connections or disk space (53), system failures (58), corruption
	// (XX).
	brokenCodes = []string{"53", "58", "XX001", "XX002"}
	// ordinaryCodes: operator intervention (57) and transaction conflicts (40).
	ordinaryCodes = []string{"57", "40"}
)

// actionableReport returns the report in a log line, unless it only concerns its client.
func actionableReport(line string) (text string, ok bool) {
	found := reportPattern.FindStringSubmatch(line)
	if found == nil {
		return "", false
	}
	code, process, severity, text := found[1], found[2], found[3], found[4]
	begins := func(prefix string) bool { return strings.HasPrefix(code, prefix) }
	switch severity {
	case "PANIC":
		ok = true
	case "FATAL", "ERROR":
		ok = slices.ContainsFunc(brokenCodes, begins) ||
			!slices.Contains(clientProcesses, process) && !slices.ContainsFunc(ordinaryCodes, begins)
	case "WARNING":
		ok = slices.ContainsFunc(brokenCodes, begins)
	default:
		return text, killedPattern.MatchString(text)
	}
	return severity + ": " + text + " (SQLSTATE " + code + ")", ok
}

// reportInterval is the interval for polling the log. It is long enough that a postmaster that
// reported its own end has exited: supervise reports that.
const reportInterval = 2 * time.Second

// report reports the errors in a postmaster's log, beginning at an offset, until running ends.
func (s *Server) report(running context.Context, offset int64) {
	for pause(running, reportInterval) == nil {
		lines, next, err := linesSince(logPath(s.cfg.Dir), offset)
		switch {
		case err == nil:
			offset = next
		case running.Err() == nil:
			s.cfg.Logger.Warn("cannot read the log of Postgres, so its errors are not reported", "error", err)
			return
		}
		for _, line := range lines {
			text, is := actionableReport(line)
			if !is {
				continue
			}
			s.mu.Lock()
			isRunning := s.up && !s.quitting // Start and Stop report their own errors
			s.mu.Unlock()
			if isRunning && running.Err() == nil {
				s.reporter.Report(text)
			}
		}
	}
}

// maxReportBytes bounds a read of the log, in bytes. Older lines are skipped.
const maxReportBytes = 1 << 20

// linesSince returns the complete lines of a file from an offset on, and the next offset.
func linesSince(path string, offset int64) (lines []string, next int64, err error) {
	data, offset, err := readSince(path, offset, maxReportBytes)
	if err != nil {
		return nil, offset, fmt.Errorf("read log: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(data) {
		lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
	}
	return lines, offset + int64(len(data)), nil
}

// readSince returns the end of a log from an offset on, up to maxBytes bytes, and its offset. If
// the log is shorter than the offset, boundLog has emptied it, and reading begins at its start.
func readSince(path string, offset, maxBytes int64) (data []byte, from int64, err error) {
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
	offset = max(offset, stat.Size()-maxBytes)
	data, err = io.ReadAll(io.NewSectionReader(file, offset, stat.Size()-offset))
	return data, offset, err
}
