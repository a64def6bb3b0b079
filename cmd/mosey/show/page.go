package show

import (
	"context"
	"errors"
	"io"
	"text/tabwriter"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// PageCmd shows what is known about a page.
type PageCmd struct {
	URL  string `arg:"" name:"url" help:"The page's URL."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the report.
func (p *PageCmd) Run(ctx context.Context, e *command.Env) error {
	u, err := command.PageArgument(p.URL)
	if err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		rep, err := store.Page(ctx, u.Domain(), u.String())
		if errors.Is(err, crawl.ErrNotFound) {
			return command.UnknownPage(u)
		}
		if err != nil {
			return err
		}
		if p.JSON {
			return command.PrintJSON(e.Stdout, rep)
		}
		return printPage(e.Stdout, rep)
	})
}

func printPage(w io.Writer, r report.Page) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := command.RowTo(t)
	row("url", "%s", r.URL)
	row("status", "%s", r.Status)
	if r.Title != "" {
		row("title", "%q", r.Title)
	}
	if r.Language != "" {
		row("language", "%s", r.Language)
	}
	if r.Description != "" {
		row("description", "%q", r.Description)
	}
	if !r.Published.IsZero() {
		row("published", "%s", explain.Stamp(r.Published))
	}
	if !r.Modified.IsZero() {
		row("modified", "%s", explain.Stamp(r.Modified))
	}
	if r.Canonical != "" {
		row("canonical", "%s", r.Canonical)
	}
	if r.Generator != "" {
		row("generator", "%q", r.Generator)
	}
	if r.RedirectTo != "" {
		row("redirects to", "%s", r.RedirectTo)
	}
	if r.NoIndex || r.NoFollow {
		row("meta robots", "noindex %t, nofollow %t", r.NoIndex, r.NoFollow)
	}
	if len(r.Usage) > 0 {
		row("usage", "%s", r.Usage)
	}
	if !r.FreshUntil.IsZero() {
		row("fresh until", "%s", explain.Stamp(r.FreshUntil))
	}
	if r.Trap.Rule != "" {
		row("trap", "%s: %s", r.Trap.Rule, r.Trap.Evidence)
	}
	if r.Images != nil {
		row("images", "%s", explain.ImageCounts(*r.Images))
	}
	if i := r.Image; i != nil {
		row("image", "%s", explain.ImageNamed(*i))
		if i.Problem != "" {
			row("problem", "%s", i.Problem)
		} else if i.SHA256 != "" {
			row("content", "%s", explain.ImageContent(*i))
		}
	}
	row("links", "%d out, %d in", r.LinksOut, r.LinksIn)
	for _, c := range r.Crawls {
		at := c.CompletedAt
		if at.IsZero() {
			at = c.ScheduledFor
		}
		by := ""
		if c.Worker != "" {
			by = ", by " + c.Worker
		}
		row("crawl "+explain.Stamp(at), "%s in run %s, %s, %s%s %s", explain.Attempt(c), c.Run, c.Duration, c.IP, by, c.Error)
	}
	return command.Flush(t)
}
