package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
)

// serveCmd shows what a database holds in a browser.
type serveCmd struct {
	wiring.WebFlags

	Public string `help:"Serve this alone, so that it can be opened to others: search." enum:",search" default:"" placeholder:"search"`
}

// Run serves until the context ends.
func (s *serveCmd) Run(ctx context.Context, e *command.Env) error {
	if s.Web == "off" {
		return wiring.Usagef("--web off: mosey serve is for the web page: name an address, such as :8470")
	}
	return command.WithDatabase(ctx, e, func(url string) (err error) {
		web, err := s.Serve(ctx, wiring.WebOptions{
			DatabaseURL: url, TemporalUI: command.TemporalUI(e), SearchOnly: s.Public == "search", Logger: e.NewLogger(e.Stderr, slog.LevelWarn),
		})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, web.Close()) }()
		fmt.Fprintf(e.Stdout, "Web page   %s\nCtrl-C stops.\n", web.URL)
		<-ctx.Done()
		return nil
	})
}
