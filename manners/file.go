package manners

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mosey-web/mosey/manners/web"
)

// formatVersion is the version of the log file's format.
const formatVersion = 1

// Head is the first line of a log file: the description of the run.
type Head struct {
	// Format is the version of the file's format, which is 1.
	Format int `json:"manners"`

	Options Options `json:"options"`

	// Started is the start of the web by the wall clock.
	Started time.Time `json:"started"`

	// Crawler describes the crawler in free words.
	Crawler string `json:"crawler,omitempty"`

	// Version is the version of the program that served the web.
	Version string `json:"version,omitempty"`
}

// Run is the content of a log file.
type Run struct {
	Head

	Events []Event
	Log    web.Log

	// Truncated is set if the file ended within its last line, because its writer died. All lines
	// before are read.
	Truncated bool
}

// Write writes a log file: JSON lines, the head first.
func (r Run) Write(w io.Writer) error {
	r.Format = formatVersion
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	if err := enc.Encode(r.Head); err != nil {
		return fmt.Errorf("manners: write log: %w", err)
	}
	for _, e := range r.Events {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("manners: write log: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("manners: write log: %w", err)
	}
	return r.Log.Write(w)
}

// Bounds of a log file.
const (
	maxLineBytes = 1 << 20
	maxRecords   = 5_000_000
	// maxInstant bounds instants, so that sums of them stay durations.
	maxInstant = 10 * 365 * 24 * time.Hour
)

// errNotALog reports a file of another kind.
var errNotALog = errors.New(`not a log of manners: the first line has no "manners"`)

// ReadRun reads a log file. Events and records may come in any order. An error names the line.
// Lines are at most 1 MiB, and instants at most ten years.
func ReadRun(from io.Reader) (Run, error) {
	var r Run
	in := bufio.NewReaderSize(from, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return r, fmt.Errorf("line %d: %w", n, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			err := addLine(&r, n, text)
			if truncated := ended && n > 1 && !json.Valid(text); truncated {
				r.Truncated = true
				return r, nil
			}
			if err != nil {
				return r, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if ended {
			if r.Format == 0 {
				return r, fmt.Errorf("line 1: %w", errNotALog)
			}
			return r, nil
		}
	}
}

// readLine reads a line of bounded length. It returns io.EOF for a line without an end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLineBytes {
			return nil, fmt.Errorf("the line is longer than %d bytes", maxLineBytes)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// addLine adds the content of a line.
func addLine(r *Run, n int, line []byte) error {
	if n == 1 {
		return addHead(r, line)
	}
	var entry struct {
		Event EventKind `json:"event"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return err
	}
	if entry.Event != "" {
		return addEvent(r, line)
	}
	var rec web.Record
	if err := json.Unmarshal(line, &rec); err != nil {
		return err
	}
	for _, at := range []time.Duration{rec.Accepted, rec.FirstByte, rec.HeadRead, rec.Start, rec.End} {
		if at < 0 || at > maxInstant {
			return fmt.Errorf("instant %d: want 0 to %d nanoseconds", at, maxInstant)
		}
	}
	switch {
	case rec.End < rec.Start:
		return fmt.Errorf("end %d: before the start %d", rec.End, rec.Start)
	case rec.Status < 0 || rec.Status > 999:
		return fmt.Errorf("status %d: want 0 to 999", rec.Status)
	case len(r.Log) == maxRecords:
		return fmt.Errorf("there are more than %d requests", maxRecords)
	}
	r.Log = append(r.Log, rec)
	return nil
}

func addHead(r *Run, line []byte) error {
	if err := json.Unmarshal(line, &r.Head); err != nil {
		return errors.Join(errNotALog, err)
	}
	switch r.Format {
	case 0:
		return errNotALog
	case formatVersion:
		return nil
	}
	return fmt.Errorf("manners %d: this program reads version %d of the format", r.Format, formatVersion)
}

func addEvent(r *Run, line []byte) error {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	switch {
	case !slices.Contains(eventKinds, e.Kind):
		return fmt.Errorf("event %q: want one of %s", e.Kind, eventKinds)
	case e.At < 0 || e.At > maxInstant:
		return fmt.Errorf("instant %d: want 0 to %d nanoseconds", e.At, maxInstant)
	}
	r.Events = append(r.Events, e)
	return nil
}

// Judge judges the run by its own cases.
func (r Run) Judge() ([]Judged, error) {
	suite, err := New(r.Options)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	return suite.Judge(r.Log, r.Events), nil
}
