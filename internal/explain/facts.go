package explain

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

func explainRobots(w *Why, d report.Domain) {
	if len(d.Robots) == 0 {
		w.addf("its robots.txt has not been fetched yet; that comes before any page")
	}
	for _, r := range d.Robots {
		w.addf("%s", Robots(r))
	}
}

// explainHistory tells what has become of a page so far.
func explainHistory(w *Why, p report.Page) {
	for _, c := range p.Crawls {
		if c.Outcome == "" {
			since := "since"
			if time.Until(c.ScheduledFor) > 0 {
				since = "from"
			}
			w.addf("run %s: due %s %s, %s from a seed", c.Run, since, Stamp(c.ScheduledFor), Count(int64(c.Depth), "link"))
			continue
		}
		line := fmt.Sprintf("run %s: %s on %s", c.Run, Attempt(c), Stamp(c.CompletedAt))
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
			"has passed since, whatever its server said", Stamp(p.FetchedAt))
	case !p.FetchedAt.IsZero() && time.Until(p.FreshUntil) > 0:
		w.addf("its server said on %s that it stays as it is until %s; no run asks before",
			Stamp(p.FetchedAt), Stamp(p.FreshUntil))
	case !p.FetchedAt.IsZero():
		w.addf("it was last fetched on %s; a run asks again once its min_refetch has passed since", Stamp(p.FetchedAt))
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
	pending := Count(d.Pending, "page")
	if d.PendingMore {
		pending = "more than " + pending
	}
	w.addf("%s; %s pending", status, pending)
	for _, c := range Telling(d.Controls) {
		w.addf("%s", Control(c))
	}
	if d.Forgotten != nil {
		w.addf("%s", Forgotten(*d.Forgotten))
	}
	if time.Until(d.DeferredUntil) > 0 {
		w.addf("it is deferred until %s", Stamp(d.DeferredUntil))
	}
	if left := time.Until(d.SlotFree); left > 0 && d.SlotReason == reasons.InFlight {
		w.addf("a request to it is in flight, and is over by %s at the latest", Stamp(d.SlotFree))
	} else if left > 0 {
		w.addf("it may not be asked before %s, in %s: %s", Stamp(d.SlotFree), left.Round(100*time.Millisecond), d.SlotReason)
	} else if !d.SlotFree.IsZero() {
		w.addf("it may be asked: its slot has been free since %s", Stamp(d.SlotFree))
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
			line += fmt.Sprintf(", %d of %s of this domain requested", r.Started, Count(r.Budget, "page"))
		}
		w.addf("%s: %s", line, Tally(r.Totals))
		if r.Window != "" {
			w.addf("%s", windowLine("run "+r.Run+" crawls only", r.Window))
		}
	}
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
	if p.Terms != "" {
		w.addf("%s", OneLine("its site has terms of service: "+p.Terms))
	}
	if p.License != "" {
		w.addf("%s", OneLine(fmt.Sprintf("it has a licence, by %s: %s", p.LicenseBy, p.License)))
	}
}
