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

	usage usage.Usage
}

// pageOf drops the fields that must not be shown now.
func pageOf(r report.PageRow, now time.Time) (page, error) {
	p := page{PageRow: r}
	if r.Usage != nil {
		if err := json.Unmarshal(r.Usage, &p.usage); err != nil {
			return p, fmt.Errorf("read the usage of %s: %w", r.URL, err)
		}
	}
	indexable, _ := usage.Indexable(p.usage, now)
	allowed, _ := usage.Allows(settings.PurposeSearch, p.usage)
	if r.NoIndex || !indexable || !allowed {
		p.Language, p.Signals = "", crawl.Signals{}
	}
	if p.usage.NoSnippet.IsSet() {
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
	usageColumn := func(name, doc string, get func(*usage.Usage) usage.Source) column[page] {
		return flag(name, doc, func(p *page) bool { return get(&p.usage).IsSet() })
	}
	signal := func(name, doc string, get func(*usage.ContentSignals) usage.Signal) column[page] {
		return lowCardinality(maybeText(name, doc, func(p *page) string { return string(get(&p.usage.ContentSignals).Preference) }))
	}
	return []column[page]{
		number("id", "id of the page", func(p *page) int64 { return p.ID }),
		text("url", "canonical URL", func(p *page) string { return p.URL }),
		lowCardinality(text("domain", "host, without `www.`", func(p *page) string { return p.Domain })),
		lowCardinality(text("origin", "scheme, host and port", func(p *page) string { return p.Origin })),
		lowCardinality(text("kind", "kind of content: "+kinds.Names(), func(p *page) string { return string(p.Kind) })),
		lowCardinality(text("status", "`discovered`, `fetched`, `failed`", func(p *page) string { return p.Status })),
		lowCardinality(maybeText("outcome", "outcome of the last attempt that was not skipped, as in `crawls`",
			func(p *page) string { return string(p.Outcome) })),
		positive("status_code", "HTTP status of the last attempt", func(p *page) int64 { return int64(p.StatusCode) }),
		lowCardinality(maybeText("content_type", "Content-Type of that response", func(p *page) string { return p.ContentType })),
		lowCardinality(maybeText("language", "tag of BCP 47, such as `en` or `pt-BR` †", func(p *page) string { return p.Language })),
		maybeText("title", "title of the page †", func(p *page) string { return p.Title }),
		maybeText("description", "description in the page; null with `nosnippet` †", func(p *page) string { return p.Description }),
		maybeInstant("published", "publication time in the page †", func(p *page) time.Time { return p.Published }),
		maybeInstant("modified", "modification time in the page †", func(p *page) time.Time { return p.Modified }),
		maybeText("canonical_url", "canonical URL in the page †", func(p *page) string { return p.Canonical }),
		lowCardinality(maybeText("generator", "generator in the page †", func(p *page) string { return p.Generator })),
		lowCardinality(maybeText("icon", "URL of the site's icon †", func(p *page) string { return p.Icon })),
		texts("feeds", "URLs of feeds in the page †", func(p *page) []string { return p.Feeds }),
		maybeText("extra", "answer of the program of `--exec`, a JSON object †", func(p *page) string { return string(p.Extra) }),
		flag("noindex", "whether the publisher forbids indexing", func(p *page) bool { return p.NoIndex || p.usage.NoIndex.IsSet() }),
		flag("nofollow", "whether the publisher forbids following its links", func(p *page) bool { return p.NoFollow }),
		usageColumn("noarchive", "whether the publisher forbids copies", func(u *usage.Usage) usage.Source { return u.NoArchive }),
		usageColumn("nosnippet", "whether the publisher forbids extracts", func(u *usage.Usage) usage.Source { return u.NoSnippet }),
		usageColumn("noai", "whether the publisher forbids training models", func(u *usage.Usage) usage.Source { return u.NoAI }),
		usageColumn("tdm_reserved", "whether the publisher reserves text and data mining",
			func(u *usage.Usage) usage.Source { return u.TDMReserved }),
		lowCardinality(maybeText("tdm_policy", "URL of the terms of text and data mining", func(p *page) string { return p.usage.TDMPolicy })),
		lowCardinality(maybeText("terms", "URL of the site's terms of service, from `Link: rel=\"terms-of-service\"`",
			func(p *page) string { return p.usage.Terms })),
		lowCardinality(maybeText("license", "URL of the licence, from `rel=\"license\"` in the page or header, or `License` in robots.txt",
			func(p *page) string { return p.usage.License })),
		maybeInstant("unavailable_after", "time after which the publisher forbids indexing",
			func(p *page) time.Time { return p.usage.UnavailableAfter }),
		signal("signal_search", "`yes` or `no`: `Content-Signal` for search", func(c *usage.ContentSignals) usage.Signal { return c.Search }),
		signal("signal_ai_input", "`Content-Signal` for the input of models", func(c *usage.ContentSignals) usage.Signal { return c.AIInput }),
		signal("signal_ai_train", "`Content-Signal` for the training of models", func(c *usage.ContentSignals) usage.Signal { return c.AITrain }),
		signal("signal_use", "`immediate`, `reference` or `full`: `Content-Signal` for what may be kept",
			func(c *usage.ContentSignals) usage.Signal { return c.Use }),
		flag("duplicate", "whether another page had the same content at the last visit", func(p *page) bool { return p.Duplicate }),
		lowCardinality(maybeText("trap", "reason why the page is classified as a trap", func(p *page) string { return p.Trap })),
		maybeText("content_hash", "fingerprint of the content, in hexadecimal", func(p *page) string { return hex.EncodeToString(p.Content) }),
		maybeText("simhash", "64 bits in hexadecimal; pages with similar text differ in few bits", simHash),
		positive("extractor", "version of the extractor that read the page", func(p *page) int64 { return int64(p.Extractor) }),
		maybeInstant("last_modified", "Last-Modified of the response", func(p *page) time.Time { return p.LastModified }),
		maybeInstant("fresh_until", "end of the freshness of the response", func(p *page) time.Time { return p.FreshUntil }),
		instant("found_at", "time when the page was first known", func(p *page) time.Time { return p.FoundAt }),
		maybeInstant("fetched_at", "time of the last successful fetch, changed or not", func(p *page) time.Time { return p.FetchedAt }),
		maybeInstant("failed_at", "time of the last failure", func(p *page) time.Time { return p.FailedAt }),
	}
}

// simHash returns text, because readers with floating-point numbers would round 64 bits.
func simHash(p *page) string {
	if p.SimHash == nil {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(*p.SimHash)) //nolint:gosec // bits
}
