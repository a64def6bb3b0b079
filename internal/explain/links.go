package explain

import (
	"context"
	"errors"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
)

// explainLinked explains a domain that no run has, or a page of one: its pages may be
// known from links.
func explainLinked(ctx context.Context, store Store, name string, page *urls.URL) (Why, error) {
	w := Why{About: name, Answer: NotKnown}
	known, url, err := store.KnownPages(ctx, name)
	if err != nil {
		return w, err
	}
	if page != nil {
		w.About, url = page.String(), page.String()
	}
	rep, err := store.Page(ctx, name, url)
	if errors.Is(err, crawl.ErrNotFound) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	w.Answer = notWanted(rep)
	if page == nil {
		many := Count(known, "page")
		if known >= report.FrontierBound {
			many = "at least " + many
		}
		w.Answer = "known from links alone, to " + many + " of it, and no run wants it"
		w.addf("of %s: %s", url, notWanted(rep))
	}
	if page != nil {
		explainImage(&w, rep)
	}
	explainFinders(&w, rep)
	return w, nil
}

// notWanted answers for a page that is known from links and part of no run.
func notWanted(p report.Page) string {
	if p.Image != nil && p.LinksIn == 0 {
		return notWantedImage(*p.Image)
	}
	const answer = "known from links, but no run wants it: "
	if p.LinksIn > 0 && p.NoFollowIn == p.LinksIn {
		return answer + "every link to it says nofollow"
	}
	for _, f := range p.Finders {
		if reason := decide.NotFollowed(f); reason != "" {
			return answer + reason
		}
	}
	return answer + "it was not followed when the link to it was read; seeding it has it crawled"
}

// explainFinders tells for each run that has found a page why it leaves it alone.
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
