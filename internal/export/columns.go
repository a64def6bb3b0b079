package export

import (
	"math"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Type is what the values of a column are.
type Type string

// The types. In Parquet they are BYTE_ARRAY as STRING, INT64, DOUBLE, BOOLEAN, INT64 as
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
	// Null is set if values may be missing.
	Null bool
	// Few is set if there are few different values: a Parquet file names each once.
	Few bool
	// Doc is a line that says what its values mean.
	Doc string
}

// value is one of a column: the fields that the column's type does not name are zero.
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

// few marks a column of few different values.
func few[R any](c column[R]) column[R] {
	c.Few = true
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
	return declare(Int, false, name, doc, func(r *R) value { return value{num: get(r)} })
}

// maybeNumber is null if it is nil.
func maybeNumber[R any](name, doc string, get func(*R) *int64) column[R] {
	return declare(Int, true, name, doc, func(r *R) value {
		if n := get(r); n != nil {
			return value{num: *n}
		}
		return value{null: true}
	})
}

// realNumber is rounded to six places.
func realNumber[R any](name, doc string, get func(*R) float64) column[R] {
	return declare(Real, false, name, doc, func(r *R) value { return value{float: rounded(get(r))} })
}

// maybeReal is null if it is nil.
func maybeReal[R any](name, doc string, get func(*R) *float32) column[R] {
	return declare(Real, true, name, doc, func(r *R) value {
		if f := get(r); f != nil {
			return value{float: rounded(float64(*f))}
		}
		return value{null: true}
	})
}

func rounded(f float64) float64 { return math.Round(f*1e6) / 1e6 }

// positive is null if it is zero.
func positive[R any](name, doc string, get func(*R) int64) column[R] {
	return declare(Int, true, name, doc, func(r *R) value {
		n := get(r)
		return value{num: n, null: n == 0}
	})
}

// maybeMillis is null if it is nil.
func maybeMillis[R any](name, doc string, get func(*R) *crawl.Millis) column[R] {
	return maybeNumber(name, doc, func(r *R) *int64 {
		if m := get(r); m != nil {
			return new(m.Count())
		}
		return nil
	})
}

func flag[R any](name, doc string, get func(*R) bool) column[R] {
	return declare(Bool, false, name, doc, func(r *R) value {
		if get(r) {
			return value{num: 1}
		}
		return value{}
	})
}

// maybeFlag is null if it is nil.
func maybeFlag[R any](name, doc string, get func(*R) *bool) column[R] {
	return declare(Bool, true, name, doc, func(r *R) value {
		switch b := get(r); {
		case b == nil:
			return value{null: true}
		case *b:
			return value{num: 1}
		}
		return value{}
	})
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
