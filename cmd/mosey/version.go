package main

import (
	"fmt"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
)

// versionCmd tells what this program is.
type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the versions.
func (v *versionCmd) Run(e *command.Env) error {
	all, err := wiring.NewVersions()
	if err != nil {
		return err
	}
	if v.JSON {
		return command.PrintJSON(e.Stdout, all)
	}
	fmt.Fprintln(e.Stdout, all.Text("mosey"))
	return nil
}
