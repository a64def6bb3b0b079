package export

import (
	"math"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Type is the type of a column's values.
type Type string

// Types of columns. In Parquet they are BYTE_ARRAY as STRING, INT64, DOUBLE, BOOLEAN, INT64 as
// TIMESTAMP in microseconds and UTC, and LIST of strings.
const (
	Text  Type = "text"
	Int   Type = "int64"
	Real  Type = "float64"
	Bool  Type = "bool"
	Time  Type = "timestamp"
	Texts Type = "list of text"
)

// Column is a column of a schema.
type Column struct {
	Name string
	Type Type
	Null bool // values may be missing
	// LowCardinality is set if there are few distinct values: a Parquet file names each once.
	LowCardinality bool
	Doc            string // a line about the meaning of the values
}

// value is one value of a column. Fields of other types are zero.
type value struct {
	null  bool
	num   int64 // Int; Bool is 0 or 1; Time counts microseconds since 1970
	float float64
	text  string
	texts []string
}

// column is a Column of rows of a type.
type column[R any] struct {
	Column

	get func(*R) value
}

func declare[R any](t Type, null bool, name, doc string, get func(*R) value) column[R] {
	return column[R]{Column{Name: name, Type: t, Null: null, Doc: doc}, get}
}

func lowCardinality[R any](c column[R]) column[R] {
	c.LowCardinality = true
	return c
}

// text is never empty.
func text[R any](name, doc string, get func(*R) string) column[R] {
	return declare(Text, false, name, doc, func(r *R) value { return value{text: get(r)} })
}

// maybeText is null if it is empty.
func maybeText[R any](name, doc string, get func(*R) string) column[R] {
	return declare(Text, true, name, doc, func(r *R) value {
		s := get(r)
		return value{text: s, null: s == ""}
	})
}

func number[R any](name, doc string, get func(*R) int64) column[R] {
	return declare(Int, false, name, doc, func(r *R) value { return integer(get(r)) })
}

func maybeNumber[R any](name, doc string, get func(*R) *int64) column[R] {
	return declare(Int, true, name, doc, func(r *R) value { return orNull(get(r), integer) })
}

// positive is null if it is zero.
func positive[R any](name, doc string, get func(*R) int64) column[R] {
	return declare(Int, true, name, doc, func(r *R) value {
		n := get(r)
		return value{num: n, null: n == 0}
	})
}

func maybeMillis[R any](name, doc string, get func(*R) *crawl.Millis) column[R] {
	return declare(Int, true, name, doc, func(r *R) value {
		return orNull(get(r), func(m crawl.Millis) value { return integer(m.Count()) })
	})
}

func maybeReal[R any](name, doc string, get func(*R) *float32) column[R] {
	return declare(Real, true, name, doc, func(r *R) value {
		return orNull(get(r), func(f float32) value { return rounded(float64(f)) })
	})
}

func flag[R any](name, doc string, get func(*R) bool) column[R] {
	return declare(Bool, false, name, doc, func(r *R) value { return truth(get(r)) })
}

func orNull[T any](p *T, of func(T) value) value {
	if p == nil {
		return value{null: true}
	}
	return of(*p)
}

func integer(n int64) value { return value{num: n} }

// rounded has six decimal places.
func rounded(f float64) value { return value{float: math.Round(f*1e6) / 1e6} }

func truth(b bool) value {
	if b {
		return value{num: 1}
	}
	return value{}
}

func instant[R any](name, doc string, get func(*R) time.Time) column[R] {
	return declare(Time, false, name, doc, func(r *R) value { return value{num: get(r).UnixMicro()} })
}

// maybeInstant is null if it is zero.
func maybeInstant[R any](name, doc string, get func(*R) time.Time) column[R] {
	return declare(Time, true, name, doc, func(r *R) value {
		at := get(r)
		return value{num: at.UnixMicro(), null: at.IsZero()}
	})
}

// texts is null if it is empty.
func texts[R any](name, doc string, get func(*R) []string) column[R] {
	return declare(Texts, true, name, doc, func(r *R) value {
		list := get(r)
		return value{texts: list, null: len(list) == 0}
	})
}

func declared[R any](columns []column[R]) []Column {
	all := make([]Column, len(columns))
	for i, c := range columns {
		all[i] = c.Column
	}
	return all
}

// readValues reads the values of a row into a list as long as the columns.
func readValues[R any](values []value, columns []column[R], row *R) {
	for i := range columns {
		values[i] = columns[i].get(row)
	}
}
