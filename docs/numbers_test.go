package docs_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/document"
)

// claim is a number of a document and the place in the code that it is compared with.
type claim struct {
	// said is a phrase of the document, with brackets around its number.
	said string
	// code is "package.Constant", "setting name", or "file: text" for a number in the middle of code:
	// the file must have that text.
	code string
}

var (
	words  = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	number = `(?i:\d[\d,.]*\d|\d|` + strings.Join(words, "|") + `)`
	// units are the units of numbers, each with its value: times in nanoseconds, sizes in bytes.
	units = map[string]float64{
		"ms": float64(time.Millisecond), "s": float64(time.Second), "second": float64(time.Second),
		"min": float64(time.Minute), "minute": float64(time.Minute), "h": float64(time.Hour), "hour": float64(time.Hour),
		"day": 24 * float64(time.Hour), "byte": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
		"KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "year": 366 * 24 * float64(time.Hour),
		"page": 1, "URL": 1, "entrie": 1, "segment": 1, "parameter": 1, "origin": 1, "quer": 1, "tag": 1, "time": 1,
		"word": 1, "bit": 1, "connection": 1, "letter": 1, "domain": 1, "module": 1, "tries": 1, "request": 1, "": 1,
	}
	quantity = regexp.MustCompile(`(?:^|[^\w.,/:-])(` + number + `)[ -](ms|seconds?|s|minutes?|min|hours?|h|days?|years?|bytes|KiB|MiB|GiB|KB|` +
		`kB|MB|GB|pages|URLs|entries|segments|parameters|origins|queries|tags|times|words|bits|connections|letters|domains|modules|tries|requests)\b`)
	code = regexp.MustCompile("(?s)```.*?```|<!-- generated.*?<!-- end|`[^`]*`")
	line = regexp.MustCompile(`(?m)^    .*$`)
)

// sentences returns the prose of a document, without its blocks of code and generated tables. A
// span of code is as long as before, and empty.
func sentences(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	text := strings.Join(strings.Fields(line.ReplaceAllString(string(data), "")), " ")
	return code.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "`") && !strings.HasPrefix(s, "```") {
			return s[:1] + strings.Repeat("_", len(s)-2) + s[len(s)-1:]
		}
		return ""
	})
}

// Each number with a unit in a document of the table is compared with the code, or is an exception
// that has its reason.
func TestNumbersAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	for name, of := range claims {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := sentences(t, name)
			covered := map[int]bool{}
			find := func(said string) (at int, value, unit string) {
				before, rest, found := strings.Cut(said, "[")
				require.True(t, found, "no bracket: %s", said)
				inner, after, _ := strings.Cut(rest, "]")
				phrase := before + inner + after
				require.Equal(t, 1, strings.Count(text, phrase), "%s: how often it says %q", name, phrase)
				value, unit, _ = strings.Cut(strings.ReplaceAll(inner, "-", " "), " ")
				at = strings.Index(text, phrase) + len(before)
				covered[at] = true
				return at, value, unit
			}
			for _, c := range of.compared {
				_, value, unit := find(c.said)
				if file, needle, found := strings.Cut(c.code, ": "); found {
					data, err := os.ReadFile(filepath.Join(root, file))
					require.NoError(t, err)
					require.Contains(t, string(data), needle, "%s: %s", name, c.said)
					continue
				}
				got := math.Abs(read(t, value) * unitOf(t, unit))
				require.InEpsilon(t, valueOfCode(t, c.code), got, 1e-9, "%s says %s, and %s is something else", name, c.said, c.code)
			}
			for said := range of.other {
				find(said)
			}
			var alone []string
			for _, at := range quantity.FindAllStringSubmatchIndex(text, -1) {
				if !covered[at[2]] {
					alone = append(alone, text[max(0, at[2]-60):min(len(text), at[1]+30)])
				}
			}
			require.Empty(t, alone, "%s has numbers that nothing compares", name)
		})
	}
}

// All documents are in the table, or listed with the reason why not.
func TestNumbersOfAllDocuments(t *testing.T) {
	t.Parallel()
	for _, name := range document.Documents(t, root) {
		_, in := claims[name]
		require.NotEqual(t, in, uncompared[name] != "", name)
	}
}

// read returns a number in digits or as a word.
func read(t *testing.T, text string) float64 {
	t.Helper()
	if i := slices.Index(words, strings.ToLower(text)); i >= 0 {
		return float64(i)
	}
	v, _ := constant.Float64Val(constant.MakeFromLiteral(strings.ReplaceAll(text, ",", "")+".", token.FLOAT, 0))
	if strings.Contains(text, ".") {
		v, _ = constant.Float64Val(constant.MakeFromLiteral(text, token.FLOAT, 0))
	}
	return v
}

func unitOf(t *testing.T, unit string) float64 {
	t.Helper()
	for _, u := range []string{unit, strings.TrimSuffix(unit, "s"), strings.TrimSuffix(unit, "ies")} {
		if v, found := units[u]; found {
			return v
		}
	}
	require.Fail(t, "no such unit", unit)
	return 0
}

// valueOfCode returns the value of a constant or the default of a setting.
func valueOfCode(t *testing.T, name string) float64 {
	t.Helper()
	if setting, is := strings.CutPrefix(name, "setting "); is {
		s, found := settings.Lookup(setting)
		require.True(t, found, setting)
		if d, err := time.ParseDuration(s.Default); err == nil {
			return float64(d)
		}
		return read(t, s.Default)
	}
	dot := strings.LastIndex(name, ".")
	c := constants(t, name[:dot])
	v, ok := c.value(name[dot+1:])
	require.True(t, ok, "%s is no constant that can be computed", name)
	f, _ := constant.Float64Val(constant.ToFloat(v))
	return f
}

// declaredIn are the values of a package by their names, as they are written.
type declaredIn map[string]ast.Expr

func constants(t *testing.T, dir string) declaredIn {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, dir)
	all := declaredIn{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.ValueSpec); is && len(spec.Names) == len(spec.Values) {
				for i, id := range spec.Names {
					all[id.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	return all
}

func (d declaredIn) value(name string) (constant.Value, bool) {
	e, found := d[name]
	if !found {
		return nil, false
	}
	return d.compute(e)
}

// compute evaluates what constants are written with: literals, names, units of time and operators.
func (d declaredIn) compute(e ast.Expr) (constant.Value, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), true
	case *ast.Ident:
		return d.value(e.Name)
	case *ast.ParenExpr:
		return d.compute(e.X)
	case *ast.SelectorExpr:
		v, found := map[string]time.Duration{
			"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
		}[e.Sel.Name]
		return constant.MakeInt64(int64(v)), found
	case *ast.BinaryExpr:
		x, ok := d.compute(e.X)
		y, also := d.compute(e.Y)
		if !ok || !also {
			return nil, false
		}
		if e.Op == token.SHL {
			bits, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(bits)), true
		}
		return constant.BinaryOp(x, e.Op, y), true
	}
	return nil, false
}
