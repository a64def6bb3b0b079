package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// withStore opens the database of a running Mosey, or starts the data directory's
// own for as long as fn runs.
func withStore(ctx context.Context, e *env, fn func(*db.Store) error) (err error) {
	url := e.environ.Get("DATABASE_URL")
	if url == "" {
		dir, err := datadir.Resolve(e.dataDir)
		if err != nil {
			return err
		}
		attached, err := postgres.Attach(ctx, postgres.Config{Dir: dir})
		if errors.Is(err, postgres.ErrNoCluster) {
			return fmt.Errorf("%s: %w: begin with mosey crawl https://example.org/", dir, errNothingYet)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, attached.Close(context.WithoutCancel(ctx))) }()
		url = attached.URL()
	}
	store, err := wiring.OpenStore(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	return fn(store)
}

var errNothingYet = errors.New("nothing has been crawled yet")

// withNewStore is withStore for what may be the first that a database is used for: it is
// made where there is none, and migrated where that was named.
func withNewStore(ctx context.Context, e *env, fn func(*db.Store) error) error {
	if e.environ.Get("DATABASE_URL") == "" {
		err := withStore(ctx, e, fn)
		if !errors.Is(err, errNothingYet) {
			return err
		}
	}
	if _, _, err := migrate(ctx, e); err != nil {
		return err
	}
	return withStore(ctx, e, fn)
}

func printStatus(w io.Writer, p report.Progress) {
	took := time.Since(p.StartedAt)
	if !p.FinishedAt.IsZero() {
		took = p.FinishedAt.Sub(p.StartedAt)
	}
	fmt.Fprint(w, summary(p, p.Totals, took))
	for _, line := range moves(p, time.Now()) {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// moves says what a run is doing, and what it waits for.
func moves(p report.Progress, now time.Time) (lines []string) {
	for _, o := range p.Outages {
		lines = append(lines, "the network "+outageLine(o))
	}
	if p.Status != crawl.RunRunning {
		return lines
	}
	lines = append(lines, fmt.Sprintf("%s active, %s in flight", count(p.Active, "domain"), count(p.InFlight, "page")))
	for _, wait := range p.Waiting {
		lines = append(lines, waitLine(wait, now))
	}
	return append(lines, standsStill(p, now)...)
}

// keywordsLine says how many pages are not found by a search yet.
func keywordsLine(waiting int) string {
	many := count(int64(waiting), "page")
	if waiting >= report.KeywordsBound {
		many += " or more"
	}
	return many + " fetched and not found by a search yet: a worker writes their keywords, within seconds unless the crawl is faster"
}

// standsStill says why domains of a run are not asked, and until when.
func standsStill(p report.Progress, now time.Time) (lines []string) {
	switch {
	case p.OpensAt.After(now):
		lines = append(lines, "the window of the run is closed"+untilText(p.OpensAt))
	case p.Due > 0 && p.Active == 0 && now.Sub(p.LookedAt) > 2*time.Minute:
		lines = append(lines, fmt.Sprintf("%s due, and nobody crawls: mosey up, or mosey crawl --run %s", count(p.Due, "domain"), p.Name))
	case p.Due >= crawl.LeftBound:
		lines = append(lines, fmt.Sprintf("%d domains or more are due and wait for a place (max_active_domains)", p.Due))
	case p.Due > 0:
		lines = append(lines, count(p.Due, "domain")+" due, and started within a minute")
	case p.Active == 0 && len(p.NotDue) == 0:
		lines = append(lines, "nothing is due")
	}
	for _, n := range p.NotDue {
		lines = append(lines, fmt.Sprintf("%s not asked%s: %s (such as %s)",
			count(n.Domains, "domain"), untilText(n.Until), notDueText(n.Reason), oneLine(n.Domain)))
	}
	return lines
}

// untilText says until when something is waited for; a time of zero is not known.
func untilText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + stamp(at)
}

// notDueText says in words why a domain is not due.
func notDueText(why reasons.Reason) string { return cmp.Or(why.Row().Words, string(why)) }

// domainCmd shows what is known about a domain.
type domainCmd struct {
	Name string `arg:"" help:"Domain, such as example.org."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the report.
func (d *domainCmd) Run(ctx context.Context, e *env) error {
	name, err := domainArgument(d.Name)
	if err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		rep, err := store.Domain(ctx, name)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("domain %s is "+notKnown, name)
		}
		if err != nil {
			return err
		}
		rep.UI = workflowURL(e, crawl.DomainWorkflowID(name))
		if d.JSON {
			return printJSON(e.stdout, rep)
		}
		return printDomain(e.stdout, rep)
	})
}

// workflowURL is the address of a workflow in the web UI of the Mosey that runs; empty where
// that is not known.
func workflowURL(e *env, id string) string {
	if e.environ.Get("TEMPORAL_ADDRESS") != "" {
		return "" // it may have a UI, but who knows where
	}
	info, running, err := runningMosey(e)
	if err != nil || !running || info.UIURL == "" {
		return ""
	}
	return info.UIURL + "/namespaces/" + cmp.Or(e.environ.Get("TEMPORAL_NAMESPACE"), "default") + "/workflows/" + url.PathEscape(id)
}

func printDomain(w io.Writer, r report.Domain) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := rowTo(t)
	row("domain", "%s", r.Domain)
	row("status", "%s %s", r.Status, r.Reason)
	for _, c := range telling(r.Controls) {
		row("control", "%s", controlLine(c))
	}
	if !r.DeferredUntil.IsZero() {
		row("deferred until", "%s", stamp(r.DeferredUntil))
	}
	if left := time.Until(r.SlotFree); left > 0 && r.SlotReason == reasons.InFlight {
		row("next request", "one is in flight, and is over by %s at the latest", stamp(r.SlotFree))
	} else if left > 0 {
		row("next request", "not before %s, in %s (%s)", stamp(r.SlotFree), left.Round(100*time.Millisecond), r.SlotReason)
	}
	row("health", "%s", politeness.Describe(r.Health))
	if r.Claimed != "" {
		row("workflow", "%s, claim until %s", r.Claimed, stamp(r.ClaimEnd))
	}
	if r.UI != "" {
		row("temporal ui", "%s", r.UI)
	}
	row("pending", "%d", r.Pending)
	printCounts(row, r)
	for _, o := range r.Robots {
		delay := ""
		if o.CrawlDelay != nil {
			delay = ", crawl-delay " + o.CrawlDelay.String()
		}
		reason := ""
		if o.Reason != "" {
			reason = " (" + o.Reason + ")"
		}
		row("robots.txt", "%s: %s%s%s, until %s", o.Origin, o.Verdict, delay, reason, stamp(o.ExpiresAt))
	}
	for _, trap := range r.Traps {
		row("stopped", "%s", trap.Evidence)
	}
	for _, run := range r.Runs {
		row("run "+run.Run, "%s: %s", run.Status, tally(run.Totals))
	}
	for _, c := range r.Recent {
		row("  "+stamp(c.CompletedAt), "%s %s %s", result(c), urls.Shorten(c.URL, 80), c.Error)
	}
	return flush(t)
}

// printCounts prints what is counted of a domain, and what its priority comes of.
func printCounts(row func(name, format string, args ...any), r report.Domain) {
	if r.Source != "" {
		rank := ""
		if r.Rank > 0 {
			rank = fmt.Sprintf(", rank %d", r.Rank)
		}
		row("source", "%s%s", r.Source, rank)
	}
	row("priority", "%.3f", r.Score)
	if r.CountedAt.IsZero() {
		return
	}
	row("pages", "%d known, fetched %s, %s", r.Discovered, count(r.Crawled, "time"), size(r.Bytes))
	if r.ErrorRate != nil && r.YieldRate != nil {
		row("of late", "%.0f %% errors, %.0f %% news, answers in %s, %s a page", *r.ErrorRate*100, *r.YieldRate*100,
			time.Duration(r.AvgResponse), size(r.AvgBytes))
	}
	if !r.Last.IsZero() {
		row("crawled", "first %s, last %s", stamp(r.First), stamp(r.Last))
	}
	row("counted", "%s", stamp(r.CountedAt))
}

// result is how an attempt stands, in a word or two.
func result(c report.Crawl) string {
	switch {
	case c.Skipped != "":
		return "skipped (" + string(c.Skipped) + ")"
	case c.Outcome == "" && !c.LockedAt.IsZero():
		return "in flight"
	case c.Outcome == "":
		return "pending"
	case c.Unchanged != "":
		return fmt.Sprintf("%s %d, unchanged (%s)", c.Outcome, c.StatusCode, c.Unchanged)
	case c.Truncated:
		return fmt.Sprintf("%s %d, cut off: the page is too long", c.Outcome, c.StatusCode)
	case c.StatusCode != 0:
		return fmt.Sprintf("%s %d", c.Outcome, c.StatusCode)
	default:
		return string(c.Outcome)
	}
}

// rowTo writes rows of a name and what there is to say of it.
func rowTo(w io.Writer) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", oneLine(name), strings.TrimRight(oneLine(fmt.Sprintf(format, args...)), " "))
	}
}

func stamp(t time.Time) string { return t.Local().Format(time.DateTime) }

func flush(t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printLines prints one JSON object a line.
func printLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, x := range list {
		if err := enc.Encode(x); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

func printJSON(w io.Writer, x any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
