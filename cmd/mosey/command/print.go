package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// RowTo writes rows of a name and what there is to say of it.
func RowTo(w io.Writer) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", OneLine(name), strings.TrimRight(OneLine(fmt.Sprintf(format, args...)), " "))
	}
}

// Stamp is a time as people read it, in their zone.
func Stamp(t time.Time) string { return t.Local().Format(time.DateTime) }

// Flush prints the rows of a table.
func Flush(t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// PrintLines prints one JSON object a line.
func PrintLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, x := range list {
		if err := enc.Encode(x); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, x any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
