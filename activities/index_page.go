package activities

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/terms"
)

// index adds to an attempt in which language the page is and what it is found by, unless
// its publisher wants it not to be found.
func (r *pageReader) index(at *crawl.Attempt, resp *fetch.Response, page extract.Page, said usage.Usage) {
	declared := slices.Concat(page.Declared, resp.Header.Values("Content-Language"))
	at.Page.Language = r.languages.Detect(page.Prose, declared...)
	if listed(said, resp.EndedAt) {
		at.Index = terms.Index(terms.Page{
			Language: at.Page.Language, Title: page.Title, Headings: page.Headings,
			Description: page.Description, Text: page.Main,
		})
	}
}

// listed reports whether a page may be found by what is searched for, whatever the
// purpose of the run that reads it.
func listed(said usage.Usage, now time.Time) bool {
	indexable, _ := usage.Indexable(said, now)
	search, _ := usage.Allows(crawl.PurposeSearch, said)
	return indexable && search
}
