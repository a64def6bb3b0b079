package doctor

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/mosey-web/mosey/test/document"
)

var update = flag.Bool("update", false, "write the table of checks into docs/doctor.md")

// TestDocument compares the table of docs/doctor.md with what is declared. Written by:
// go tool task generate.
func TestDocument(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("\n| check | part | purpose | `--repair` |\n|---|---|---|---|\n")
	for _, c := range All() {
		repairs := ""
		if c.Repairs() {
			repairs = "repairs it"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.Name, c.Part, c.About, repairs)
	}
	table.WriteString("\n")

	document.Compare(t, "../../../docs/doctor.md", table.String(), *update)
}
