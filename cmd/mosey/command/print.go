package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mosey-web/mosey/internal/explain"
)

// RowTo writes rows of a name and what there is to say of it.
func RowTo(w io.Writer) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", explain.OneLine(name), strings.TrimRight(explain.OneLine(fmt.Sprintf(format, args...)), " "))
	}
}

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
