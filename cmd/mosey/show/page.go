package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// PageCmd shows the stored facts about a page.
type PageCmd struct {
	URL  string `arg:"" name:"url" help:"The page's URL, or its host and path, such as example.org/about."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the report.
func (p *PageCmd) Run(ctx context.Context, e *command.Env) error {
	name, err := command.PageArgument(p.URL)
	if err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		u, err := explain.FindPage(ctx, store, name)
		if err != nil {
			return err
		}
		rep, err := store.Page(ctx, u.Domain(), u.String())
		if err != nil {
			return describePageError(err, u)
		}
		return command.PrintResult(e, p.JSON, rep, printPage)
	})
}

// describePageError explains that a page is not stored. It returns other errors unchanged.
func describePageError(err error, u urls.URL) error {
	if errors.Is(err, crawl.ErrNotFound) {
		return wiring.Usagef("page %s is "+explain.UnknownPage, u)
	}
	return err
}

func printPage(w io.Writer, r report.Page) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := command.RowTo(t)
	row("url", "%s", r.URL)
	row("status", "%s", r.Status)
	rowIfSet := func(name, format, text string) {
		if text != "" {
			row(name, format, text)
		}
	}
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			row(name, "%s", explain.Stamp(t))
		}
	}
	rowIfSet("title", "%q", r.Title)
	rowIfSet("requested as", "%s", r.RequestTarget)
	rowIfSet("language", "%s", r.Language)
	rowIfSet("description", "%q", r.Description)
	at("published", r.Published)
	at("modified", r.Modified)
	rowIfSet("canonical", "%s", r.Canonical)
	rowIfSet("generator", "%q", r.Generator)
	rowIfSet("redirects to", "%s", r.RedirectTo)
	if r.NoIndex || r.NoFollow {
		row("meta robots", "noindex %t, nofollow %t", r.NoIndex, r.NoFollow)
	}
	if len(r.Usage) > 0 {
		row("usage", "%s", r.Usage)
	}
	at("fresh until", r.FreshUntil)
	if r.Trap.Rule != "" {
		row("trap", "%s: %s", r.Trap.Rule, r.Trap.Evidence)
	}
	if r.Images != nil {
		row("images", "%s", explain.ImageCounts(*r.Images))
	}
	if i := r.Image; i != nil {
		row("image", "%s", explain.ImagePageCount(*i))
		if i.Problem != "" {
			row("problem", "%s", i.Problem)
		} else if i.SHA256 != "" {
			row("content", "%s", explain.ImageContent(*i))
		}
	}
	row("links", "%d out, %d in", r.LinksOut, r.LinksIn)
	for _, c := range r.Crawls {
		when := c.CompletedAt
		if when.IsZero() {
			when = c.ScheduledFor
		}
		by := ""
		if c.Worker != "" {
			by = ", by " + c.Worker
		}
		row("crawl "+explain.Stamp(when), "%s in run %s, %s, %s%s %s", explain.Attempt(c), c.Run, c.Duration, c.IP, by, c.Error)
	}
	if r.Moved != nil {
		row("history", "%s", explain.MovedHistory(*r.Moved, time.Local))
	}
	return command.Flush(t)
}

// LinksCmd shows links of a page or domain.
type LinksCmd struct {
	PageOrDomain string `arg:"" name:"url|domain" help:"A page such as https://example.org/about, or a domain such as example.org."`
	Limit        int    `default:"100" help:"Maximum number of links, or domains, in each direction. Default: 100."`
	JSON         bool   `name:"json" help:"Print JSON."`
}

// Run prints outgoing and incoming links: of a page one by one, of a domain by domain.
func (c *LinksCmd) Run(ctx context.Context, e *command.Env) error {
	if err := command.CheckLimit(c.Limit); err != nil {
		return err
	}
	name, err := command.PageOrDomainArgument(c.PageOrDomain)
	if err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		if name.Host {
			links, err := store.DomainLinks(ctx, name.Page.Domain(), c.Limit)
			if err != nil {
				return err
			}
			return command.PrintResult(e, c.JSON, links, func(w io.Writer, links report.DomainLinks) error {
				return printLinkLists(w, links.Rank, links.Out, links.In, printDomains)
			})
		}
		u, err := explain.FindPage(ctx, store, name)
		if err != nil {
			return err
		}
		links, err := store.PageLinks(ctx, u.Domain(), u.String(), c.Limit)
		if err != nil {
			return describePageError(err, u)
		}
		return command.PrintResult(e, c.JSON, links, func(w io.Writer, links report.PageLinks) error {
			return printLinkLists(w, links.Rank, links.Out, links.In, printLinks)
		})
	})
}

func printLinkLists[L any](
	w io.Writer, r crawl.Rank, out, in []L, each func(w io.Writer, heading string, links []L) error,
) error {
	if r.Domains > 0 {
		fmt.Fprintf(w, "score %.3f, by links from %s\n", r.Score, explain.Count(int64(r.Domains), "registered domain"))
	}
	if err := each(w, "links to", out); err != nil {
		return err
	}
	return each(w, "is linked from", in)
}

func printLinks(w io.Writer, heading string, links []report.Link) error {
	domains := map[string]bool{}
	for _, l := range links {
		domains[l.Domain] = true
	}
	fmt.Fprintf(w, "%s %s of %s\n", heading, explain.Count(int64(len(links)), "page"), explain.Count(int64(len(domains)), "domain"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range links {
		line := "  " + explain.OneLine(l.URL)
		if l.Anchor != "" {
			line += fmt.Sprintf("\t%q", explain.OneLine(l.Anchor))
		}
		if l.Kind != "link" {
			line += " " + l.Kind
		}
		if l.NoFollow {
			line += " nofollow"
		}
		line = strings.Join(append([]string{line}, l.Rel...), " ")
		if !l.GoneAt.IsZero() {
			line += " gone since " + explain.Stamp(l.GoneAt)
		}
		fmt.Fprintln(t, line)
	}
	return command.Flush(t)
}

func printDomains(w io.Writer, heading string, domains []report.Links) error {
	fmt.Fprintf(w, "%s %s\n", heading, explain.Count(int64(len(domains)), "domain"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range domains {
		parts := []string{fmt.Sprintf("  %s\t%s", d.Domain, explain.Count(d.Links, "link"))}
		if d.NoFollow > 0 {
			parts = append(parts, fmt.Sprintf(", %d nofollow", d.NoFollow))
		}
		for _, a := range d.Anchors {
			parts = append(parts, fmt.Sprintf(" %q", explain.OneLine(a)))
		}
		fmt.Fprintln(t, strings.Join(parts, ""))
	}
	return command.Flush(t)
}

// WhyCmd explains a page or a domain from stored rows.
type WhyCmd struct {
	PageOrDomain string `arg:"" name:"url|domain" help:"A page such as https://example.org/about, or a domain such as example.org."`
	JSON         bool   `name:"json" help:"Print JSON."`
}

// Run prints the explanation.
func (c *WhyCmd) Run(ctx context.Context, e *command.Env) error {
	name, err := command.PageOrDomainArgument(c.PageOrDomain)
	if err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		var page *urls.URL
		if !name.Host {
			u, err := explain.FindPage(ctx, store, name)
			if err != nil {
				return err
			}
			page = &u
		}
		w, err := explain.Of(ctx, store, name.Page.Domain(), page, time.Local)
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
