package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/search"
)

// SearchCmd finds pages by what they say.
type SearchCmd struct {
	Query  []string `arg:"" help:"Words, all of which a page must have; or between two, \"a phrase\", -not."`
	Lang   string   `help:"Only pages in this language, such as en or pt-BR." placeholder:"TAG"`
	Domain string   `help:"Only pages of this domain." placeholder:"DOMAIN"`
	Since  string   `help:"Only pages of this day or later: a date such as 2026-11-01, or an age such as 30d or 12h." placeholder:"WHEN"`
	Fresh  bool     `help:"Newer pages first, of those that answer as well."`
	Limit  int      `default:"10" help:"How many results."`
	Offset int      `default:"0" help:"How many results to pass over."`
	All    bool     `help:"Also pages that say nearly the same as others, and more than two of a domain."`
	JSON   bool     `name:"json" help:"Print one JSON object a result."`
}

// Run prints what is found, the best first.
func (c *SearchCmd) Run(ctx context.Context, e *command.Env) error {
	since, err := parseSince(c.Since, time.Now())
	if err != nil {
		return err
	}
	if c.Domain, err = command.DomainFlag(c.Domain); err != nil {
		return err
	}
	if c.Limit < 1 {
		return wiring.Usagef("--limit %d: want 1 to %d", c.Limit, search.LimitMax)
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		searcher := search.New(store)
		searcher.Guess = language.Guess
		query := search.Query{
			Text: strings.Join(c.Query, " "), Language: c.Lang, Domain: c.Domain, Since: since, Fresh: c.Fresh,
			Limit: c.Limit, Offset: c.Offset, All: c.All,
		}
		answer, err := searcher.Find(ctx, query)
		if errors.Is(err, crawl.ErrInvalid) {
			return wiring.Usagef("%w", err)
		}
		if err != nil {
			return err
		}
		waiting, err := store.KeywordsWaiting(ctx, report.KeywordsBound)
		if err != nil {
			return err
		}
		if waiting > 0 {
			fmt.Fprintln(e.Stderr, explain.KeywordsWaiting(waiting))
		}
		if answer.Cut {
			fmt.Fprintln(e.Stderr, "So many pages are alike that not all of them were compared: more words tell them apart.")
		}
		if answer.Instead != "" {
			fmt.Fprintf(e.Stderr, "Did you mean: %s\n", explain.OneLine(answer.Instead))
		}
		if c.JSON {
			return command.PrintLines(e.Stdout, answer.Results)
		}
		if len(answer.Results) == 0 {
			why, err := c.nothing(ctx, store, searcher, query, waiting)
			if err != nil {
				return err
			}
			fmt.Fprintln(e.Stderr, why)
		}
		printResults(e.Stdout, answer.Results)
		return nil
	})
}

func printResults(w io.Writer, results []search.Result) {
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(w)
		}
		title := explain.OneLine(r.Title)
		if title == "" {
			title = "(no title)"
		}
		fmt.Fprintf(w, "%s\n  %s\n", title, explain.OneLine(r.URL))
		var about []string
		if r.Language != "" {
			about = append(about, r.Language)
		}
		if !r.Date.IsZero() {
			about = append(about, r.Date.Format(time.DateOnly))
		}
		if len(about) > 0 {
			fmt.Fprintf(w, "  %s\n", strings.Join(about, ", "))
		}
		switch {
		case r.Description != "":
			fmt.Fprintf(w, "  %s\n", command.Fit(explain.OneLine(r.Description), descriptionShown))
		case r.Heading != "":
			fmt.Fprintf(w, "  Under “%s”\n", command.Fit(explain.OneLine(r.Heading), descriptionShown))
		case len(r.Words) > 0:
			fmt.Fprintf(w, "  Has %s\n", command.Fit(explain.OneLine(strings.Join(r.Words, ", ")), descriptionShown))
		}
	}
}

// descriptionShown is how much of a description is printed, in characters.
const descriptionShown = 200

// parseSince reads a day or an age; empty is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if days, span, ok := ParseAge(text, maxDays); ok {
		return now.AddDate(0, 0, -days).Add(-span), nil
	}
	return time.Time{}, wiring.Usagef("--since %q: want a date such as 2026-11-01, or an age such as 30d or 12h", text)
}

// ParseAge reads a span that may be in days, of which there are at most so many.
func ParseAge(text string, most int) (days int, span time.Duration, ok bool) {
	number, inDays := strings.CutSuffix(text, "d")
	if !inDays {
		span, err := time.ParseDuration(text)
		return 0, span, err == nil && span >= 0
	}
	n, err := strconv.ParseUint(number, 10, 31)
	return int(n), 0, err == nil && int(n) <= most
}

// maxDays is a hundred years: before there was a web.
const maxDays = 36_500
