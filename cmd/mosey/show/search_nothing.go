package show

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/search"
)

// nothing says why a query finds nothing, as far as that can be told at once. waiting is
// how many pages wait for their keywords.
func (c *SearchCmd) nothing(ctx context.Context, store *db.Store, searcher *search.Searcher, q search.Query, waiting int) (string, error) {
	empty, err := nothingFetched(ctx, store)
	if err != nil {
		return "", err
	}
	if empty && waiting == 0 {
		return "Nothing found: no page has been fetched yet. Begin with mosey crawl https://example.org/", nil
	}
	lines := []string{"Nothing found."}
	without, err := c.unfiltered(ctx, searcher, q)
	if err != nil {
		return "", err
	}
	old, err := readByOlder(ctx, store, q.Domain)
	if err != nil {
		return "", err
	}
	if without != "" {
		lines = append(lines, without)
	}
	if old > 0 {
		verb := "was"
		if old > 1 {
			verb = "were"
		}
		lines = append(lines, fmt.Sprintf("%s %s read by an older Mosey: see mosey recrawl --outdated --dry-run.",
			explain.Count(old, "page"), verb))
	}
	return strings.Join(lines, " "), nil
}

// nothingFetched reports whether no run has a page yet.
func nothingFetched(ctx context.Context, store *db.Store) (bool, error) {
	runs, err := store.Runs(ctx)
	if err != nil {
		return false, err
	}
	for _, run := range runs {
		if p, err := store.Progress(ctx, run); err != nil || p.Success > 0 {
			return false, err
		}
	}
	return true, nil
}

// unfiltered says what the query finds without the flags that restrict it; empty if there
// are none or that is nothing either.
func (c *SearchCmd) unfiltered(ctx context.Context, searcher *search.Searcher, q search.Query) (string, error) {
	var flags []string
	for _, f := range []struct{ name, value string }{{"--lang", c.Lang}, {"--domain", c.Domain}, {"--since", c.Since}} {
		if f.value != "" {
			flags = append(flags, f.name+" "+f.value)
		}
	}
	if len(flags) == 0 && q.Offset == 0 {
		return "", nil
	}
	if q.Offset > 0 {
		flags = append(flags, fmt.Sprintf("--offset %d", q.Offset))
	}
	results, err := searcher.Search(ctx, search.Query{Text: q.Text, Limit: search.LimitMax})
	if err != nil || len(results) == 0 {
		return "", err
	}
	many, verb := explain.Count(int64(len(results)), "page"), "is"
	if len(results) > 1 {
		verb = "are"
	}
	if len(results) == search.LimitMax {
		many += " or more"
	}
	return fmt.Sprintf("Without %s %s %s found.", strings.Join(flags, " and "), many, verb), nil
}

// readByOlder is how many pages an older extractor has read; 0 if counting them takes long.
func readByOlder(ctx context.Context, store *db.Store, domain string) (int64, error) {
	bounded, cancel := context.WithTimeout(ctx, countingMost)
	defer cancel()
	old, err := store.Outdated(bounded, domain)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return 0, nil // a table of millions
	}
	return old.Pages, err
}

// countingMost bounds how long a search that finds nothing looks for the reason.
const countingMost = time.Second
