package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// versionCmd tells what this program is.
type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// versions is what a report of a fault should say.
type versions struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Schema is the newest of a database that it knows, and Extractor that of its reading
	// of pages (crawl.ExtractorVersion).
	Schema    int64 `json:"schema"`
	Extractor int   `json:"extractor"`
}

// Run prints the versions.
func (v *versionCmd) Run(e *command.Env) error {
	schema, err := db.KnownSchema()
	if err != nil {
		return err
	}
	all := versions{
		Version: wiring.Version(), Commit: commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: schema, Extractor: crawl.ExtractorVersion,
	}
	if v.JSON {
		return command.PrintJSON(e.Stdout, all)
	}
	fmt.Fprintf(e.Stdout, "mosey %s\n", all.Version)
	if all.Commit != "" {
		fmt.Fprintf(e.Stdout, "commit     %s\n", all.Commit)
	}
	fmt.Fprintf(e.Stdout, "built with %s for %s\nschema     %d\nextractor  %d\n", all.Go, all.Platform, all.Schema, all.Extractor)
	return nil
}

// commit is that of the source; empty where Go does not know it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
