package seedfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines reads lines, each of which can be looked at before it is taken. It holds no more
// than two records.
type lines struct {
	in io.Reader
	// buf[from:to] is what is read and not yet taken.
	buf      []byte
	from, to int
	err      error // what the input ended with
	number   int64 // of the line at from
}

func newLines(in io.Reader) *lines {
	return &lines{in: in, buf: make([]byte, 3*MaxRecordBytes), number: 1}
}

// peek returns the line that begins some bytes after what is taken, without its end, and
// its size with that. It holds until the next call. The bytes before it must not be more
// than a record may have. The error is io.EOF, errLineLong, or the input's; a last line
// that the input's error has cut off is not returned.
func (l *lines) peek(after int) (line []byte, size int, err error) {
	for searched := after; ; {
		if i := bytes.IndexByte(l.buf[l.from+searched:l.to], '\n'); i >= 0 {
			size = searched + i + 1 - after
			break
		}
		searched = l.to - l.from
		if searched-after > MaxRecordBytes+len("\r") {
			return nil, 0, errLineLong
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
		return nil, 0, errLineLong
	}
	return line, size, nil
}

// take moves on by whole lines.
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

// head is the beginning of the line, however long it is.
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

// readURLs reads a URL or a host a line.
func readURLs(in *lines, l *list) error {
	for {
		line, size, err := in.peek(0)
		if errors.Is(err, errLineLong) {
			if err = skipLong(in, l); err == nil {
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
		if isNothing(line) || !l.wanted() {
			continue
		}
		if err := l.add(line, Entry{Line: number}); err != nil {
			return err
		}
	}
}

// isNothing reports whether a line is blank or a comment.
func isNothing(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// skipLong refuses a line that is too long to be held.
func skipLong(in *lines, l *list) error {
	number, head := in.number, in.head()
	in.takeLine()
	if isNothing([]byte(head)) || !l.wanted() {
		return nil
	}
	return l.refuse(number, head, errLineLong)
}

// recordLinesMax bounds a record of a table, as MaxRecordBytes does: past it a quote is
// taken for one that was meant to be closed before.
const recordLinesMax = 100

// records reads the records of a table.
//
// It is stricter about quotes than other readers. The text after a quote that was never
// closed runs up to the next quoted field, whose text then follows a closing quote. A reader
// that takes that loses all records between.
type records struct {
	in        *lines
	separator byte // what is between fields

	// The record that was scanned: its fields one after the other without their quotes,
	// where each of them ends, and what it takes of the input.
	text  []byte
	ends  []int
	size  int
	lines int
}

// scan reads the record that begins at the current line, but does not take it. The error
// is one of peek's, or errQuote or errQuoteOpen, after which the next record is best
// looked for in the next line.
func (r *records) scan() error {
	r.text, r.ends = r.text[:0], r.ends[:0]
	r.size, r.lines = 0, 0
	for quoted := false; ; {
		line, size, err := r.in.peek(r.size)
		if r.lines > 0 && (errors.Is(err, io.EOF) || errors.Is(err, errLineLong)) {
			return errQuoteOpen
		}
		if err != nil {
			return err
		}
		r.size += size
		r.lines++
		if r.lines > 1 && (r.size > MaxRecordBytes || r.lines > recordLinesMax) {
			return errQuoteOpen
		}
		quoted, err = r.split(line, quoted)
		if err != nil || !quoted {
			return err
		}
		r.text = append(r.text, '\n')
	}
}

// split adds the fields of a line, which begins within quotes or not, and returns whether
// it ends within them. Spaces around quotes are common and do not count.
func (r *records) split(line []byte, quoted bool) (bool, error) {
	for more := true; more; {
		if bare := bytes.TrimLeft(line, " "); !quoted && len(bare) > 0 && bare[0] == '"' {
			line, quoted = bare[1:], true
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

// unquote adds text up to its closing quote, and returns what follows and whether there
// is no such quote.
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

// field is one of the record that was scanned, from 0, until the next is.
func (r *records) field(i int) []byte {
	start := 0
	if i > 0 {
		start = r.ends[i-1]
	}
	return r.text[start:r.ends[i]]
}

// strings is a copy of all fields, without the space around them.
func (r *records) strings() []string {
	fields := make([]string, len(r.ends))
	for i := range fields {
		fields[i] = string(bytes.TrimSpace(r.field(i)))
	}
	return fields
}
