package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// source is the commit of the release.
type source struct {
	root     string // of the tree
	dist     string // where the files go
	version  string // with its v
	snapshot bool
	commit   string
	time     time.Time // of the commit: that of all files of the release
	notes    string    // the version's section of the changelog
}

func newSource(ctx context.Context, o options) (source, error) {
	top, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return source{}, refuse("find the tree to release: %w", err)
	}
	s := source{root: top, dist: filepath.Join(top, "dist"), version: o.version, snapshot: o.snapshot}
	if err := s.checkTree(ctx); err != nil {
		return source{}, err
	}
	if s.commit, s.time, err = head(ctx, top); err != nil {
		return source{}, err
	}
	if err := s.checkTag(ctx); err != nil {
		return source{}, err
	}
	if s.notes, err = s.changes(); err != nil {
		return source{}, err
	}
	if s.snapshot {
		s.version += "-snapshot-" + s.commit[:12]
	}
	return s, nil
}

// checkVersion refuses versions that Go refuses as a release tag.
func checkVersion(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return refuse("version %q: want v and a semantic version without build metadata, such as v0.1.0 or v1.0.0-rc.1", version)
	}
	return nil
}

// checkTree refuses a tree with changes, because a release is a commit.
func (s source) checkTree(ctx context.Context) error {
	status, err := git(ctx, s.root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if status == "" {
		return nil
	}
	lines := strings.Split(status, "\n")
	more := ""
	const shown = 5
	if len(lines) > shown {
		more = fmt.Sprintf("\n  and %d more", len(lines)-shown)
		lines = lines[:shown]
	}
	return refuse("the tree has changes that are in no commit: commit or remove them\n  %s%s", strings.Join(lines, "\n  "), more)
}

// head returns the checked-out commit, and its time.
func head(ctx context.Context, root string) (commit string, at time.Time, err error) {
	line, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return "", time.Time{}, err
	}
	commit, seconds, _ := strings.Cut(line, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("the time of commit %s: %w", commit, err)
	}
	return commit, time.Unix(unix, 0).UTC(), nil
}

// checkTag refuses a version whose tag is on another commit.
func (s source) checkTag(ctx context.Context) error {
	tagged, err := git(ctx, s.root, "for-each-ref", "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)",
		"refs/tags/"+s.version)
	if err != nil {
		return err
	}
	if tagged != "" && tagged != s.commit && !s.snapshot {
		return refuse("%s is the tag of another commit, %s: check that out, or choose another version", s.version, tagged)
	}
	return nil
}

// changes returns the version's section of the changelog.
func (s source) changes() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.root, "CHANGELOG.md"))
	if err != nil {
		return "", refusal{err}
	}
	number := strings.TrimPrefix(s.version, "v")
	notes := section(string(text), number)
	if notes == "" && s.snapshot {
		notes = section(string(text), "Unreleased")
	}
	if notes == "" {
		return "", refuse(`CHANGELOG.md has nothing under "## [%[1]s]": write "## [%[1]s] - YYYY-MM-DD" below "## [Unreleased]", and commit it`,
			number)
	}
	return notes, nil
}

// section returns the text below a version's heading in a changelog.
func section(changelog, version string) string {
	var notes strings.Builder
	inside := false
	for line := range strings.Lines(changelog) {
		switch {
		case strings.HasPrefix(line, "## "):
			inside = strings.HasPrefix(line, "## ["+version+"]")
		case inside:
			notes.WriteString(line)
		}
	}
	return strings.TrimSpace(notes.String())
}

// git runs git and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...))
}

// output runs a command and returns its output; an error includes its standard error.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok && len(e.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(e.Stderr)))
		}
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}
