package seedfile

import (
	"bytes"
	"errors"
	"io"
)

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

// cut is [bytes.Cut] at the separator.
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
