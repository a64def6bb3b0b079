package export_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/export"
)

// documented is how docs/export.md lists the columns of a kind.
func documented(kind export.Table) string {
	var s strings.Builder
	fmt.Fprintf(&s, "### %s\n\n| column | type | null | |\n|---|---|---|---|\n", kind)
	for _, c := range kind.Columns() {
		null := ""
		if c.Null {
			null = "yes"
		}
		fmt.Fprintf(&s, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, null, c.Doc)
	}
	return s.String()
}

func TestColumnsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "export.md"))
	require.NoError(t, err)
	for _, kind := range export.Tables() {
		want := documented(kind)
		require.True(t, strings.Contains(string(doc), want+"\n") || strings.HasSuffix(string(doc), want), "docs/export.md lacks:\n\n%s", want)
		names := map[string]bool{}
		for _, c := range kind.Columns() {
			require.False(t, names[c.Name], c.Name)
			names[c.Name] = true
			require.NotContains(t, c.Doc, "|")
		}
	}
}

// What mosey domains lists can be exported, too.
func TestDomainsHaveWhatIsListed(t *testing.T) {
	t.Parallel()
	var columns []string
	for _, c := range export.Domains.Columns() {
		columns = append(columns, strings.TrimSuffix(c.Name, "_ms"))
	}
	for _, of := range []reflect.Type{reflect.TypeFor[report.DomainListing](), reflect.TypeFor[report.DomainCounts]()} {
		for f := range of.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				require.Contains(t, columns, name)
			}
		}
	}
}
