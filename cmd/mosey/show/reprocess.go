package show

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/ruling"
)

// ReprocessCmd reads archived pages again, without a request.
type ReprocessCmd struct {
	FromArchive string `help:"Archive: a directory, or the URL of a bucket (s3://)." required:"" placeholder:"DIR|URL"`
	Domain      string `help:"Only pages of this domain." placeholder:"DOMAIN"`
	All         bool   `help:"Also pages that this version of Mosey has read already."`
	JSON        bool   `name:"json" help:"Print one JSON object."`
}

// Run reads the pages that an earlier version of Mosey has read.
func (c *ReprocessCmd) Run(ctx context.Context, e *command.Env) error {
	domain, err := command.DomainFlag(c.Domain)
	if err != nil {
		return err
	}
	from, err := wiring.OpenArchive(ctx, c.FromArchive)
	if err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		rulings, err := ruling.New(store)
		if err != nil {
			return err
		}
		logger := slog.New(slog.NewTextHandler(e.Stderr, nil))
		p := read.Reprocessor{
			Store: store, Rulings: rulings, Archive: from,
			Reader: read.New(read.Config{Store: store, Rules: rulings, Languages: language.New(models.Models{})}),
		}
		view := command.NewProgressLine(e)
		totals, err := p.Run(ctx, domain, c.All, func(t read.Reprocessed) {
			view.Show(func(time.Time) string { return explain.Count(t.Read, "page") + " read" })
		})
		view.Clear()
		if err != nil {
			return fmt.Errorf("after %s, which are stored: %w", explain.Count(totals.Read, "page"), err)
		}
		if err := (&keywords.Writer{Store: store, Logger: logger}).Write(ctx); err != nil {
			return fmt.Errorf("index the pages: %w", err)
		}
		if err := command.PrintResult(e, c.JSON, totals, printReprocessed); err != nil {
			return err
		}
		if totals.Failed > 0 {
			return fmt.Errorf("%s could not be read, such as %w", explain.Count(totals.Failed, "page"), totals.Failure)
		}
		return nil
	})
}

func printReprocessed(w io.Writer, t read.Reprocessed) error {
	text := explain.Count(t.Read, "page") + " read again from the archive"
	if t.Changed > 0 {
		text += fmt.Sprintf("; %d requested meanwhile", t.Changed)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
