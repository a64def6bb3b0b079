package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// section is a section of architecture.md, without its heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	data, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(data), "\n## "+heading+"\n")
	require.True(t, found, "architecture.md has no section %q", heading)
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// rows are the names in the first column of a section's tables, a line each or several.
func rows(t *testing.T, heading string) (names []string) {
	t.Helper()
	name := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(section(t, heading)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.Contains(cells[1], "`") {
			continue
		}
		require.NotEmpty(t, strings.TrimSpace(cells[len(cells)-2]), line)
		for _, match := range name.FindAllStringSubmatch(cells[1], -1) {
			names = append(names, match[1])
		}
	}
	return names
}

func TestArchitectureNamesAllWorkflows(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join(root, "workflows", "testdata", "names.golden"))
	require.NoError(t, err)
	var registered []string
	for _, match := range regexp.MustCompile(`(?m)^workflow (\w+)`).FindAllStringSubmatch(string(golden), -1) {
		registered = append(registered, match[1])
	}
	require.NotEmpty(t, registered)
	require.ElementsMatch(t, registered, rows(t, "The workflows"))
}

func TestArchitectureNamesAllTables(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, tables(t), rows(t, "Data"))
}

// tables are those that the migrations have made and not dropped or renamed since.
func tables(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "db", "migrations", "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	change := regexp.MustCompile(`(?im)^\s*(?:CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(?P<made>\w+)|` +
		`DROP TABLE (?:IF EXISTS )?(?P<gone>\w+)|ALTER TABLE (?:IF EXISTS )?(?P<old>\w+)\s+RENAME TO (?P<new>\w+))`)
	for _, file := range files { // in the order of their numbers
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		up, _, _ := strings.Cut(string(data), "-- +goose Down")
		for _, match := range change.FindAllStringSubmatch(up, -1) {
			if gone := match[2] + match[3]; gone != "" {
				names = slices.DeleteFunc(names, func(name string) bool { return name == gone })
			}
			if made := match[1] + match[4]; made != "" {
				names = append(names, made)
			}
		}
	}
	return names
}

func TestArchitectureNamesAllPackages(t *testing.T) {
	t.Parallel()
	var named []string
	line := regexp.MustCompile(`(?m)^    ([\w/]+)(?:\{([\w,]+)\})?  +\S`)
	for _, match := range line.FindAllStringSubmatch(section(t, "Code"), -1) {
		for name := range strings.SplitSeq(match[2], ",") { // as in test/{form,wait}
			named = append(named, match[1]+name)
		}
	}
	require.ElementsMatch(t, packages(t), named)
}

// packages are the folders of the module that have Go files other than tests.
func packages(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			otherModule := err == nil && path != root
			hidden := path != root && strings.HasPrefix(name, ".")
			if otherModule || hidden || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, filepath.ToSlash(dir))
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(names)
	return slices.Compact(names)
}
