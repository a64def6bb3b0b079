package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

type doctorCmd struct {
	wiring.FetchFlags
	wiring.IdentityFlags

	JSON   bool     `name:"json" help:"Print a JSON array of findings."`
	Check  bool     `help:"Also check that the stored rows agree. This takes a while on a large database, in small steps."`
	Repair bool     `help:"Repair derived data, and report the repairs. Includes --check."`
	Only   []string `help:"Run only this check. Repeatable." placeholder:"NAME"`
	List   bool     `help:"List the checks."`
}

func (d *doctorCmd) Run(ctx context.Context, e *command.Env) error {
	var parts []doctor.Part
	if d.Check || d.Repair || d.List {
		parts = append(parts, doctor.Data)
	}
	if d.List || !reflect.ValueOf(d.IdentityFlags).IsZero() {
		parts = append(parts, doctor.Identity)
	}
	checks, err := doctor.Named(d.Only, parts...)
	if err != nil {
		return wiring.Usagef("--only: %w", err)
	}
	if _, err := d.Published(d.AgentFlags); err != nil {
		return wiring.Usagef("%w", err)
	}
	if d.List {
		return d.list(e, checks)
	}
	p := &doctor.Target{Environ: e.Environ, Fetch: d.FetchFlags, Identity: d.IdentityFlags, Ports: []doctor.Port{
		{Number: stack.TemporalPortDefault, For: "Temporal"}, {Number: stack.UIPortDefault, For: "its UI"},
	}}
	if e.Environ.Get("DATABASE_URL") == "" || wiring.TemporalAddress(e.Environ) == "" {
		if p.DataDir, err = datadir.Resolve(e.DataDir); err != nil {
			return err
		}
	}
	progress := command.NewProgressLine(e)
	p.Progress = func(line string) { progress.Show(func(time.Time) string { return line }) }
	dialing, cancel := context.WithTimeout(ctx, temporalTimeout)
	p.Client, p.NoTemporal = command.DialTemporal(dialing, e)
	cancel()
	if p.Client != nil {
		defer p.Client.Close()
	} else if p.NoTemporal == nil {
		p.NoTemporal = doctor.Absent("no running Temporal found: mosey up starts one, and TEMPORAL_ADDRESS names another")
	}
	return withTargetStore(ctx, e, p, func() error {
		return command.Examine(ctx, e, p, checks, command.Examination{JSON: d.JSON, Repair: d.Repair, Progress: progress})
	})
}

const temporalTimeout = 5 * time.Second

// withTargetStore opens the database, with any schema, or records the reason for its absence.
func withTargetStore(ctx context.Context, e *command.Env, p *doctor.Target, fn func() error) error {
	if e.Environ.Get("DATABASE_URL") == "" {
		// a check reports missing programs; nothing is downloaded for it
		if _, err := postgres.PreviewStart(ctx, postgres.Config{Dir: p.DataDir}); err != nil {
			p.NoStore = doctor.Absent("the embedded database cannot be started: see the check programs")
			return fn()
		}
	}
	opened := false
	err := command.WithDatabase(ctx, e, func(url string) error {
		opened, p.DatabaseURL = true, url
		var err error
		if p.Store, err = db.Open(ctx, url); err != nil {
			p.NoStore = wiring.Describe(err)
			return fn()
		}
		defer p.Store.Close()
		return fn()
	})
	switch {
	case opened:
		return err
	case errors.Is(err, command.ErrNoDatabase):
		p.NoStore = doctor.Absent(err.Error())
	default:
		p.NoStore = err
	}
	return fn()
}

func (d *doctorCmd) list(e *command.Env, checks []doctor.Check) error {
	if d.JSON {
		type listed struct {
			Name    string      `json:"name"`
			Part    doctor.Part `json:"part"`
			About   string      `json:"description"`
			Repairs bool        `json:"repairs"`
		}
		all := make([]listed, len(checks))
		for i, c := range checks {
			all[i] = listed{c.Name, c.Part, c.About, c.Repairs()}
		}
		return command.PrintJSON(e.Stdout, all)
	}
	for _, c := range checks {
		line := fmt.Sprintf("%-*s%-*s%s", command.SeverityWidth, c.Part, command.CheckWidth, c.Name, c.About)
		for _, l := range command.Wrap(line, command.TerminalWidth(e.Stdout), command.SeverityWidth+command.CheckWidth) {
			fmt.Fprintln(e.Stdout, l)
		}
	}
	return nil
}
