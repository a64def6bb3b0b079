package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/robots"
)

// whyCmd explains a page or a domain from what is stored.
type whyCmd struct {
	What string `arg:"" name:"url|domain" help:"A page's URL, or a domain such as example.org."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// why is the explanation: one sentence a line, the answer first.
type why struct {
	About   string   `json:"about"`
	Answer  string   `json:"answer"`
	Because []string `json:"because"`
}

func (w *why) addf(format string, args ...any) {
	w.Because = append(w.Because, fmt.Sprintf(format, args...))
}

// Run prints the explanation.
func (c *whyCmd) Run(ctx context.Context, e *env) error {
	var page *urls.URL
	name := ""
	if strings.Contains(c.What, "://") {
		u, err := urls.Parse(c.What)
		if err != nil {
			return usagef("%w: want an absolute http or https URL, such as https://example.org/", err)
		}
		page, name = &u, u.Domain()
	} else {
		var err error
		if name, err = urls.DomainOf(c.What); err != nil {
			return usagef("domain: %w: want a URL, or a host name such as example.org", err)
		}
	}
	return withStore(ctx, e, func(store *db.Store) error {
		w, err := explain(ctx, store, name, page)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(e.stdout, w)
		}
		fmt.Fprintf(e.stdout, "%s: %s\n", w.About, w.Answer)
		for _, line := range w.Because {
			fmt.Fprintf(e.stdout, "- %s\n", line)
		}
		return nil
	})
}

func explain(ctx context.Context, store *db.Store, name string, page *urls.URL) (why, error) {
	w := why{About: name}
	dom, err := store.Domain(ctx, name)
	if errors.Is(err, crawl.ErrNotFound) {
		w.Answer = "not known: it was never seeded, and no page links there that a run may follow"
		return w, nil
	}
	if err != nil {
		return w, err
	}
	if page == nil {
		w.Answer = domainAnswer(dom)
		explainRobots(&w, dom)
		explainDomain(&w, dom)
		return w, nil
	}
	w.About = page.String()
	allowed, err := explainRules(ctx, store, &w, *page)
	if err != nil {
		return w, err
	}
	rep, err := store.Page(ctx, page.String())
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		w.Answer = "not known: it was never seeded, and no crawled page links to it"
	case err != nil:
		return w, err
	default:
		w.Answer = pageAnswer(rep, dom, allowed)
		explainPage(&w, rep)
	}
	explainDomain(&w, dom)
	return w, nil
}

// explainRules says what robots.txt says of a page, and by which line.
func explainRules(ctx context.Context, store *db.Store, w *why, u urls.URL) (allowed bool, err error) {
	r, err := store.Robots(ctx, u.Origin())
	if errors.Is(err, crawl.ErrNotFound) {
		w.addf("%s/robots.txt has not been fetched yet; nothing else is before", u.Origin())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	expiry := "holds until " + stamp(r.ExpiresAt)
	if r.Fresh <= 0 {
		expiry = "expired on " + stamp(r.ExpiresAt) + " and is fetched again before the next page"
	}
	switch r.Verdict {
	case crawl.RobotsAllowAll:
		w.addf("robots.txt allows it: %s; %s", r.Reason, expiry)
		return true, nil
	case crawl.RobotsRules:
		d := robots.Restore(r.Rules).Decide(u.RequestTarget())
		switch {
		case d.Rule == "":
			w.addf("robots.txt allows it: no line for %q matches; %s", r.Agent, expiry)
		case d.Allowed:
			w.addf("robots.txt allows it by line %d: %s; %s", d.Line, d.Rule, expiry)
		default:
			w.addf("robots.txt forbids it by line %d: %s; %s", d.Line, d.Rule, expiry)
		}
		return d.Allowed, nil
	case crawl.RobotsDisallowAll, crawl.RobotsUnreachable, crawl.RobotsUnknown:
	}
	w.addf("nothing of %s is fetched: robots.txt %s; %s", r.Origin, r.Reason, expiry)
	return false, nil
}

func explainRobots(w *why, d crawl.DomainReport) {
	if len(d.Robots) == 0 {
		w.addf("no robots.txt of it has been fetched yet; nothing else is before")
	}
	for _, r := range d.Robots {
		line := fmt.Sprintf("robots.txt of %s: %s", r.Origin, r.Verdict)
		if r.CrawlDelay != nil {
			line += ", crawl-delay " + r.CrawlDelay.String()
		}
		if r.Reason != "" {
			line += " (" + r.Reason + ")"
		}
		w.addf("%s; until %s", line, stamp(r.ExpiresAt))
	}
}

func pageAnswer(p crawl.PageReport, d crawl.DomainReport, allowed bool) string {
	for _, c := range p.Crawls {
		switch {
		case c.Outcome == "" && !c.LockedAt.IsZero():
			return "it is being requested just now"
		case c.Outcome == "" && d.Status == crawl.DomainBlocked:
			return "not crawled: its domain is blocked"
		case c.Outcome == "" && !allowed:
			return "pending, but robots.txt keeps it from being requested"
		case c.Outcome == "":
			return "pending: it will be requested in its turn"
		}
	}
	if p.Trap.Kind != "" {
		return "not crawled: it is taken for a part of an endless space"
	}
	if len(p.Crawls) == 0 {
		return "known from links, but no run wants it: it is out of their scope or depth"
	}
	last := p.Crawls[0]
	return fmt.Sprintf("done in run %s: %s on %s", last.Run, result(last), stamp(last.CompletedAt))
}

func explainPage(w *why, p crawl.PageReport) {
	for _, c := range p.Crawls {
		if c.Outcome == "" {
			w.addf("run %s: due since or from %s, %d links from a seed", c.Run, stamp(c.ScheduledFor), c.Depth)
			continue
		}
		line := fmt.Sprintf("run %s: %s on %s", c.Run, result(c), stamp(c.CompletedAt))
		if c.Error != "" {
			line += ": " + c.Error
		}
		w.addf("%s", line)
	}
	if p.Trap.Kind != "" {
		w.addf("it is taken for a trap by its %s: %s; seeding it has it crawled all the same", p.Trap.Kind, p.Trap.Evidence)
	}
	switch {
	case !p.FetchedAt.IsZero() && time.Until(p.FreshUntil) > 0:
		w.addf("its server said on %s that it stays as it is until %s; no run asks before", stamp(p.FetchedAt), stamp(p.FreshUntil))
	case !p.FetchedAt.IsZero():
		w.addf("it was last fetched on %s; a run asks again once its --min-refetch has passed since", stamp(p.FetchedAt))
	}
	explainPermits(w, p)
	if p.RedirectTo != "" {
		w.addf("it redirects to %s", p.RedirectTo)
	}
	w.addf("%d pages link to it", p.LinksIn)
}

func domainAnswer(d crawl.DomainReport) string {
	left := time.Until(d.SlotFree)
	opens := windowOpens(d)
	switch {
	case d.Status == crawl.DomainBlocked:
		return "not crawled: it is blocked (" + d.Reason + ")"
	case time.Until(d.PutAway) > 0:
		return fmt.Sprintf("put away until %s (%s)", stamp(d.PutAway), d.Reason)
	case d.Pending == 0:
		return "nothing of it is pending"
	case opens > left:
		return "waiting: its window opens on " + stamp(time.Now().Add(opens))
	case left > 0:
		return fmt.Sprintf("waiting: the next request is due in %s (%s)", left.Round(100*time.Millisecond), d.SlotReason)
	case time.Until(d.NextDue) > 0:
		return "waiting: its next page is due on " + stamp(d.NextDue)
	case d.Claimed == "":
		return "due: a run that is running starts it within seconds"
	default:
		return "due: it is about to be asked"
	}
}

func explainDomain(w *why, d crawl.DomainReport) {
	status := fmt.Sprintf("domain %s is %s", d.Domain, d.Status)
	if d.Reason != "" {
		status += " (" + d.Reason + ")"
	}
	w.addf("%s; %d pages pending", status, d.Pending)
	if d.Delay != nil {
		w.addf("a person has set its delay to at least %s", d.Delay)
	}
	if d.Window != "" {
		w.addf("%s", windowLine("a person lets it be asked only", d.Window))
	}
	if time.Until(d.PutAway) > 0 {
		w.addf("it is put away until %s", stamp(d.PutAway))
	}
	if left := time.Until(d.SlotFree); left > 0 {
		w.addf("it may not be asked before %s, in %s: %s", stamp(d.SlotFree), left.Round(100*time.Millisecond), d.SlotReason)
	} else if !d.SlotFree.IsZero() {
		w.addf("it may be asked: its slot has been free since %s", stamp(d.SlotFree))
	}
	w.addf("its health: %s", politeness.Describe(d.Health))
	for _, t := range d.Traps {
		w.addf("a trap: %s; no more of them are requested", t.Evidence)
	}
	for _, r := range d.Runs {
		line := fmt.Sprintf("run %s is %s", r.Run, r.Status)
		if r.BudgetSpent() {
			line += ", its budget is spent"
		}
		if r.Budget >= 0 {
			line += fmt.Sprintf(", %d of %d pages of this domain requested", r.Started, r.Budget)
		}
		w.addf("%s: %s", line, outcomes(r.Totals))
		if r.Window != "" {
			w.addf("%s", windowLine("run "+r.Run+" crawls only", r.Window))
		}
	}
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
		return fmt.Sprintf("%s: not before %s", line, stamp(now.Add(wait)))
	}
	if closes, ok := w.Closes(now); ok {
		return fmt.Sprintf("%s: now, until %s", line, stamp(closes))
	}
	return line + ": now"
}

// explainPermits says what the page's publisher forbids.
func explainPermits(w *why, r crawl.PageReport) {
	if len(r.Permits) == 0 {
		return
	}
	var p usage.Usage
	if err := json.Unmarshal(r.Permits, &p); err != nil {
		w.addf("what its publisher says cannot be read: %s", err)
		return
	}
	for _, purpose := range []crawl.Purpose{crawl.PurposeSearch, crawl.PurposeAITrain, crawl.PurposeArchive} {
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

// windowOpens is how long it is until the domain and all runs that are running may
// ask it.
func windowOpens(d crawl.DomainReport) time.Duration {
	texts := []string{d.Window}
	for _, r := range d.Runs {
		if r.Status == crawl.RunRunning {
			texts = append(texts, r.Window)
		}
	}
	var all []politeness.Windows
	for _, text := range texts {
		// what cannot be read is said where the window is shown
		if w, err := politeness.ParseWindows(text); text != "" && err == nil {
			all = append(all, w)
		}
	}
	return politeness.WaitAll(time.Now(), all)
}
