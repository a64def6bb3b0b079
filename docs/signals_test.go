package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/robots"
)

// signal is a row of politeness.md's table of what a site can say.
type signal struct {
	names         []string
	where         string
	pages, images []settings.Purpose // what it forbids
}

var backticked = regexp.MustCompile("`([^`]+)`")

// signals are the rows of that table.
func signals(t *testing.T) (rows []signal) {
	t.Helper()
	data, err := os.ReadFile("politeness.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(data), "\n| what | where | what Mosey does | forbids | defined in |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	purposes := func(cell string) (all []settings.Purpose) {
		for _, name := range backticked.FindAllStringSubmatch(cell, -1) {
			all = append(all, settings.Purpose(name[1]))
		}
		return all
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		require.Len(t, cells, 7, line)
		require.NotEmpty(t, strings.TrimSpace(cells[5]), "who defines it? %s", line)
		if !strings.Contains(line, "`") {
			continue
		}
		s := signal{where: cells[2]}
		for _, name := range backticked.FindAllStringSubmatch(cells[1], -1) {
			s.names = append(s.names, name[1])
		}
		if pages, images, apart := strings.Cut(cells[4], "images:"); apart {
			s.pages, s.images = purposes(pages), append(purposes(pages), purposes(images)...)
		} else {
			s.pages, s.images = purposes(pages), purposes(pages)
		}
		rows = append(rows, s)
	}
	return rows
}

// said returns the usage that a signal declares, once for each place that its row names.
func (s signal) said(t *testing.T, name string) (all []usage.Usage) {
	t.Helper()
	page, err := urls.Parse("https://example.org/a")
	require.NoError(t, err)
	say := func(f func(p *usage.Usage)) {
		var p usage.Usage
		f(&p)
		all = append(all, p)
	}
	header := func(name, value string) {
		say(func(p *usage.Usage) { p.AddHeader(http.Header{http.CanonicalHeaderKey(name): {value}}) })
	}
	field, value, _ := strings.Cut(name, ": ")
	if strings.Contains(s.where, "robots.txt") {
		text := "https://example.org/license.xml"
		if value != "" {
			text = value
		}
		rules := robots.Parse([]byte("User-agent: *\n" + field + ": " + text + "\n")).Rules("mosey")
		say(func(p *usage.Usage) {
			p.AddRobots(rules.ContentSignals(), rules.ContentUsage("/a"))
			p.AddLicense(rules.License(), usage.SourceRobotsLicense)
		})
	}
	if strings.Contains(s.where, "X-Robots-Tag") {
		header("X-Robots-Tag", name)
		header("X-Robots-Tag", "mosey: "+name)
	}
	if strings.Contains(s.where, "meta robots") {
		say(func(p *usage.Usage) { p.AddMeta("robots", name) })
		say(func(p *usage.Usage) { p.AddMeta("mosey", name) })
	}
	if strings.Contains(s.where, "header") && value != "" {
		header(field, value)
	}
	if strings.Contains(s.where, "`meta`") {
		say(func(p *usage.Usage) { p.AddMeta(field, value) })
	}
	if strings.Contains(s.where, "tdmrep.json") {
		say(func(p *usage.Usage) { p.AddTDM(usage.TDMRule{Reserved: true}) })
		say(func(p *usage.Usage) { p.AddTDM(usage.TDMRule{Unread: true}) })
	}
	if strings.Contains(s.where, "`Link`") {
		say(func(p *usage.Usage) { p.AddLinks(page, http.Header{"Link": {"</terms>; " + name}}) })
	}
	if strings.Contains(s.where, "<link>") {
		say(func(p *usage.Usage) { p.AddLicense("https://example.org/l", usage.SourceLinkLicense) })
	}
	return all
}

// The table says of each signal what the code does with it, in each place, for each purpose.
func TestSignalsForbidWhatTheTableSays(t *testing.T) {
	t.Parallel()
	all := []settings.Purpose{settings.PurposeSearch, settings.PurposeAITrain, settings.PurposeArchive}
	sources := map[usage.Source]bool{}
	for _, row := range signals(t) {
		for _, name := range row.names {
			for _, said := range row.said(t, name) {
				for _, purpose := range all {
					allowed, _ := usage.Allows(purpose, said)
					require.Equal(t, !slices.Contains(row.pages, purpose), allowed, "%s in %s for %s", name, row.where, purpose)
					allowed, _ = usage.AllowsImages(purpose, said)
					require.Equal(t, !slices.Contains(row.images, purpose), allowed, "%s in %s for images for %s", name, row.where, purpose)
				}
				collect(reflect.ValueOf(said), sources)
			}
		}
	}
	require.ElementsMatch(t, declaredSources(t), sourcesOf(sources), "the table has all that the code reads")
}

// collect finds the sources in what is said.
func collect(v reflect.Value, found map[usage.Source]bool) {
	if by, is := reflect.TypeAssert[usage.Source](v); is {
		if by.IsSet() {
			found[by] = true
		}
		return
	}
	if v.Kind() == reflect.Struct {
		for _, field := range reflect.VisibleFields(v.Type()) {
			if field.IsExported() {
				collect(v.FieldByIndex(field.Index), found)
			}
		}
	}
}

func sourcesOf(found map[usage.Source]bool) (all []string) {
	for by := range found {
		all = append(all, string(by))
	}
	return all
}

// declaredSources are the values of all constants of package usage that are a Source. Some are
// written with another constant.
func declaredSources(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "crawl", "usage", "usage.go"), nil, 0)
	require.NoError(t, err)
	known := map[string]string{"Token": usage.Token, "TDMPath": usage.TDMPath}
	var text func(e ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			require.NoError(t, err)
			return s
		case *ast.Ident:
			require.Contains(t, known, e.Name)
			return known[e.Name]
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		}
		t.Fatalf("%T is not expected", e)
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is {
			if of, is := spec.Type.(*ast.Ident); is && of.Name == "Source" && len(spec.Values) == 1 {
				all = append(all, text(spec.Values[0]))
			}
		}
		return true
	})
	require.Greater(t, len(all), 10)
	return all
}

// The table has every field of robots.txt that is read, and no other.
func TestSignalsHaveAllFieldsOfRobots(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, row := range signals(t) {
		if strings.Contains(row.where, "robots.txt") {
			for _, name := range row.names {
				field, _, _ := strings.Cut(name, ": ")
				named[field] = true
			}
		}
	}
	var all []string
	for field := range named {
		all = append(all, field)
	}
	require.ElementsMatch(t, robots.Fields(), all)
}
