package export

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// Format is how rows are written. Its value is also how the names of such files end.
type Format string

// The formats.
const (
	Parquet Format = "parquet"
	JSONL   Format = "jsonl"
	CSV     Format = "csv"
)

// Formats lists them.
func Formats() []Format { return []Format{Parquet, JSONL, CSV} }

// FormatOf tells a format from the name of a file, or crawl.ErrInvalid.
func FormatOf(name string) (Format, error) {
	end := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
	if slices.Contains(Formats(), end) {
		return end, nil
	}
	return "", fmt.Errorf("%w: %q ends in none of .parquet, .jsonl and .csv", crawl.ErrInvalid, name)
}

// encoder writes the rows of one file.
type encoder interface {
	write(row []value) error
	// flush hands on what is held back for no other reason than speed.
	flush() error
	// close ends the file, and leaves what is beneath it open.
	close() error
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
