package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/programs"
)

const version = "v0.9.8"

// program is the path of tools/release, which TestMain builds.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mosey-release-test-")
	if err == nil {
		program = filepath.Join(dir, "release.exe")
		var out []byte
		if out, err = exec.Command("go", "-C", filepath.Join("..", "..", "tools"), "build", "-o", program, "./release").CombinedOutput(); err != nil {
			err = fmt.Errorf("build tools/release: %w: %s", err, out)
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// repository is a tree with a commit.
type repository struct {
	t   *testing.T
	dir string
}

// newRepository is one of these files.
func newRepository(t *testing.T, files map[string]string) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git("init", "--quiet")
	r.commit(files)
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=2030-01-02T03:04:06Z", "GIT_COMMITTER_DATE=2030-01-02T03:04:06Z")
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "git %q: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (r repository) commit(files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		r.write(name, content)
	}
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", "all")
}

func (r repository) write(name, content string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644))
}

// release runs the program in the tree.
func (r repository) release(args ...string) (code int, stdout, stderr string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), program, args...)
	cmd.Dir = r.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		require.ErrorAs(r.t, err, new(*exec.ExitError))
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// refused has the program refuse, say so in words, and leave nothing behind.
func (r repository) refused(says string, args ...string) {
	r.t.Helper()
	code, out, errs := r.release(args...)
	require.Equal(r.t, 2, code, errs)
	require.Empty(r.t, out)
	require.Contains(r.t, errs, says)
	require.NoDirExists(r.t, filepath.Join(r.dir, "dist"))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	changelog := map[string]string{"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [0.9.8] - 2030-01-01\n\n- It flies.\n"}

	t.Run("OfWhatIsNoVersion", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, changelog)
		for _, v := range []string{"0.9.8", "v0.9", "v0.0.9.7", "v0.9.08", "v0.9.8+linux", "latest", ""} {
			r.refused(fmt.Sprintf("version %q: want v and a semantic version without build metadata, such as v0.1.0", v), v)
		}
		r.refused("0 arguments: want one, the version")
		r.refused("2 arguments: want one, the version", version, version)
		r.refused("flag provided but not defined: -push", "-push", version)
		r.refused(`-only "worker/plan9/arm": want some of mosey/linux/amd64 `, "-only", "worker/plan9/arm", version)
	})

	t.Run("OfATreeWithChanges", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, changelog)
		r.write("new.go", "package new\n")
		r.refused("the tree has changes that are in no commit: commit or remove them\n  ?? new.go\n", version)
		r.refused("?? new.go", "-snapshot", version)
		r.commit(map[string]string{"new.go": "package new\n"})
		r.write("new.go", "package old\n")
		r.refused("M new.go", version)
	})

	t.Run("OfAFolderThatIsNoTree", func(t *testing.T) {
		t.Parallel()
		repository{t, t.TempDir()}.refused("find the tree to release: ", version)
	})

	t.Run("OfAVersionThatTheChangelogDoesNotKnow", func(t *testing.T) {
		t.Parallel()
		const says = `CHANGELOG.md has nothing under "## [0.9.9]": write "## [0.9.9] - YYYY-MM-DD" below "## [Unreleased]"`
		r := newRepository(t, changelog)
		r.refused(says, "v0.9.9")
		r.refused(says, "-snapshot", "v0.9.9") // nothing is unreleased, either
		r.commit(map[string]string{"CHANGELOG.md": "## [0.9.9] - 2030-01-01\n\n## [0.9.8] - 2029-01-01\n\n- It flies.\n"})
		r.refused(says, "v0.9.9") // the section is empty
	})

	t.Run("OfAVersionThatAnotherCommitHas", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, changelog)
		r.git("tag", "--annotate", "--message", "m", version)
		tagged := r.git("rev-parse", "HEAD")
		r.commit(map[string]string{"more": ""})
		r.refused("v0.9.8 is the tag of another commit, "+tagged, version)
	})
}

// The worker and manners of this tree are built, for this machine.
func TestRelease(t *testing.T) {
	form.Long(t)
	t.Parallel()
	if (runtime.GOOS != "linux" && runtime.GOOS != "darwin") || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		t.Skip("there are no releases as .tar.gz for this platform")
	}
	r := repository{t, t.TempDir()}
	r.git("init", "--quiet")
	for _, part := range []string{"activities", "cmd", "crawl", "db", "internal", "manners", "search", "workflows"} {
		require.NoError(t, os.CopyFS(filepath.Join(r.dir, part), os.DirFS(filepath.Join("..", "..", part))))
	}
	for _, name := range []string{".gitignore", "LICENSE", "README.md", "go.mod", "go.sum"} {
		r.write(name, read(t, filepath.Join("..", "..", name)))
	}
	r.commit(map[string]string{"CHANGELOG.md": "## [2.0.0]\n\n- It is another.\n"})
	r.refused("version v2.0.0: Go refuses it as the tag of this module: ", "v2.0.0")
	r.commit(map[string]string{"CHANGELOG.md": "## [Unreleased]\n\n- It sings.\n\n## [0.9.8] - 2030-01-01\n\n### Added\n\n- It flies.\n\n## [0.9.7] - 2029-01-01\n"})
	platform := runtime.GOOS + "/" + runtime.GOARCH
	only := "worker/" + platform + ",manners/" + platform
	code, out, errs := r.release("-only", only, version)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	commit := r.git("rev-parse", "HEAD")
	require.Contains(t, out, fmt.Sprintf("  git tag -s v0.9.8 -m \"Mosey v0.9.8\" %s\n", commit))
	require.Contains(t, out, "  go tool task replay:record VERSION=v0.9.8\n")
	require.Empty(t, r.git("tag"), "it has tagged")
	require.Empty(t, r.git("status", "--porcelain"))

	name, manners := "mosey-worker_0.9.8_"+runtime.GOOS+"_"+runtime.GOARCH, "mosey-manners_0.9.8_"+runtime.GOOS+"_"+runtime.GOARCH
	sums := checkSums(t, filepath.Join(r.dir, "dist"), name+".tar.gz", name+".cdx.json", manners+".tar.gz", manners+".cdx.json", "RELEASE-NOTES.md")
	require.Equal(t, "### Added\n\n- It flies.\n", read(t, filepath.Join(r.dir, "dist", "RELEASE-NOTES.md")))
	files := unpack(t, filepath.Join(r.dir, "dist", name+".tar.gz"))
	require.Len(t, files, 5)
	for _, same := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		require.Equal(t, read(t, filepath.Join(r.dir, same)), string(files[path.Join(name, same)]))
	}
	licenses := string(files[path.Join(name, "THIRD-PARTY-LICENSES.txt")])
	require.Regexp(t, `(?m)^go\.temporal\.io/sdk v\S+: MIT$`, licenses)
	require.Regexp(t, `(?m)^std 1\.\S+: BSD-3-Clause\b`, licenses)
	require.Contains(t, licenses, "Temporal Technologies Inc.  All rights reserved.")

	worker := files[path.Join(name, "worker")]
	checkWorker(t, worker, commit)
	checkBill(t, []byte(read(t, filepath.Join(r.dir, "dist", name+".cdx.json"))), worker)

	files = unpack(t, filepath.Join(r.dir, "dist", manners+".tar.gz"))
	require.Equal(t, read(t, filepath.Join(r.dir, "manners", "README.md")), string(files[path.Join(manners, "README.md")]))
	require.Equal(t, "0.9.8\n", versionOf(t, files[path.Join(manners, "manners")]))

	// Whoever builds the tag elsewhere gets the same.
	r.git("tag", version)
	elsewhere := repository{t, t.TempDir()}
	elsewhere.git("clone", "--quiet", r.dir, ".")
	code, _, errs = elsewhere.release("-only", only, version)
	require.Zero(t, code, errs)
	require.Equal(t, sums, read(t, filepath.Join(elsewhere.dir, "dist", "SHA256SUMS")))
}

// checkWorker runs the worker of a release.
func checkWorker(t *testing.T, worker []byte, commit string) {
	t.Helper()
	require.Regexp(t, `\Aworker 0\.9\.8\ncommit     `+commit+`\nbuilt with go1\.\S+ for `+runtime.GOOS+"/"+runtime.GOARCH+`\nschema     \d+\n`, versionOf(t, worker))
}

// versionOf returns what a program prints for --version.
func versionOf(t *testing.T, program []byte) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	programs.Write(t, binary, program)
	told, err := exec.CommandContext(t.Context(), binary, "--version").CombinedOutput()
	require.NoError(t, err)
	return string(told)
}

// checkBill reads the bill of materials of a worker.
func checkBill(t *testing.T, bill, worker []byte) {
	t.Helper()
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Timestamp string
			Component struct{ Hashes []struct{ Content string } }
		}
		Components []struct {
			Name, PURL string
			Licenses   []any
		}
	}
	require.NoError(t, json.Unmarshal(bill, &bom))
	require.Equal(t, "CycloneDX", bom.BOMFormat)
	require.Equal(t, "2030-01-02T03:04:06Z", bom.Metadata.Timestamp)
	require.Equal(t, sum(worker), bom.Metadata.Component.Hashes[0].Content)
	purls := map[string]string{}
	for _, c := range bom.Components {
		require.NotEmpty(t, c.Licenses, c.Name)
		purls[c.Name] = c.PURL
	}
	require.Regexp(t, `^pkg:golang/github\.com/jackc/pgx/v5@v5\.`, purls["github.com/jackc/pgx/v5"])
	require.NotContains(t, purls, "go.temporal.io/server", "the worker has no server")
}

// checkSums compares the checksums with the files, which have to be these, and returns them.
func checkSums(t *testing.T, dir string, names ...string) string {
	t.Helper()
	sums := read(t, filepath.Join(dir, "SHA256SUMS"))
	var named []string
	for line := range strings.Lines(sums) {
		want, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, found, line)
		require.Equal(t, want, sum([]byte(read(t, filepath.Join(dir, name)))), name)
		named = append(named, name)
	}
	require.Equal(t, names, named)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, len(names)+1)
	return sums
}

// unpack reads an archive, whose files have the commit's time and only the program's may be run.
func unpack(t *testing.T, name string) map[string][]byte {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	files := map[string][]byte{}
	for archive := tar.NewReader(text); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Equal(t, time.Date(2030, 1, 2, 3, 4, 6, 0, time.UTC), header.ModTime.UTC(), header.Name)
		mode := fs.FileMode(0o644)
		if base := path.Base(header.Name); base == "worker" || base == "manners" {
			mode = 0o755
		}
		require.Equal(t, mode, header.FileInfo().Mode(), header.Name)
		files[header.Name], err = io.ReadAll(archive)
		require.NoError(t, err)
	}
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(content)
}
