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
		if errors.Is(l.err, io.EOF) && searched > after {
			size = searched - after
			break
		}
		if l.err != nil {
			return nil, 0, l.fault()
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

// fault is why nothing more is read.
func (l *lines) fault() error {
	if errors.Is(l.err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read the list, line %d: %w", l.number, l.err)
}

// take moves on by whole lines.
func (l *lines) take(size, count int) {
	l.from += size
	l.number += int64(count)
}

// takeLine moves on by a line of any length.
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

// fill reads more.
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
			err = skipLong(in, l)
			if err == nil {
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
