package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
)

// linksCmd shows who links to whom.
type linksCmd struct {
	What  string `arg:"" name:"url|domain" help:"A page's URL, or a domain such as example.org."`
	Limit int    `default:"100" help:"How many links, or domains, each way."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// listMost caps --limit where links and images are listed.
const listMost = 100_000

// checkLimit refuses a --limit that is not from 1 to listMost.
func checkLimit(limit int) error {
	if limit < 1 || limit > listMost {
		return wiring.Usagef("--limit %d: want 1 to %d", limit, listMost)
	}
	return nil
}

// Run prints the links out and in: of a page one by one, of a domain by domain.
func (c *linksCmd) Run(ctx context.Context, e *env) error {
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	if !strings.Contains(c.What, "://") {
		return c.ofDomain(ctx, e)
	}
	u, err := pageArgument(c.What)
	if err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		links, err := store.PageLinks(ctx, u.Domain(), u.String(), c.Limit)
		if errors.Is(err, crawl.ErrNotFound) {
			return unknownPage(u)
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(e.stdout, links)
		}
		printRank(e.stdout, links.Rank)
		if err := printLinks(e.stdout, "links to", links.Out); err != nil {
			return err
		}
		return printLinks(e.stdout, "is linked from", links.In)
	})
}

// printRank tells what mosey rank has made of it.
func printRank(w io.Writer, r crawl.Rank) {
	if r.Domains > 0 {
		fmt.Fprintf(w, "score %.3f, by links from %s\n", r.Score, count(int64(r.Domains), "registered domain"))
	}
}

func printLinks(w io.Writer, heading string, links []report.Link) error {
	domains := map[string]bool{}
	for _, l := range links {
		domains[l.Domain] = true
	}
	fmt.Fprintf(w, "%s %s of %s\n", heading, count(int64(len(links)), "page"), count(int64(len(domains)), "domain"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range links {
		parts := []string{"  " + oneLine(l.URL)}
		if l.Anchor != "" {
			parts = append(parts, fmt.Sprintf("\t%q", oneLine(l.Anchor)))
		}
		if l.Kind != "link" {
			parts = append(parts, " "+l.Kind)
		}
		if l.NoFollow {
			parts = append(parts, " nofollow")
		}
		for _, mark := range l.Rel {
			parts = append(parts, " "+mark)
		}
		if !l.GoneAt.IsZero() {
			parts = append(parts, " gone since "+stamp(l.GoneAt))
		}
		fmt.Fprintln(t, strings.Join(parts, ""))
	}
	return flush(t)
}

func (c *linksCmd) ofDomain(ctx context.Context, e *env) error {
	domain, err := domainArgument(c.What)
	if err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		links, err := store.DomainLinks(ctx, domain, c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(e.stdout, links)
		}
		printRank(e.stdout, links.Rank)
		if err := printDomains(e.stdout, "links to", links.Out); err != nil {
			return err
		}
		return printDomains(e.stdout, "is linked from", links.In)
	})
}

func printDomains(w io.Writer, heading string, domains []report.Links) error {
	fmt.Fprintf(w, "%s %s\n", heading, count(int64(len(domains)), "domain"))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range domains {
		parts := []string{fmt.Sprintf("  %s\t%s", d.Domain, count(d.Links, "link"))}
		if d.NoFollow > 0 {
			parts = append(parts, fmt.Sprintf(", %d nofollow", d.NoFollow))
		}
		for _, a := range d.Anchors {
			parts = append(parts, fmt.Sprintf(" %q", oneLine(a)))
		}
		fmt.Fprintln(t, strings.Join(parts, ""))
	}
	return flush(t)
}
