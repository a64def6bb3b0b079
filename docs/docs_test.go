// Package docs_test checks what the documents and comments say about the tree.
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

const root = ".."

// made are files that are named and not there before somebody makes them.
var made = []string{"docker/.env", "bin/", "dist/", "manners/hosts", "manners/log.jsonl"}

// files are all texts that may name files.
func files(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || name == "node_modules" || name == ".git" || name == "bin" || name == "dist") {
			return filepath.SkipDir
		}
		switch filepath.Ext(name) {
		case ".md", ".go", ".sql", ".yaml", ".yml", ".sh", "":
			if entry.Type().IsRegular() {
				names = append(names, path)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(names), 100)
	return names
}

// prose returns the text of a file. Of a Go file it returns only the comments, because its strings
// may contain any name.
func prose(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	if filepath.Ext(name) != ".go" {
		return string(data)
	}
	var comments strings.Builder
	for line := range strings.Lines(string(data)) {
		if comment, found := strings.CutPrefix(strings.TrimSpace(line), "//"); found {
			comments.WriteString(comment + "\n")
		}
	}
	return comments.String()
}

// exists reports whether a path, perhaps a pattern, names something in the tree.
func exists(path string) bool {
	found, err := filepath.Glob(filepath.Join(root, path))
	return err == nil && len(found) > 0
}

func TestPathsThatAreNamedExist(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			folders = append(folders, regexp.QuoteMeta(entry.Name()))
		}
	}
	// a path from the root, as in db/functions/*.sql, and not a part of a longer one
	path := regexp.MustCompile(`(^|[\s(\x60"',])((?:` + strings.Join(folders, "|") + `)/[\w./*-]*[\w/*])`)
	known := 0
	for _, name := range files(t) {
		for _, match := range path.FindAllStringSubmatch(prose(t, name), -1) {
			named := match[2]
			isMade := slices.ContainsFunc(made, func(prefix string) bool { return strings.HasPrefix(named, prefix) })
			if !isWorkflow(named) && !isMade {
				require.True(t, exists(strings.TrimSuffix(named, "/...")), "%s names %s, which is not there", name, named)
				known++
			}
		}
	}
	require.Greater(t, known, 50, "the pattern finds next to nothing")
}

// isWorkflow reports whether what looks like a path is the id of a run's workflow.
func isWorkflow(named string) bool {
	name, found := strings.CutPrefix(named, "crawl/")
	return found && (strings.ToUpper(name) == name || name == "small-web")
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	known := 0
	for _, name := range files(t) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		for _, match := range link.FindAllStringSubmatch(prose(t, name), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(name), match[1]))
			require.NoError(t, err, "a link in %s", name)
			known++
		}
	}
	require.Greater(t, known, 5)
}

// The functions of the database that are named in backticks or on their own, such as
// `attempt_begin`, and its tables.
func TestNamesInTheDatabaseExist(t *testing.T) {
	t.Parallel()
	var sql strings.Builder
	for _, pattern := range []string{"db/functions/*.sql", "db/migrations/*.sql", "db/roles.sql"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found)
		for _, name := range found {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			sql.Write(data)
		}
	}
	var code strings.Builder // has settings, columns of exports, metrics, fields of payloads, and names in logs and traces
	for _, name := range []string{
		"crawl/settings/settings.go", "internal/export/pages.go", "internal/export/schema.go",
		"cmd/internal/telemetry/metrics.go", "cmd/internal/telemetry/server.go", "cmd/internal/telemetry/database.go",
		"internal/request/log.go", "internal/request/trace.go", "workflows/testdata/names.golden",
	} {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		code.Write(data)
	}
	quoted := regexp.MustCompile("`([a-z]+_[a-z_]+)`")
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, name := range append(documents, filepath.Join(root, "README.md")) {
		for _, match := range quoted.FindAllStringSubmatch(prose(t, name), -1) {
			if strings.Contains(foreign, " "+match[1]+" ") {
				continue
			}
			require.Regexp(t, `\b`+match[1]+`\b`, sql.String()+code.String(), "%s names %s", name, match[1])
		}
	}
}

// foreign are names that are others': of the web, of Postgres, of S3, of OpenTelemetry.
const foreign = " prev_next session_id unavailable_after pool_max_conns image_src image_url pg_walinspect use_path_style disable_https pg_stat_activity always_on always_off tail_sampling statement_timeout pg_dump pg_restore tcp_user_timeout pool_mode default_pool_size server_reset_query ignore_startup_parameters track_extra_parameters tcp_keepalive autovacuum_freeze_max_age autovacuum_work_mem "
