package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/cmd/mosey/crawler"
	"github.com/mosey-web/mosey/internal/explain"
)

type upCmd struct {
	wiring.FetchFlags
	crawler.ListenFlags

	NoWorker bool `help:"Run the stack without a worker; workers run elsewhere."`
}

func (u *upCmd) Run(ctx context.Context, e *command.Env) (err error) {
	logger := e.NewLogger(e.Stderr, slog.LevelWarn)
	u.ImageLocation = u.ImageStore
	c, err := crawler.Open(ctx, e, u.ListenFlags, logger, func(s string) { fmt.Fprintln(e.Stderr, s) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if !u.NoWorker {
		if err := c.StartWorker(ctx, e, u.FetchFlags); err != nil {
			return err
		}
		if warning := u.ContactWarning(); warning != "" {
			fmt.Fprintln(e.Stderr, "Warning: "+warning+".")
		}
	}
	if c.Web != nil {
		fmt.Fprintf(e.Stdout, "Web page   %s\n", c.Web.SignInURL("/"))
	}
	fmt.Fprintf(e.Stdout, "Temporal   %s\n", c.Stack.TemporalAddress)
	if c.Stack.UIURL != "" {
		fmt.Fprintf(e.Stdout, "UI         %s\n", c.Stack.UIURL)
	}
	if address := c.Telemetry.Address(); address != "" {
		fmt.Fprintf(e.Stdout, "Metrics    http://%s/metrics\n", address)
	}
	if e.Environ.Get("DATABASE_URL") == "" {
		// a given URL may hold a password
		fmt.Fprintf(e.Stdout, "Database   %s\n", c.Stack.DatabaseURL)
	}
	fmt.Fprintf(e.Stdout, "Ready. Start a crawl from another terminal with:\n"+
		"  mosey crawl https://example.org/ --detach\n"+
		"or with Temporal's command:\n"+
		"  temporal workflow start --address %s --task-queue mosey --type SeedWorkflow \\\n"+
		"    --workflow-id seed/small-web/1 --input '{\"run\":\"small-web\",\"urls\":[\"https://example.org/\"]}'\n"+
		"Ctrl-C stops Mosey.\n", c.Stack.TemporalAddress)
	select {
	case <-ctx.Done():
	case err = <-c.Outdated():
	}
	fmt.Fprintln(e.Stderr, "Stopping after the requests in flight.")
	return err
}

type migrateCmd struct{ command.ChangePrinter }

// Run migrates the database of DATABASE_URL or the data directory. If the environment names a
// Temporal, it also creates its namespace and search attributes.
func (m *migrateCmd) Run(ctx context.Context, e *command.Env) error {
	schema, applied, err := command.Migrate(ctx, e)
	if err != nil {
		return err
	}
	prepared, err := command.PrepareTemporal(ctx, e)
	if err != nil {
		return err
	}
	lines := append([]string{fmt.Sprintf("schema version %d, %s applied", schema.Current, explain.Count(int64(applied), "migration"))},
		prepared...)
	return m.Print(e, command.Change{Action: "migrated", Count: new(int64(applied)), Message: strings.Join(lines, "\n")})
}

type serveCmd struct {
	command.WebFlags

	Public     string `help:"Serve only this part, for public access: search. Default: all parts, not public." enum:",search" default:"" placeholder:"search"`
	ImageStore string `help:"Image store: a directory, or the URL of a bucket (s3://). Default: images in the data directory." placeholder:"DIR|URL"`
	ReadOnly   bool   `help:"Allow no changes."`
}

func (s *serveCmd) Run(ctx context.Context, e *command.Env) error {
	if s.Web == "off" {
		return wiring.Usagef("--web off: mosey serve needs an address for the web page, such as :8470")
	}
	logger := e.NewLogger(e.Stderr, slog.LevelWarn)
	return command.WithWeb(ctx, e, logger, s.ReadOnly || s.Public != "", func(o command.WebOptions) (err error) {
		if o.Images, err = command.ImageLocation(e, s.ImageStore); err != nil {
			return err
		}
		o.SearchOnly = s.Public == "search"
		web, err := s.Serve(ctx, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, web.Close()) }()
		fmt.Fprintf(e.Stdout, "Web page   %s\nCtrl-C stops the server.\n", web.SignInURL("/"))
		<-ctx.Done()
		return nil
	})
}
