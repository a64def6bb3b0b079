package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
)

func explainHistory(w *Why, p report.Page) {
	for _, c := range p.Crawls {
		if c.Outcome == "" {
			since := "since"
			if time.Until(c.ScheduledFor) > 0 {
				since = "from"
			}
			w.addf("run %s: due %s %s, %s from a seed", c.Run, since, StampIn(c.ScheduledFor, w.zone), Count(int64(c.Depth), "link"))
			continue
		}
		line := fmt.Sprintf("run %s: %s on %s", c.Run, Attempt(c), StampIn(c.CompletedAt, w.zone))
		if c.Error != "" {
			line += ": " + c.Error
		}
		w.addf("%s", line)
	}
	if p.Trap.Rule != "" {
		w.addf("classified as a trap (%s): %s; seed the page to crawl it anyway", p.Trap.Rule, p.Trap.Evidence)
	}
	switch {
	case !p.FetchedAt.IsZero() && p.Extractor < crawl.ExtractorVersion:
		w.addf("an older version of Mosey read the page on %s: a run requests it again as soon as its min_refetch "+
			"has passed, even if the response is still fresh", StampIn(p.FetchedAt, w.zone))
	case !p.FetchedAt.IsZero() && time.Until(p.FreshUntil) > 0:
		w.addf("the response of %s is fresh until %s; no run requests the page before then",
			StampIn(p.FetchedAt, w.zone), StampIn(p.FreshUntil, w.zone))
	case !p.FetchedAt.IsZero():
		w.addf("last fetched on %s; a run requests the page again after its min_refetch", StampIn(p.FetchedAt, w.zone))
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

func explainState(w *Why, d report.Domain) {
	status := fmt.Sprintf("domain %s is %s", d.Domain, d.Status)
	if d.Reason != "" {
		status += " (" + d.Reason + ")"
	}
	pending := Count(d.Pending, "page")
	if d.HasMorePending {
		pending = "more than " + pending
	}
	w.addf("%s; %s pending", status, pending)
	for _, c := range EffectiveControls(d.Controls) {
		w.addf("%s", Control(c, w.zone))
	}
	if d.Forgotten != nil {
		w.addf("%s", ErasureSummary(*d.Forgotten, w.zone))
	}
	if d.Moved != nil {
		w.addf("history: %s", MovedHistory(*d.Moved, w.zone))
	}
	if time.Until(d.DeferredUntil) > 0 {
		w.addf("the domain is deferred until %s", StampIn(d.DeferredUntil, w.zone))
	}
	if left := time.Until(d.SlotFree); left > 0 && d.SlotReason == reasons.InFlight && w.hasWorker {
		w.addf("a request to the domain is in flight, and ends by %s at the latest", StampIn(d.SlotFree, w.zone))
	} else if left > 0 {
		w.addf("the domain may not be requested before %s, in %s: %s",
			StampIn(d.SlotFree, w.zone), left.Round(100*time.Millisecond), d.SlotReason)
	} else if !d.SlotFree.IsZero() {
		w.addf("no delay holds the domain: the next request is allowed since %s", StampIn(d.SlotFree, w.zone))
	}
	w.addf("health: %s", politeness.Describe(d.Health))
	for _, t := range d.Traps {
		w.addf("trap: %s; the next run retries some of these pages; mosey set %s --reset-traps retries them in this run", t.Evidence, d.Domain)
	}
	for _, r := range d.Runs {
		line := fmt.Sprintf("run %s is %s", r.Run, r.Status)
		if r.BudgetSpent {
			line += ", budget spent"
		}
		if r.Budget >= 0 {
			line += fmt.Sprintf(", %d of %s of this domain requested", r.Started, Count(r.Budget, "page"))
		}
		w.addf("%s: %s", line, Tally(r.Totals))
		if r.Window != "" {
			w.addf("%s", windowLine("run "+r.Run+" crawls only", r.Window, w.zone))
		}
	}
}

// explainUsage describes the publisher's restrictions.
func explainUsage(w *Why, r report.Page) {
	if len(r.Usage) == 0 {
		return
	}
	var p usage.Usage
	if err := json.Unmarshal(r.Usage, &p); err != nil {
		w.addf("the publisher's signals cannot be read: %s", err)
		return
	}
	for _, purpose := range []settings.Purpose{settings.PurposeSearch, settings.PurposeAITrain, settings.PurposeArchive} {
		if allowed, reason := usage.Allows(purpose, p); !allowed {
			w.addf("%s", reason)
		}
	}
	if allowed, reason := usage.AllowsCopies(p); !allowed {
		w.addf("%s", reason)
	}
	if indexable, reason := usage.Indexable(p, time.Now()); !indexable {
		w.addf("%s", reason)
	}
	if follow, reason := usage.FollowLinks(p); !follow {
		w.addf("%s", reason)
	}
	if p.Terms != "" {
		w.addf("%s", OneLine("the site has terms of service: "+p.Terms))
	}
	if p.License != "" {
		w.addf("%s", OneLine(fmt.Sprintf("licence, by %s: %s", p.LicenseBy, p.License)))
	}
}

// explainLinked explains a domain without a run, or one of its pages, perhaps known from links.
func explainLinked(ctx context.Context, store Store, name string, page *urls.URL, zone *time.Location) (Why, error) {
	w := Why{About: name, zone: zone}
	known, url, err := store.KnownPages(ctx, name)
	if page != nil {
		w.About, url = page.String(), page.String()
	}
	facts, err2 := store.PageFacts(ctx, name, url)
	if err := errors.Join(err, err2); err != nil {
		return w, err
	}
	rep, err := store.Page(ctx, name, url)
	if errors.Is(err, crawl.ErrNotFound) {
		w.explainUnwanted(facts, UnknownPage)
		return w, nil
	}
	if err != nil {
		return w, err
	}
	if page != nil {
		w.Page = &rep
		w.explainUnwanted(facts, unwantedReason(rep))
		explainImage(&w, rep)
	} else {
		count := Count(known, "page")
		if known >= report.FrontierBound {
			count = "at least " + count
		}
		w.explainUnwanted(facts, "known only from links, to "+count+" of the domain; no run requests it")
		w.addf("of %s: %s", url, unwantedReason(rep))
	}
	explainFinders(&w, rep)
	return w, nil
}

// unwantedReason explains a page of no run, known from links or as an image.
func unwantedReason(p report.Page) string {
	if p.Image != nil && p.LinksIn == 0 {
		const summary = "known as an image, but no run requests it: "
		if p.Image.Discovery == crawl.DiscoveryIcon {
			return summary + "icons are not requested"
		}
		return summary + "its host exceeded the run's image_scope or limits when the page that names it was read"
	}
	const summary = "known from links, but no run requests it: "
	if p.LinksIn > 0 && p.NoFollowIn == p.LinksIn {
		return summary + "every link to it says nofollow"
	}
	for _, f := range p.Finders {
		if reason := decide.NotFollowed(f); reason != "" {
			return summary + reason
		}
	}
	return summary + "the link to it was not followed when it was read; seed the page to crawl it"
}

// explainFinders explains why each run that found a page skips it.
func explainFinders(w *Why, p report.Page) {
	if p.NoFollowIn > 0 {
		w.addf("%d of %s to it say nofollow", p.NoFollowIn, Count(p.LinksIn, "link"))
	}
	for _, f := range p.Finders {
		if reason := decide.NotFollowed(f); reason != "" {
			w.addf("%s", reason)
		}
	}
}

// explainImage describes the pages that name an image, and its state.
func explainImage(w *Why, p report.Page) {
	if p.Image == nil {
		return
	}
	w.addf("%s", ImagePageCount(*p.Image))
	switch i := *p.Image; {
	case i.Problem != "":
		w.addf("the last fetch returned no usable image: %s", i.Problem)
	case i.SHA256 != "":
		w.addf("recorded: %s", ImageContent(i))
	}
}

// ImagePageCount counts the pages that name an image.
func ImagePageCount(i report.Image) string {
	if i.Pages == 0 {
		return "no page names it as an image any more"
	}
	noun, count := "an image", Count(i.Pages, "page")
	if i.Discovery == crawl.DiscoveryIcon {
		noun = "an icon"
	}
	if i.Pages >= report.ImagePagesBound {
		count = "at least " + count
	}
	return fmt.Sprintf("named as %s by %s, first %s", noun, count, i.Source)
}

// ImageContent describes the recorded content of an image.
func ImageContent(i report.Image) string {
	text := fmt.Sprintf("%d×%d %s, %s", i.Width, i.Height, i.Format, Size(i.Bytes))
	if !i.StoredAt.IsZero() {
		text += ", stored as " + i.SHA256
	}
	return text
}

// ImageCounts counts the images of a page.
func ImageCounts(c crawl.ImageCounts) string {
	text := fmt.Sprintf("%d named", c.Named)
	if c.Dropped > 0 {
		text += fmt.Sprintf(", %d left out", c.Dropped)
	}
	if c.Data > 0 {
		text += fmt.Sprintf(", %d in the page itself", c.Data)
	}
	if c.SVG > 0 {
		text += ", " + Count(int64(c.SVG), "drawing") + " (SVG)"
	}
	return text
}
