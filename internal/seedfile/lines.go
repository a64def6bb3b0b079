package seedfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines reads lines, which can be peeked at before they are taken. It holds at most two records.
type lines struct {
	in io.Reader
	// buf[from:to] is read but not yet taken.
	buf      []byte
	from, to int
	err      error // the final error of the input
	number   int64 // number of the line at from
}

func newLines(in io.Reader) *lines {
	return &lines{in: in, buf: make([]byte, 3*MaxRecordBytes), number: 1}
}

// peek returns the line at offset after without its end, and its size with the end. It is valid
// until the next call. The skipped bytes must fit into a record. The error is io.EOF,
// errLineTooLong, or the input's error. A last line that the input's error has cut off is not
// returned.
func (l *lines) peek(after int) (line []byte, size int, err error) {
	for searched := after; ; {
		if i := bytes.IndexByte(l.buf[l.from+searched:l.to], '\n'); i >= 0 {
			size = searched + i + 1 - after
			break
		}
		searched = l.to - l.from
		if searched-after > MaxRecordBytes+len("\r") {
			return nil, 0, errLineTooLong
		}
		if errors.Is(l.err, io.EOF) {
			if searched == after {
				return nil, 0, io.EOF
			}
			size = searched - after
			break
		}
		if l.err != nil {
			return nil, 0, fmt.Errorf("read the list, line %d: %w", l.number, l.err)
		}
		l.fill()
	}
	line = l.buf[l.from+after:][:size]
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) > MaxRecordBytes {
		return nil, 0, errLineTooLong
	}
	return line, size, nil
}

// take skips whole lines.
func (l *lines) take(size, count int) {
	l.from += size
	l.number += int64(count)
}

func (l *lines) takeLine() {
	for {
		if i := bytes.IndexByte(l.buf[l.from:l.to], '\n'); i >= 0 {
			l.take(i+1, 1)
			return
		}
		l.from = l.to
		if l.err != nil {
			return
		}
		l.fill()
	}
}

// head returns the beginning of a line of any length.
func (l *lines) head() string {
	head := l.buf[l.from:min(l.to, l.from+MaxRecordBytes)]
	head, _, _ = bytes.Cut(head, []byte("\n"))
	return string(head)
}

func (l *lines) fill() {
	if l.from > 0 && (l.from == l.to || l.to == len(l.buf)) {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from = 0
	}
	for range 100 {
		n, err := l.in.Read(l.buf[l.to:])
		l.to += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// readURLs reads one URL or host per line.
func readURLs(in *lines, l *list) error {
	for {
		line, size, err := in.peek(0)
		if errors.Is(err, errLineTooLong) {
			if err = refuseLongLine(in, l); err == nil {
				continue
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		number := in.number
		in.take(size, 1)
		if isIgnored(line) || !l.isPastOffset() {
			continue
		}
		if err := l.add(line, Entry{Line: number}); err != nil {
			return err
		}
	}
}

// isIgnored reports whether a line is blank or a comment.
func isIgnored(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// refuseLongLine refuses a line that exceeds the buffer.
func refuseLongLine(in *lines, l *list) error {
	number, head := in.number, in.head()
	in.takeLine()
	if isIgnored([]byte(head)) || !l.isPastOffset() {
		return nil
	}
	return l.refuse(number, head, errLineTooLong)
}

// recordLinesMax caps the lines of a record. A longer record counts as an unclosed quote.
const recordLinesMax = 100

// records reads the records of a table.
//
// It is stricter about quotes than other readers. The text after an unclosed quote extends to the
// next quoted field, whose text then follows a closing quote. A reader that accepts this loses all
// records between.
type records struct {
	in        *lines
	separator byte // between fields

	// The scanned record: its fields without their quotes, concatenated, the end of each field, and
	// the bytes and lines that the record takes of the input.
	text  []byte
	ends  []int
	size  int
	lines int
}

// scan reads the record at the current line without taking it. It returns the errors of peek,
// errQuote or errUnclosedQuote. After the last two, the next record may begin in the next line.
func (r *records) scan() error {
	r.text, r.ends = r.text[:0], r.ends[:0]
	r.size, r.lines = 0, 0
	for quoted := false; ; {
		line, size, err := r.in.peek(r.size)
		if r.lines > 0 && (errors.Is(err, io.EOF) || errors.Is(err, errLineTooLong)) {
			return errUnclosedQuote
		}
		if err != nil {
			return err
		}
		r.size += size
		r.lines++
		if r.lines > 1 && (r.size > MaxRecordBytes || r.lines > recordLinesMax) {
			return errUnclosedQuote
		}
		quoted, err = r.split(line, quoted)
		if err != nil || !quoted {
			return err
		}
		r.text = append(r.text, '\n')
	}
}

// split adds the fields of a line. quoted is set if the line begins within quotes. split reports
// whether it ends within them. It ignores the common spaces around quotes.
func (r *records) split(line []byte, quoted bool) (bool, error) {
	for more := true; more; {
		if trimmed := bytes.TrimLeft(line, " "); !quoted && len(trimmed) > 0 && trimmed[0] == '"' {
			line, quoted = trimmed[1:], true
		}
		var field []byte
		if !quoted {
			field, line, more = r.cut(line)
			r.endField(field)
			continue
		}
		if line, quoted = r.unquote(line); quoted {
			return true, nil
		}
		field, line, more = r.cut(line)
		if len(bytes.Trim(field, " ")) > 0 {
			return false, errQuote
		}
		r.endField(nil)
	}
	return false, nil
}

// unquote adds text up to its closing quote. It returns the rest, and whether the quote is open.
func (r *records) unquote(line []byte) (rest []byte, open bool) {
	for {
		text, rest, closed := bytes.Cut(line, []byte{'"'})
		r.text = append(r.text, text...)
		if !closed || len(rest) == 0 || rest[0] != '"' {
			return rest, !closed
		}
		r.text = append(r.text, '"')
		line = rest[1:]
	}
}

func (r *records) cut(line []byte) (field, rest []byte, more bool) {
	i := bytes.IndexByte(line, r.separator)
	if i < 0 {
		return line, nil, false
	}
	return line[:i], line[i+1:], true
}

func (r *records) endField(text []byte) {
	r.text = append(r.text, text...)
	r.ends = append(r.ends, len(r.text))
}

// field returns a field of the scanned record, from 0. It is valid until the next scan.
func (r *records) field(i int) []byte {
	start := 0
	if i > 0 {
		start = r.ends[i-1]
	}
	return r.text[start:r.ends[i]]
}

// strings returns a copy of all fields, without the space around them.
func (r *records) strings() []string {
	fields := make([]string, len(r.ends))
	for i := range fields {
		fields[i] = string(bytes.TrimSpace(r.field(i)))
	}
	return fields
}
