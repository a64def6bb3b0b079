package export

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// maxGroupRows and maxGroupBytes bound a row group, which stays in memory until it is complete.
	maxGroupRows  = 100_000
	maxGroupBytes = 64 << 20
	rowsPerWrite  = 256 // for each call of the library
	// maxDictionaryBytes bounds the dictionary of a column with more distinct values than expected.
	maxDictionaryBytes = 1 << 20
)

type parquetFile struct {
	out  *parquet.GenericWriter[any]
	cols []Column

	rows  []parquet.Row
	texts []byte // of the rows
	// of the row group
	groupRows  int
	groupBytes int
}

func newParquet(w io.Writer, columns []Column) *parquetFile {
	return &parquetFile{
		cols: columns,
		out: parquet.NewGenericWriter[any](w, parquet.NewSchema("mosey", nodeOf(columns)),
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
			parquet.DictionaryMaxBytes(maxDictionaryBytes), parquet.DataPageStatistics(true)),
	}
}

// fields is a group whose fields have the order of the columns, not of their names.
type fields struct {
	parquet.Group

	names []string
}

func (f fields) Fields() []parquet.Field {
	list := f.Group.Fields()
	slices.SortFunc(list, func(a, b parquet.Field) int {
		return slices.Index(f.names, a.Name()) - slices.Index(f.names, b.Name())
	})
	return list
}

func nodeOf(columns []Column) parquet.Node {
	f := fields{Group: parquet.Group{}}
	for _, c := range columns {
		var node parquet.Node
		switch c.Type {
		case Text:
			node = parquet.String()
		case Int:
			node = parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
		case Real:
			node = parquet.Leaf(parquet.DoubleType)
		case Bool:
			node = parquet.Leaf(parquet.BooleanType)
		case Time:
			node = parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
		case Texts:
			node = parquet.List(parquet.String())
		}
		if c.LowCardinality {
			node = parquet.Encoded(node, &parquet.RLEDictionary)
		}
		if c.Null {
			node = parquet.Optional(node)
		}
		f.Group[c.Name] = node
		f.names = append(f.names, c.Name)
	}
	return f
}

func (p *parquetFile) write(row []value) error {
	p.rows = slices.Grow(p.rows, 1)[:len(p.rows)+1] // with the memory of earlier rows
	to := &p.rows[len(p.rows)-1]
	*to = (*to)[:0]
	for i, v := range row {
		*to = p.appendValue(*to, i, v)
	}
	if len(p.rows) == rowsPerWrite {
		return p.passRows()
	}
	return nil
}

// appendValue adds a column's values to a row, with the levels for nulls and lists.
func (p *parquetFile) appendValue(to parquet.Row, column int, v value) parquet.Row {
	level := 0 // of a present value
	if p.cols[column].Null {
		if v.null {
			return append(to, parquet.NullValue().Level(0, 0, column))
		}
		level = 1
	}
	switch p.cols[column].Type {
	case Text:
		to = append(to, p.text(v.text).Level(0, level, column))
	case Int, Time:
		to = append(to, parquet.Int64Value(v.num).Level(0, level, column))
	case Real:
		to = append(to, parquet.DoubleValue(v.float).Level(0, level, column))
	case Bool:
		to = append(to, parquet.BooleanValue(v.num != 0).Level(0, level, column))
	case Texts:
		for i, s := range v.texts {
			to = append(to, p.text(s).Level(min(i, 1), level+1, column))
		}
	}
	return to
}

// text stores a string until the rows are passed on.
func (p *parquetFile) text(s string) parquet.Value {
	from := len(p.texts)
	p.texts = append(p.texts, s...)
	return parquet.ByteArrayValue(p.texts[from:len(p.texts):len(p.texts)])
}

// passRows passes the rows to the library, and ends a large enough row group.
func (p *parquetFile) passRows() error {
	if len(p.rows) == 0 {
		return nil
	}
	if _, err := p.out.WriteRows(p.rows); err != nil {
		return err
	}
	p.groupRows += len(p.rows)
	p.groupBytes += len(p.texts)
	p.rows, p.texts = p.rows[:0], p.texts[:0]
	if p.groupRows < maxGroupRows && p.groupBytes < maxGroupBytes {
		return nil
	}
	p.groupRows, p.groupBytes = 0, 0
	return p.out.Flush()
}

// flush does nothing: a row group is written as a whole.
func (p *parquetFile) flush() error { return nil }

func (p *parquetFile) close() error {
	if err := p.passRows(); err != nil {
		return err
	}
	return p.out.Close()
}
