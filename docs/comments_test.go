package docs_test

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// phrases are turns of phrase that make a reader go back, each with the share of comment lines that
// may have it: river, enduro and Temporal's CLI have about as many.
var phrases = []struct {
	name    string
	pattern *regexp.Regexp
	most    float64
}{
	{"a headless what: name the noun", regexp.MustCompile(`(?i)\bwhat\b[^?]*$`), 0.006},
	{
		"X is that …: X means, X is set if, X reports whether",
		regexp.MustCompile(`^\s*(//|--)\s*\w+ (is|are|was) (that|what|those|when|how|where|who|whether|as)\b`), 0.002,
	},
	{"is none: is nil, is empty, does not exist", regexp.MustCompile(`\b(is|are|was|be) (none|no one|nobody)\b`), 0},
	{"of which", regexp.MustCompile(`\b(of|in|to|from|by|at|for|on|with) (which|whom|what|those|that which)\b`), 0.006},
	{"over 100 columns", regexp.MustCompile(`^.{101,}$`), 0},
}

// TestCommentsArePlain counts these phrases in the comments of Go and SQL outside tests.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`^\s*(//|--)\s`)
	total, found := 0, make([][]string, len(phrases))
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "dbsqlc" || name == "bin" || strings.HasPrefix(name, ".") && name != "..") {
			return filepath.SkipDir
		}
		if d.IsDir() || strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".sql") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if !comment.MatchString(line) {
				continue
			}
			total++
			for i, p := range phrases {
				if p.pattern.MatchString(line) {
					found[i] = append(found[i], path+": "+strings.TrimSpace(line))
				}
			}
		}
		return lines.Err()
	}))
	require.Greater(t, total, 9_000)
	for i, p := range phrases {
		require.LessOrEqual(t, float64(len(found[i])), p.most*float64(total), "%s:\n%s", p.name, strings.Join(found[i], "\n"))
	}
}
