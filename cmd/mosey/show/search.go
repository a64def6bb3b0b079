package show

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/search"
)

// SearchCmd finds pages by their content.
type SearchCmd struct {
	Query  []string `arg:"" help:"Words that a page must all have; or between words for alternatives, \"a phrase\", -word to exclude."`
	Lang   string   `help:"Only pages in this language, such as en or pt-BR." placeholder:"TAG"`
	Domain string   `help:"Only pages of this domain." placeholder:"DOMAIN"`
	Since  string   `help:"Only pages of this day or later: a date such as 2026-11-01, or an age such as 30d or 12h." placeholder:"WHEN"`
	Fresh  bool     `help:"Prefer newer pages among equally good results."`
	Limit  int      `default:"10" help:"Maximum number of results. Default: 10."`
	Offset int      `default:"0" help:"Number of results to skip. Default: 0."`
	All    bool     `help:"Also show near-duplicates, and more than two pages of a domain."`
	JSON   bool     `name:"json" help:"Print one JSON object per result."`
}

// Run prints the results, the best first.
func (c *SearchCmd) Run(ctx context.Context, e *command.Env) error {
	since, err := parseSince("--since", c.Since, time.Now())
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
		if err != nil {
			return command.InvalidAsUsage(err)
		}
		waiting, err := store.KeywordsWaiting(ctx, report.KeywordsBound)
		if err != nil {
			return err
		}
		if waiting > 0 {
			fmt.Fprintln(e.Stderr, explain.KeywordsWaiting(waiting))
		}
		if answer.Cut {
			fmt.Fprintln(e.Stderr, "Too many similar pages, so not all were compared: use more words.")
		}
		if answer.Instead != "" {
			fmt.Fprintf(e.Stderr, "Did you mean: %s\n", explain.OneLine(answer.Instead))
		}
		if c.JSON {
			return command.PrintLines(e.Stdout, answer.Results)
		}
		if len(answer.Results) == 0 {
			explanation, err := c.explainEmpty(ctx, store, searcher, query, waiting)
			if err != nil {
				return err
			}
			fmt.Fprintln(e.Stderr, explanation)
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
		fmt.Fprintf(w, "%s\n  %s\n", cmp.Or(explain.OneLine(r.Title), "(no title)"), explain.OneLine(r.URL))
		var details []string
		if r.Language != "" {
			details = append(details, r.Language)
		}
		if !r.Date.IsZero() {
			details = append(details, r.Date.Format(time.DateOnly))
		}
		if len(details) > 0 {
			fmt.Fprintf(w, "  %s\n", strings.Join(details, ", "))
		}
		fit := func(text string) string { return command.Fit(explain.OneLine(text), maxDescriptionLen) }
		switch {
		case r.Description != "":
			fmt.Fprintf(w, "  %s\n", fit(r.Description))
		case r.Heading != "":
			fmt.Fprintf(w, "  Heading “%s”\n", fit(r.Heading))
		case len(r.Words) > 0:
			fmt.Fprintf(w, "  Words: %s\n", fit(strings.Join(r.Words, ", ")))
		}
	}
}

const maxDescriptionLen = 200

// parseSince parses a flag's day or age; empty means the zero time.
func parseSince(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if age, err := command.ParseAge(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, wiring.Usagef("%s %q: want a date such as 2026-11-01, or an age such as 30d or 12h", flag, text)
}

// explainEmpty explains an empty result, as far as the reason is quickly found. waiting is the
// number of pages without keywords.
func (c *SearchCmd) explainEmpty(
	ctx context.Context, store *db.Store, searcher *search.Searcher, q search.Query, waiting int,
) (string, error) {
	empty, err := hasFetchedNothing(ctx, store)
	if err != nil {
		return "", err
	}
	if empty && waiting == 0 {
		return "No results: no page has been fetched yet. Start with mosey crawl https://example.org/", nil
	}
	lines := []string{"No results."}
	without, err := c.unfiltered(ctx, searcher, q)
	if err != nil {
		return "", err
	}
	outdated, err := countOutdated(ctx, store, q.Domain)
	if err != nil {
		return "", err
	}
	if without != "" {
		lines = append(lines, without)
	}
	if outdated > 0 {
		verb := "was"
		if outdated > 1 {
			verb = "were"
		}
		lines = append(lines, fmt.Sprintf("%s %s parsed by an older Mosey: see mosey recrawl --outdated --dry-run.",
			explain.Count(outdated, "page"), verb))
	}
	return strings.Join(lines, " "), nil
}

func hasFetchedNothing(ctx context.Context, store *db.Store) (bool, error) {
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

// unfiltered describes the result without the restricting flags; empty if that adds nothing.
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

// countOutdated counts the pages read by an older extractor; 0 if counting takes long.
func countOutdated(ctx context.Context, store *db.Store, domain string) (int64, error) {
	bounded, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	outdated, err := store.Outdated(bounded, domain)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return 0, nil // a table of millions
	}
	return outdated.Pages, err
}

// countTimeout bounds the search for the reason of an empty result.
const countTimeout = time.Second

// SearchWords puts the words of a search after "--" if one begins with a minus, which kong would
// take for a flag: "mosey search foo -bar". Flags may stand anywhere. Other commands are unchanged.
func SearchWords(app *kong.Application, args []string) []string {
	begin, cmd := commandOf(app, args)
	if cmd == nil || cmd.Target.Type() != reflect.TypeFor[SearchCmd]() {
		return args
	}
	var flags, words []string
	minus := false
	knownFlags := slices.Concat(app.Flags, cmd.Flags)
	for i := begin + 1; i < len(args); i++ {
		arg := args[i]
		isShort := slices.ContainsFunc(knownFlags, func(f *kong.Flag) bool { return f.Short != 0 && arg == "-"+string(f.Short) })
		switch {
		case arg == "--":
			words, minus = append(words, args[i+1:]...), true
			i = len(args)
		case strings.HasPrefix(arg, "--") || isShort:
			flags = append(flags, arg)
			if command.TakesValue(knownFlags, arg) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		default:
			minus = minus || len(arg) > 1 && arg[0] == '-'
			words = append(words, arg)
		}
	}
	if !minus {
		return args
	}
	return slices.Concat(args[:begin+1], flags, []string{"--"}, words)
}

func commandOf(app *kong.Application, args []string) (at int, cmd *kong.Node) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case command.TakesValue(app.Flags, arg):
			i++
		case !strings.HasPrefix(arg, "-"):
			found := slices.IndexFunc(app.Children, func(n *kong.Node) bool { return n.Name == arg })
			if found < 0 {
				return 0, nil
			}
			return i, app.Children[found]
		}
	}
	return 0, nil
}
