package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/ruling"
)

// WhyCmd explains a page or a domain from what is stored.
type WhyCmd struct {
	What string `arg:"" name:"url|domain" help:"A page's URL, or a domain such as example.org."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Why is the explanation: one sentence a line, the answer first.
type Why struct {
	About   string   `json:"about"`
	Answer  string   `json:"answer"`
	Because []string `json:"because"`
}

func (w *Why) addf(format string, args ...any) {
	w.Because = append(w.Because, command.OneLine(fmt.Sprintf(format, args...)))
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
	return command.WithStore(ctx, e, func(store *db.Store) error {
		w, err := explain(ctx, store, name, page)
		if err != nil {
			return err
		}
		if c.JSON {
			return command.PrintJSON(e.Stdout, w)
		}
		fmt.Fprintf(e.Stdout, "%s: %s\n", w.About, command.OneLine(w.Answer))
		for _, line := range w.Because {
			fmt.Fprintf(e.Stdout, "- %s\n", line)
		}
		return nil
	})
}

func explain(ctx context.Context, store *db.Store, name string, page *urls.URL) (Why, error) {
	w := Why{About: name}
	if page != nil {
		w.About = page.String()
	}
	dom, err := store.Domain(ctx, name)
	if errors.Is(err, crawl.ErrNotFound) {
		return explainLinked(ctx, store, name, page)
	}
	if err != nil {
		return w, err
	}
	reader, err := ruling.New(store)
	outages, err2 := store.Outages(ctx)
	if err := errors.Join(err, err2); err != nil {
		return w, err
	}
	for _, o := range outages {
		w.addf("the network %s", OutageLine(o))
	}
	if page == nil {
		return w, explainDomain(ctx, store, reader, &w, dom)
	}
	if err := explainPage(ctx, store, reader, &w, *page, dom); err != nil {
		return w, err
	}
	explainState(&w, dom)
	return w, nil
}

// explainDomain says what is to become of a domain: what the activity that fetches
// its pages decides from the same facts.
func explainDomain(ctx context.Context, store *db.Store, reader *ruling.Reader, w *Why, dom report.Domain) error {
	facts, err := store.Facts(ctx, dom.Domain)
	if err != nil {
		return err
	}
	var c *crawl.CrawlFacts
	if run := decide.Pick(facts, facts.Now); run != nil {
		c = run.Crawl
	}
	full, err := reader.Facts(ctx, facts, c)
	if err != nil {
		return err
	}
	d := decide.Decide(full, facts.Now)
	w.Answer = answer(d, facts.Now)
	if d.Do == decide.Finish && d.Reason == reasons.Scheduled && d.Until.IsZero() {
		w.Answer = "no run that is running has a page of it left to request"
	}
	if d.Do == decide.Request && dom.Claimed == "" {
		w.Answer = "due: its run asks for it within seconds"
	}
	if d.Crawl != nil {
		w.addf("next in line is %s, in run %s", d.Crawl.URL, d.Run.Name)
	}
	for _, r := range facts.Runs {
		if r.Waits != "" && (d.Run == nil || r.ID != d.Run.ID) {
			w.addf("run %s does not ask it%s: %s", r.Name, untilText(r.Due), notDueText(r.Waits))
		}
	}
	explainRobots(w, dom)
	explainState(w, dom)
	return nil
}

// explainPage says what is to become of a page, in the run that has it next.
func explainPage(
	ctx context.Context, store *db.Store, reader *ruling.Reader, w *Why, u urls.URL, dom report.Domain,
) error {
	facts, err := store.PageFacts(ctx, u.Domain(), u.String())
	if err != nil {
		return err
	}
	rep, err := store.Page(ctx, u.Domain(), u.String())
	if errors.Is(err, crawl.ErrNotFound) {
		w.Answer = command.NotKnown
		return nil
	}
	if err != nil {
		return err
	}
	if err := decidePage(ctx, reader, w, facts, rep); err != nil {
		return err
	}
	fetched := false
	for _, r := range dom.Robots {
		if r.Origin == u.Origin() {
			fetched = true
			w.addf("%s", robotsLine(r))
		}
	}
	if !fetched {
		w.addf("%s/robots.txt has not been fetched yet; that comes before any page", u.Origin())
	}
	explainHistory(w, rep)
	return nil
}

// decidePage answers with the run that has the page open, else the last that had it.
func decidePage(ctx context.Context, reader *ruling.Reader, w *Why, facts crawl.Facts, rep report.Page) error {
	w.Answer = notWanted(rep)
	for _, run := range facts.Runs {
		if run.Crawl == nil {
			continue
		}
		one := facts
		one.Runs = []crawl.RunFacts{run}
		full, err := reader.Facts(ctx, one, run.Crawl)
		if err != nil {
			return err
		}
		d := decide.Crawl(full, facts.Now)
		if r := full.Ruling; r != nil {
			w.addf("%s", rulingLine(*r))
		}
		if d.Do == decide.Done {
			continue
		}
		w.Answer = answer(d, facts.Now)
		return nil
	}
	if rep.Trap.Rule != "" {
		w.Answer = "not crawled: it is taken for a part of an endless space"
	} else if len(rep.Crawls) > 0 {
		last := rep.Crawls[0]
		w.Answer = fmt.Sprintf("done in run %s: %s on %s", last.Run, result(last), command.Stamp(last.CompletedAt))
	}
	return nil
}

// answer puts a decision in words.
func answer(d decide.Decision, now time.Time) string {
	until := ""
	if !d.Until.IsZero() {
		until = fmt.Sprintf(" until %s, in %s", command.Stamp(d.Until), d.Until.Sub(now).Round(100*time.Millisecond))
	}
	switch d.Do {
	case decide.Request:
		return "pending: it will be requested in its turn"
	case decide.FetchPrerequisite, decide.Probe:
		return "pending: " + d.Why
	case decide.Skip:
		return "pending, but it will be skipped: " + d.Why
	case decide.Refuse:
		return "pending, but its publisher forbids it: " + d.Why
	case decide.DeferOrigin:
		return "pending, but put off" + until + ": " + d.Why
	case decide.DeferDomain:
		return "its domain is deferred" + until + " (" + string(d.Reason) + ")"
	case decide.Wait:
		switch {
		case d.Reason == reasons.InFlight && d.Crawl != nil && d.Crawl.LockedAt.IsZero():
			return "pending: a request to its domain is in flight just now"
		case d.Reason == reasons.InFlight:
			return "in flight: " + d.Why
		case d.Until.IsZero():
			return "waiting: " + d.Why
		}
		return fmt.Sprintf("waiting%s: %s (%s)", until, d.Why, d.Reason)
	case decide.Finish, decide.Done:
	}
	switch d.Reason { //nolint:exhaustive // the others are not waited for
	case reasons.Scheduled:
		return "waiting" + until + ": " + d.Why
	case reasons.Window:
		return fmt.Sprintf("waiting%s: %s (%s)", until, d.Why, d.Reason)
	}
	return "not crawled" + until + ": " + d.Why
}

// rulingLine says what robots.txt says of a page, and by which line.
func rulingLine(r decide.Ruling) string {
	switch {
	case r.Rule == "" && r.Allowed:
		return "robots.txt allows it: no line matches"
	case r.Allowed:
		return fmt.Sprintf("robots.txt allows it by line %d: %s", r.Line, r.Rule)
	default:
		return fmt.Sprintf("robots.txt forbids it by line %d: %s", r.Line, r.Rule)
	}
}

func explainRobots(w *Why, d report.Domain) {
	if len(d.Robots) == 0 {
		w.addf("its robots.txt has not been fetched yet; that comes before any page")
	}
	for _, r := range d.Robots {
		w.addf("%s", robotsLine(r))
	}
}

func robotsLine(r report.Robots) string {
	line := fmt.Sprintf("robots.txt of %s: %s", r.Origin, r.Verdict)
	if r.CrawlDelay != nil {
		line += ", crawl-delay " + r.CrawlDelay.String()
	}
	if r.Reason != "" {
		line += " (" + r.Reason + ")"
	}
	if time.Until(r.ExpiresAt) <= 0 {
		return line + "; expired on " + command.Stamp(r.ExpiresAt) + " and is fetched again before the next page"
	}
	return line + "; holds until " + command.Stamp(r.ExpiresAt)
}

// explainHistory tells what has become of a page so far.
func explainHistory(w *Why, p report.Page) {
	for _, c := range p.Crawls {
		if c.Outcome == "" {
			since := "since"
			if time.Until(c.ScheduledFor) > 0 {
				since = "from"
			}
			w.addf("run %s: due %s %s, %s from a seed", c.Run, since, command.Stamp(c.ScheduledFor), command.Count(int64(c.Depth), "link"))
			continue
		}
		line := fmt.Sprintf("run %s: %s on %s", c.Run, result(c), command.Stamp(c.CompletedAt))
		if c.Error != "" {
			line += ": " + c.Error
		}
		w.addf("%s", line)
	}
	if p.Trap.Rule != "" {
		w.addf("it is taken for a trap by its %s: %s; seeding it has it crawled all the same", p.Trap.Rule, p.Trap.Evidence)
	}
	switch {
	case !p.FetchedAt.IsZero() && p.Extractor < crawl.ExtractorVersion:
		w.addf("an older Mosey has read it, on %s, and there is more to find on it now: a run asks again once its min_refetch "+
			"has passed since, whatever its server said", command.Stamp(p.FetchedAt))
	case !p.FetchedAt.IsZero() && time.Until(p.FreshUntil) > 0:
		w.addf("its server said on %s that it stays as it is until %s; no run asks before",
			command.Stamp(p.FetchedAt), command.Stamp(p.FreshUntil))
	case !p.FetchedAt.IsZero():
		w.addf("it was last fetched on %s; a run asks again once its min_refetch has passed since", command.Stamp(p.FetchedAt))
	}
	explainUsage(w, p)
	if p.RedirectTo != "" {
		w.addf("it redirects to %s", p.RedirectTo)
	}
	w.addf("links to it: %d", p.LinksIn)
	explainImage(w, p)
	if len(p.Crawls) == 0 {
		explainFinders(w, p)
	}
}

// explainState tells how a domain is, whatever is next.
func explainState(w *Why, d report.Domain) {
	status := fmt.Sprintf("domain %s is %s", d.Domain, d.Status)
	if d.Reason != "" {
		status += " (" + d.Reason + ")"
	}
	w.addf("%s; %s pending", status, command.Count(d.Pending, "page"))
	for _, c := range telling(d.Controls) {
		w.addf("%s", ControlLine(c))
	}
	if time.Until(d.DeferredUntil) > 0 {
		w.addf("it is deferred until %s", command.Stamp(d.DeferredUntil))
	}
	if left := time.Until(d.SlotFree); left > 0 && d.SlotReason == reasons.InFlight {
		w.addf("a request to it is in flight, and is over by %s at the latest", command.Stamp(d.SlotFree))
	} else if left > 0 {
		w.addf("it may not be asked before %s, in %s: %s", command.Stamp(d.SlotFree), left.Round(100*time.Millisecond), d.SlotReason)
	} else if !d.SlotFree.IsZero() {
		w.addf("it may be asked: its slot has been free since %s", command.Stamp(d.SlotFree))
	}
	w.addf("its health: %s", politeness.Describe(d.Health))
	for _, t := range d.Traps {
		w.addf("a trap: %s; of these the next run tries some again, and after mosey set %s --reset-traps this one does", t.Evidence, d.Domain)
	}
	for _, r := range d.Runs {
		line := fmt.Sprintf("run %s is %s", r.Run, r.Status)
		if r.BudgetSpent {
			line += ", its budget is spent"
		}
		if r.Budget >= 0 {
			line += fmt.Sprintf(", %d of %s of this domain requested", r.Started, command.Count(r.Budget, "page"))
		}
		w.addf("%s: %s", line, Tally(r.Totals))
		if r.Window != "" {
			w.addf("%s", windowLine("run "+r.Run+" crawls only", r.Window))
		}
	}
}

// telling leaves out what was set to nothing: it bears on nothing.
func telling(cs crawl.Controls) crawl.Controls {
	return slices.DeleteFunc(slices.Clone(cs), func(c crawl.Control) bool {
		one := crawl.Controls{c}
		return c.Type == crawl.ControlDelay && one.Delay() == 0 || c.Type == crawl.ControlWindow && one.Window() == ""
	})
}

// windowLine says when a window lets a domain be asked.
func windowLine(what, text string) string {
	line := what + " " + text
	w, err := politeness.ParseWindows(text)
	if err != nil {
		return line + ": " + err.Error()
	}
	now := time.Now()
	if wait := w.Wait(now); wait > 0 {
		return fmt.Sprintf("%s: not before %s", line, command.Stamp(now.Add(wait)))
	}
	if closes, ok := w.Closes(now); ok {
		return fmt.Sprintf("%s: now, until %s", line, command.Stamp(closes))
	}
	return line + ": now"
}

// explainUsage says what the page's publisher forbids.
func explainUsage(w *Why, r report.Page) {
	if len(r.Usage) == 0 {
		return
	}
	var p usage.Usage
	if err := json.Unmarshal(r.Usage, &p); err != nil {
		w.addf("what its publisher says cannot be read: %s", err)
		return
	}
	for _, purpose := range []settings.Purpose{settings.PurposeSearch, settings.PurposeAITrain, settings.PurposeArchive} {
		if allowed, why := usage.Allows(purpose, p); !allowed {
			w.addf("%s", why)
		}
	}
	if indexable, why := usage.Indexable(p, time.Now()); !indexable {
		w.addf("%s", why)
	}
	if follow, why := usage.FollowLinks(p); !follow {
		w.addf("%s", why)
	}
}
