package wiring

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// release is the version of a release build, which sets it:
// -ldflags "-X github.com/mosey-web/mosey/cmd/internal/wiring.release=1.2.3".
var release = ""

// next is the release that this code is on its way to.
const next = "0.1.0-dev"

// Version is the version of this program, as it stands in its User-Agent: that of the
// release, else of the module where Go knows it, else of the next release.
func Version() string {
	version := release
	if info, ok := debug.ReadBuildInfo(); version == "" && ok && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	if version == "" {
		version = next
	}
	return strings.TrimPrefix(version, "v")
}

// Versions is what a report of a fault should name.
type Versions struct {
	Version, Commit, Go, Platform string
	// Schema is the newest of a database that it knows, and Extractor that of its reading
	// of pages (crawl.ExtractorVersion).
	Schema    int64
	Extractor int
}

// NewVersions reads the versions of this program.
func NewVersions() (Versions, error) {
	schema, err := db.KnownSchema()
	if err != nil {
		return Versions{}, err
	}
	var settings []debug.BuildSetting
	if info, ok := debug.ReadBuildInfo(); ok {
		settings = info.Settings
	}
	return Versions{
		Version: Version(), Commit: commit(settings), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: schema, Extractor: crawl.ExtractorVersion,
	}, nil
}

// Text is the versions for people, one a line, without the end of the last line.
func (v Versions) Text(program string) string {
	text := program + " " + v.Version + "\n"
	if v.Commit != "" {
		text += fmt.Sprintf("commit     %s\n", v.Commit)
	}
	return text + fmt.Sprintf("built with %s for %s\nschema     %d\nextractor  %d", v.Go, v.Platform, v.Schema, v.Extractor)
}

// versionFlag prints the versions of the program, and ends it.
type versionFlag bool

// BeforeReset prints; kong calls it when the flag is given.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	versions, err := NewVersions()
	if err != nil {
		return err
	}
	fmt.Fprintln(app.Stdout, versions.Text(app.Model.Name))
	app.Exit(0)
	return nil
}

// commit is the source's, with -dirty after it where files differed from the commit; empty
// where Go does not know it.
func commit(settings []debug.BuildSetting) string {
	revision, suffix := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + suffix
}
