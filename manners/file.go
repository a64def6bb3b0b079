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

	// Cut is set if the file ended within its last line, because its writer died. All lines before
	// are read.
	Cut bool
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
	lineMost   = 1 << 20
	recordMost = 5_000_000
	// instantMost bounds instants, so that sums of them stay durations.
	instantMost = 10 * 365 * 24 * time.Hour
)

// errNoLog reports a file of another kind.
var errNoLog = errors.New(`not a log of manners: the first line has no "manners"`)

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
			err := take(&r, n, text)
			if cut := ended && n > 1 && !json.Valid(text); cut {
				r.Cut = true
				return r, nil
			}
			if err != nil {
				return r, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if ended {
			if r.Format == 0 {
				return r, fmt.Errorf("line 1: %w", errNoLog)
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
		if len(line)+len(part) > lineMost {
			return nil, fmt.Errorf("the line is longer than %d bytes", lineMost)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take adds the content of a line.
func take(r *Run, n int, line []byte) error {
	if n == 1 {
		return takeHead(r, line)
	}
	var entry struct {
		Event EventKind `json:"event"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return err
	}
	if entry.Event != "" {
		return takeEvent(r, line)
	}
	var rec web.Record
	if err := json.Unmarshal(line, &rec); err != nil {
		return err
	}
	for _, at := range []time.Duration{rec.Accepted, rec.FirstByte, rec.Read, rec.Start, rec.End} {
		if at < 0 || at > instantMost {
			return fmt.Errorf("instant %d: want 0 to %d nanoseconds", at, instantMost)
		}
	}
	switch {
	case rec.End < rec.Start:
		return fmt.Errorf("end %d: before the start %d", rec.End, rec.Start)
	case rec.Status < 0 || rec.Status > 999:
		return fmt.Errorf("status %d: want 0 to 999", rec.Status)
	case len(r.Log) == recordMost:
		return fmt.Errorf("there are more than %d requests", recordMost)
	}
	r.Log = append(r.Log, rec)
	return nil
}

func takeHead(r *Run, line []byte) error {
	if err := json.Unmarshal(line, &r.Head); err != nil {
		return errors.Join(errNoLog, err)
	}
	switch r.Format {
	case 0:
		return errNoLog
	case formatVersion:
		return nil
	}
	return fmt.Errorf("manners %d: this program reads version %d of the format", r.Format, formatVersion)
}

func takeEvent(r *Run, line []byte) error {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	switch {
	case !slices.Contains(eventKinds, e.Kind):
		return fmt.Errorf("event %q: want one of %s", e.Kind, eventKinds)
	case e.At < 0 || e.At > instantMost:
		return fmt.Errorf("instant %d: want 0 to %d nanoseconds", e.At, instantMost)
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
