package export

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// Format is the format of a file and the end of its name.
type Format string

const (
	Parquet Format = "parquet"
	JSONL   Format = "jsonl"
	CSV     Format = "csv"
)

// Formats lists the formats.
func Formats() []Format { return []Format{Parquet, JSONL, CSV} }

// FormatOf returns the format for the name of a file, or crawl.ErrInvalid.
func FormatOf(name string) (Format, error) {
	end := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
	if slices.Contains(Formats(), end) {
		return end, nil
	}
	return "", fmt.Errorf("%w: %q: want a name that ends in .parquet, .jsonl or .csv", crawl.ErrInvalid, name)
}

type encoder interface {
	write(row []value) error
	flush() error
	close() error // does not close the writer below
}

func (f Format) encoder(w io.Writer, columns []Column) (encoder, error) {
	switch f {
	case Parquet:
		return newParquet(w, columns), nil
	case JSONL:
		return newJSONL(w, columns), nil
	case CSV:
		return newCSV(w, columns)
	}
	return nil, fmt.Errorf("%w: format %q", crawl.ErrInvalid, f)
}

const writeBuffer = 256 << 10

// append writes a non-null value without quotes: a time as RFC 3339 in UTC, a list as JSON.
func (v value) append(dst []byte, t Type) []byte {
	switch t {
	case Text:
		dst = append(dst, v.text...)
	case Int:
		dst = strconv.AppendInt(dst, v.num, 10)
	case Real:
		dst = strconv.AppendFloat(dst, v.float, 'f', -1, 64)
	case Bool:
		dst = strconv.AppendBool(dst, v.num != 0)
	case Time:
		dst = time.UnixMicro(v.num).UTC().AppendFormat(dst, time.RFC3339Nano)
	case Texts:
		dst = append(dst, '[')
		for i, s := range v.texts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, s)
		}
		dst = append(dst, ']')
	}
	return dst
}

// jsonl writes an object a line, without null values.
type jsonl struct {
	out  *bufio.Writer
	keys [][]byte // `"name":`
	cols []Column
	line []byte
}

func newJSONL(w io.Writer, columns []Column) *jsonl {
	return &jsonl{out: bufio.NewWriterSize(w, writeBuffer), cols: columns, keys: keysOf(columns)}
}

func keysOf(columns []Column) (keys [][]byte) {
	for _, c := range columns {
		keys = append(keys, append(appendString(nil, c.Name), ':'))
	}
	return keys
}

func (j *jsonl) write(row []value) error {
	j.line = append(appendObject(j.line[:0], j.cols, j.keys, row), '\n')
	_, err := j.out.Write(j.line)
	return err
}

// appendObject appends an object without null values. keys are those of keysOf.
func appendObject(line []byte, columns []Column, keys [][]byte, row []value) []byte {
	line = append(line, '{')
	for i, v := range row {
		if v.null {
			continue
		}
		line = append(line, keys[i]...)
		switch t := columns[i].Type; t {
		case Text:
			line = appendString(line, v.text)
		case Time:
			line = append(v.append(append(line, '"'), t), '"')
		case Int, Real, Bool, Texts:
			line = v.append(line, t)
		}
		line = append(line, ',')
	}
	return append(bytes.TrimSuffix(line, []byte(",")), '}')
}

func (j *jsonl) flush() error { return j.out.Flush() }
func (j *jsonl) close() error { return j.out.Flush() }

// appendString writes a JSON string. Invalid UTF-8 becomes the replacement character.
func appendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = utf8.AppendRune(append(dst, '\\'), c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}

// csvFile writes RFC 4180 with a header. A null is empty, and a list is a JSON list.
type csvFile struct {
	out    *csv.Writer
	cols   []Column
	record []string
	text   []byte
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
		c.text = v.append(c.text[:0], c.cols[i].Type)
		c.record[i] = string(c.text)
	}
	return c.out.Write(c.record)
}

func (c *csvFile) flush() error {
	c.out.Flush()
	return c.out.Error()
}

func (c *csvFile) close() error { return c.flush() }
