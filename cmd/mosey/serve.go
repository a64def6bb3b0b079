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
	command.WebFlags

	Public     string `help:"Serve this alone, so that it can be opened to others: search." enum:",search" default:"" placeholder:"search"`
	ImageStore string `help:"Where the bytes of images are kept: a directory, or the URL of a bucket (s3://). Default: images in the data directory." placeholder:"DIR|URL"`
	ReadOnly   bool   `help:"Let nobody change anything."`
}

// Run serves until the context ends.
func (s *serveCmd) Run(ctx context.Context, e *command.Env) error {
	if s.Web == "off" {
		return wiring.Usagef("--web off: mosey serve is for the web page: name an address, such as :8470")
	}
	logger := e.NewLogger(e.Stderr, slog.LevelWarn)
	return command.WithWeb(ctx, e, logger, s.ReadOnly || s.Public != "", func(o command.WebOptions) (err error) {
		if o.Images, err = command.ImageStoreOf(e, s.ImageStore); err != nil {
			return err
		}
		o.SearchOnly = s.Public == "search"
		web, err := s.Serve(ctx, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, web.Close()) }()
		fmt.Fprintf(e.Stdout, "Web page   %s\nCtrl-C stops.\n", web.SignedIn("/"))
		<-ctx.Done()
		return nil
	})
}
