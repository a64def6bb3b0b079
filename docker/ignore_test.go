package docker_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that .dockerignore keeps out of the build is missed by nobody but Docker.
func TestImageGetsAllThatItsBuildReads(t *testing.T) {
	t.Parallel()
	ignored := dockerignore(t, read(t, "../.dockerignore"))
	for _, file := range buildFiles(t) {
		require.False(t, ignored(file), "the image's build reads %s, which .dockerignore leaves out", file)
	}
	for _, file := range []string{".git/config", "docker/.env", "bin/mosey", "db/pages_test.go", "crawl/testdata/page.html"} {
		require.True(t, ignored(file), "%s does not belong in the image's build", file)
	}
}

// buildFiles are the files of this module that the Dockerfile copies by name or compiles,
// those that are embedded included. Their paths start at the top of the module.
func buildFiles(t *testing.T) []string {
	t.Helper()
	dockerfile := read(t, "Dockerfile")
	var files []string
	for _, line := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(dockerfile, -1) {
		for name := range strings.FieldsSeq(line[1]) {
			if name != "." {
				files = append(files, name)
			}
		}
	}
	require.Contains(t, files, "go.mod")

	args := []string{"list", "-deps", "-json=Dir,Module,GoFiles,SFiles,EmbedFiles"}
	commands := regexp.MustCompile(`(?m)-o \S+ (\./cmd/\w+)$`).FindAllStringSubmatch(dockerfile, -1)
	require.Len(t, commands, strings.Count(dockerfile, "go build "))
	for _, command := range commands {
		args = append(args, command[1])
	}
	top, err := filepath.Abs("..")
	require.NoError(t, err)
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Dir = top
	list.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := list.Output()
	require.NoError(t, err)
	for packages := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir                         string
			Module                      struct{ Main bool }
			GoFiles, SFiles, EmbedFiles []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		if !p.Module.Main {
			continue
		}
		dir, err := filepath.Rel(top, p.Dir)
		require.NoError(t, err)
		for _, names := range [][]string{p.GoFiles, p.SFiles, p.EmbedFiles} {
			for _, name := range names {
				files = append(files, filepath.ToSlash(filepath.Join(dir, name)))
			}
		}
	}
}

// dockerignore reports which paths Docker leaves out. The last pattern that matches a path,
// or a directory above it, decides. ** is any number of directories.
func dockerignore(t *testing.T, text string) func(path string) bool {
	t.Helper()
	type rule struct {
		pattern *regexp.Regexp
		keeps   bool
	}
	var rules []rule
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, keeps := strings.CutPrefix(line, "!")
		pattern = regexp.QuoteMeta(strings.Trim(pattern, "/"))
		pattern = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(pattern)
		rules = append(rules, rule{regexp.MustCompile(`^` + pattern + `(/.*)?$`), keeps})
	}
	require.NotEmpty(t, rules)
	return func(path string) (out bool) {
		for _, r := range rules {
			if r.pattern.MatchString(path) {
				out = !r.keeps
			}
		}
		return out
	}
}
