package show

import (
	"context"
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// WhyCmd explains a page or a domain from what is stored.
type WhyCmd struct {
	What string `arg:"" name:"url|domain" help:"A page's URL, or a domain such as example.org."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the explanation.
func (c *WhyCmd) Run(ctx context.Context, e *command.Env) error {
	var page *urls.URL
	name := ""
	if strings.Contains(c.What, "://") {
		u, err := command.PageArgument(c.What)
		if err != nil {
			return err
		}
		page, name = &u, u.Domain()
	} else {
		var err error
		if name, err = command.DomainArgument(c.What); err != nil {
			return err
		}
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		w, err := explain.Of(ctx, store, name, page)
		if err != nil {
			return err
		}
		if c.JSON {
			return command.PrintJSON(e.Stdout, w)
		}
		fmt.Fprintf(e.Stdout, "%s: %s\n", w.About, explain.OneLine(w.Answer))
		for _, line := range w.Because {
			fmt.Fprintf(e.Stdout, "- %s\n", line)
		}
		return nil
	})
}
