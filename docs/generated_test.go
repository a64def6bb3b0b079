package docs_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/test/document"
)

var update = flag.Bool("update", false, "write the generated tables into the documents")

// TestGeneratedTables compares the tables of settings with what is declared. Written by:
// go tool task generate.
func TestGeneratedTables(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]string{
		"manners/README.md": caseTables(), "docs/settings.md": settingTables(),
	} {
		document.Compare(t, filepath.Join(root, name), table, *update)
	}
}

// groups are the parts of docs/settings.md.
var groups = []struct{ name, title string }{
	{"politeness", "How sites are treated"},
	{"pages", "What is crawled"},
	{"limits", "Limits"},
	{"images", "Images"},
	{"order", "Order and load"},
}

// settingTables lists all settings.
func settingTables() string {
	var s strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&s, "\n## %s\n\n| setting | default | values | |\n|---|---|---|---|\n", g.title)
		for _, d := range settings.All() {
			if d.Group != g.name {
				continue
			}
			notes := ""
			if d.Flag {
				notes = " Flag: `" + flagOf(d) + "`."
			}
			if d.Expert {
				notes += " For experts."
			}
			values := d.Bounds()
			if d.Unit != "" {
				values = d.Unit + ", " + values
			}
			fmt.Fprintf(&s, "| `%s` | %s | %s | %s%s |\n", d.Name, valueOf(d), values, d.Help, notes)
		}
	}
	return s.String() + "\n"
}

// caseTables lists the cases of the suite that judges crawlers.
func caseTables() string {
	var s strings.Builder
	for _, g := range manners.Groups() {
		fmt.Fprintf(&s, "\n### About %s\n\n| case | level | a crawler that passes | source |\n|---|---|---|---|\n", g)
		for _, c := range manners.Cases() {
			if c.Group != g {
				continue
			}
			needs := ""
			if c.Agent {
				needs += " Needs `--agent`."
			}
			if c.Direct {
				needs += " Not through the proxy."
			}
			if c.Restart {
				needs += " Needs `--kill-after`."
			}
			title := strings.NewReplacer("|", "\\|", "*", "\\*", "<", "&lt;").Replace(c.Title)
			fmt.Fprintf(&s, "| %s | %s | %s.%s | %s |\n", c.ID, c.Level, title, needs, c.Source)
		}
	}
	return s.String() + "\n"
}

func flagOf(d settings.Setting) string { return "--" + strings.ReplaceAll(d.Name, "_", "-") }

func valueOf(d settings.Setting) string {
	if d.Default == "" {
		return ""
	}
	return "`" + d.Default + "`"
}

func TestGeneratedTablesHaveEverySetting(t *testing.T) {
	t.Parallel()
	for _, d := range settings.All() {
		require.Contains(t, settingTables(), "| `"+d.Name+"` |")
		require.NotContains(t, d.Help, "|")
	}
}
