package export

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// page is a page with its publisher's restrictions.
type page struct {
	report.PageRow

	said usage.Usage
}

// pageOf drops the fields that must not be shown now.
func pageOf(r report.PageRow, now time.Time) (page, error) {
	p := page{PageRow: r}
	if r.Usage != nil {
		if err := json.Unmarshal(r.Usage, &p.said); err != nil {
			return p, fmt.Errorf("read the usage of %s: %w", r.URL, err)
		}
	}
	indexable, _ := usage.Indexable(p.said, now)
	allowed, _ := usage.Allows(settings.PurposeSearch, p.said)
	if r.NoIndex || !indexable || !allowed {
		p.Language, p.Signals = "", crawl.Signals{}
	}
	if p.said.NoSnippet.Said() {
		p.Description = ""
	}
	return p, nil
}

func readPages(s Store) reader[page] {
	return func(ctx context.Context, f filter, after key) ([]page, key, error) {
		rows, next, err := s.ExportPages(ctx, f, after)
		if err != nil {
			return nil, after, err
		}
		pages, now := make([]page, len(rows)), time.Now()
		for i, r := range rows {
			if pages[i], err = pageOf(r, now); err != nil {
				return nil, after, err
			}
		}
		return pages, next, nil
	}
}

func pageColumns() []column[page] {
	said := func(name, doc string, get func(*usage.Usage) usage.Source) column[page] {
		return flag(name, doc, func(p *page) bool { return get(&p.said).Said() })
	}
	signal := func(name, doc string, get func(*usage.ContentSignals) usage.Signal) column[page] {
		return few(maybeText(name, doc, func(p *page) string { return string(get(&p.said.ContentSignals).Answer) }))
	}
	return []column[page]{
		number("id", "names the page", func(p *page) int64 { return p.ID }),
		text("url", "canonical URL", func(p *page) string { return p.URL }),
		few(text("domain", "host, without `www.`", func(p *page) string { return p.Domain })),
		few(text("origin", "scheme, host and port", func(p *page) string { return p.Origin })),
		few(text("kind", "what is fetched: "+kinds.Names(),
			func(p *page) string { return string(p.Kind) })),
		few(text("status", "`discovered`, `fetched`, `failed`", func(p *page) string { return p.Status })),
		few(maybeText("outcome", "that of the last attempt, as in `crawls`, skipped ones apart",
			func(p *page) string { return string(p.Outcome) })),
		positive("status_code", "HTTP status of the last attempt", func(p *page) int64 { return int64(p.StatusCode) }),
		few(maybeText("content_type", "as the server said then", func(p *page) string { return p.ContentType })),
		few(maybeText("language", "tag of BCP 47, such as `en` or `pt-BR` †", func(p *page) string { return p.Language })),
		maybeText("title", "what the page is called †", func(p *page) string { return p.Title }),
		maybeText("description", "what it says it is about; null where `nosnippet` †", func(p *page) string { return p.Description }),
		maybeInstant("published", "when it says it was published †", func(p *page) time.Time { return p.Published }),
		maybeInstant("modified", "when it says it was modified †", func(p *page) time.Time { return p.Modified }),
		maybeText("canonical_url", "URL that it gives itself †", func(p *page) string { return p.Canonical }),
		few(maybeText("generator", "what it says it was made with †", func(p *page) string { return p.Generator })),
		few(maybeText("icon", "URL of its site's icon †", func(p *page) string { return p.Icon })),
		texts("feeds", "URLs of its feeds †", func(p *page) []string { return p.Feeds }),
		flag("noindex", "whether its publisher wants it in no index", func(p *page) bool { return p.NoIndex || p.said.NoIndex.Said() }),
		flag("nofollow", "wants none of its links followed", func(p *page) bool { return p.NoFollow }),
		said("noarchive", "wants no copies kept", func(u *usage.Usage) usage.Source { return u.NoArchive }),
		said("nosnippet", "wants no extracts shown", func(u *usage.Usage) usage.Source { return u.NoSnippet }),
		said("noai", "wants no model trained on it", func(u *usage.Usage) usage.Source { return u.NoAI }),
		said("tdm_reserved", "reserves text and data mining", func(u *usage.Usage) usage.Source { return u.TDMReserved }),
		few(maybeText("tdm_policy", "URL of the terms for that", func(p *page) string { return p.said.TDMPolicy })),
		few(maybeText("terms", "URL of the site's terms of service, as `Link: rel=\"terms-of-service\"` names it",
			func(p *page) string { return p.said.Terms })),
		few(maybeText("license", "URL of its licence, as `rel=\"license\"` in it or its header, or `License` in robots.txt, names it",
			func(p *page) string { return p.said.License })),
		maybeInstant("unavailable_after", "wants it in no index afterwards", func(p *page) time.Time { return p.said.UnavailableAfter }),
		signal("signal_search", "`yes` or `no`: `Content-Signal` for search", func(c *usage.ContentSignals) usage.Signal { return c.Search }),
		signal("signal_ai_input", "for the input of models", func(c *usage.ContentSignals) usage.Signal { return c.AIInput }),
		signal("signal_ai_train", "for the training of models", func(c *usage.ContentSignals) usage.Signal { return c.AITrain }),
		flag("duplicate", "whether its last visit brought nothing that another page had not", func(p *page) bool { return p.Duplicate }),
		few(maybeText("trap", "why it is taken for a part of an endless space", func(p *page) string { return p.Trap })),
		maybeText("content_hash", "fingerprint of its content, in hexadecimal", func(p *page) string { return hex.EncodeToString(p.Content) }),
		maybeText("simhash", "64 bits in hexadecimal, few of which differ between pages that say nearly the same", simHash),
		positive("extractor", "version of the extractor that has read it", func(p *page) int64 { return int64(p.Extractor) }),
		maybeInstant("last_modified", "as its server says", func(p *page) time.Time { return p.LastModified }),
		maybeInstant("fresh_until", "its server says that it does not change before", func(p *page) time.Time { return p.FreshUntil }),
		instant("found_at", "when it was first heard of", func(p *page) time.Time { return p.FoundAt }),
		maybeInstant("fetched_at", "when it was last read, or found unchanged", func(p *page) time.Time { return p.FetchedAt }),
		maybeInstant("failed_at", "when it last failed", func(p *page) time.Time { return p.FailedAt }),
	}
}

// simHash returns text, because readers with floating-point numbers would round 64 bits.
func simHash(p *page) string {
	if p.SimHash == nil {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(*p.SimHash)) //nolint:gosec // bits
}
