package export

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// writeBuffer is what is written at once, in bytes.
const writeBuffer = 256 << 10

// stamp is how an instant is written as text: RFC 3339, in UTC.
func stamp(dst []byte, micros int64) []byte {
	return time.UnixMicro(micros).UTC().AppendFormat(dst, time.RFC3339Nano)
}

// jsonl writes an object a line; what is null is left out.
type jsonl struct {
	out  *bufio.Writer
	keys [][]byte // `"name":`
	cols []Column
	line []byte
}

func newJSONL(w io.Writer, columns []Column) *jsonl {
	j := &jsonl{out: bufio.NewWriterSize(w, writeBuffer), cols: columns}
	for _, c := range columns {
		j.keys = append(j.keys, append(appendString(nil, c.Name), ':'))
	}
	return j
}

func (j *jsonl) write(row []value) error {
	line := j.line[:0]
	line = append(line, '{')
	for i, v := range row {
		if v.null {
			continue
		}
		if len(line) > 1 {
			line = append(line, ',')
		}
		line = append(line, j.keys[i]...)
		switch j.cols[i].Type {
		case Text:
			line = appendString(line, v.text)
		case Int:
			line = strconv.AppendInt(line, v.num, 10)
		case Real:
			line = strconv.AppendFloat(line, v.float, 'f', -1, 64)
		case Bool:
			line = strconv.AppendBool(line, v.num != 0)
		case Time:
			line = append(stamp(append(line, '"'), v.num), '"')
		case Texts:
			line = appendStrings(line, v.texts)
		}
	}
	line = append(line, '}', '\n')
	j.line = line
	_, err := j.out.Write(line)
	return err
}

func (j *jsonl) flush() error { return j.out.Flush() }
func (j *jsonl) close() error { return j.out.Flush() }

// appendString writes a string of JSON. What is no UTF-8, which Postgres does not hold,
// becomes the replacement character.
func appendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for from := 0; from < len(s); {
		c := s[from]
		if c < utf8.RuneSelf {
			from++
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c < ' ' || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s[from:])
		dst = utf8.AppendRune(dst, r)
		from += size
	}
	return append(dst, '"')
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

// csvFile writes RFC 4180 with a header; what is null is empty, a list is one of JSON.
type csvFile struct {
	out    *csv.Writer
	cols   []Column
	record []string
}

func newCSV(w io.Writer, columns []Column) (*csvFile, error) {
	c := &csvFile{out: csv.NewWriter(bufio.NewWriterSize(w, writeBuffer)), cols: columns, record: make([]string, len(columns))}
	for i, column := range columns {
		c.record[i] = column.Name
	}
	return c, c.out.Write(c.record)
}

func (c *csvFile) write(row []value) error {
	for i, v := range row {
		c.record[i] = ""
		if v.null {
			continue
		}
		switch c.cols[i].Type {
		case Text:
			c.record[i] = v.text
		case Int:
			c.record[i] = strconv.FormatInt(v.num, 10)
		case Real:
			c.record[i] = strconv.FormatFloat(v.float, 'f', -1, 64)
		case Bool:
			c.record[i] = strconv.FormatBool(v.num != 0)
		case Time:
			c.record[i] = string(stamp(nil, v.num))
		case Texts:
			c.record[i] = string(appendStrings(nil, v.texts))
		}
	}
	return c.out.Write(c.record)
}

func (c *csvFile) flush() error {
	c.out.Flush()
	return c.out.Error()
}

func (c *csvFile) close() error { return c.flush() }
