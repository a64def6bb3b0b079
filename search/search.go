package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/terms"
)

// Defaults and bounds of a Query.
const (
	LimitDefault = 10
	LimitMax     = 100
	OffsetMax    = 1000
)

const (
	// perDomain is how many results there are of a domain at the most.
	perDomain = 2
	// nearDuplicate is the most bits in which fingerprints of near-duplicates differ
	// (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW
	// 2007).
	nearDuplicate = 3
	// otherLanguage weighs pages that are not in the query's language.
	otherLanguage = 0.6
	// spare is how many times more pages are read than are shown, for those that are
	// left out.
	spare = 5
)

// Store is the database; *db.Store is one.
type Store interface {
	Search(ctx context.Context, q report.SearchQuery) ([]report.SearchHit, error)
}

// Query is what is searched for.
type Query struct {
	// Text is what somebody has typed, at most TextBytesMax.
	Text string
	// Language, a tag of BCP 47, finds only pages in it: "pt" finds "pt-BR", too. Empty
	// is every language.
	Language string
	// Domain finds only pages of it; empty is every domain.
	Domain string
	// Since finds only pages that have a date of then or later: as they say themselves,
	// else that of their last fetch. Zero is any time.
	Since time.Time
	// Prefer is the query's language, if known: pages in it come before others that
	// are as good. Empty leaves it to Searcher.Guess.
	Prefer string
	// Limit is how many results are wanted, LimitDefault where it is 0, at most
	// LimitMax; Offset is how many to pass over, at most OffsetMax.
	Limit, Offset int
}

// Result is a page that was found.
type Result struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	// Language is a tag of BCP 47; empty means undetermined.
	Language string `json:"language"`
	Domain   string `json:"domain"`
	// Description is what the page says it is about; empty if it does not, or where
	// its publisher wants no snippet shown.
	Description string `json:"description"`
	// Date is when it was published, else changed, as the page says; zero if it does
	// not.
	Date time.Time `json:"date,omitzero"`
	// Score orders results of one query: more is better.
	Score float64 `json:"score"`
}

// Searcher searches. It is safe for concurrent use if its store is.
type Searcher struct {
	// Guess names the language that a query is in, for Query.Prefer where that is empty;
	// nil never does.
	Guess func(text string) string

	store Store
}

// New makes a searcher.
func New(store Store) *Searcher { return &Searcher{store: store} }

// Search returns the results of a query, the best first: at most two of a domain, and
// one of pages that say nearly the same. A query that cannot be understood is a
// crawl.ErrInvalid.
func (s *Searcher) Search(ctx context.Context, q Query) ([]Result, error) {
	wanted, err := prepare(&q)
	if err != nil {
		return nil, err
	}
	hits, err := s.store.Search(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if q.Prefer == "" && s.Guess != nil {
		q.Prefer = s.Guess(q.Text)
	}
	if q.Prefer != "" {
		prefer(hits, q.Prefer)
	}
	results := make([]Result, 0, q.Limit)
	passed := 0
	for _, h := range distinct(hits) {
		if passed++; passed <= q.Offset {
			continue
		}
		if len(results) == q.Limit {
			break
		}
		date := h.Published
		if date.IsZero() {
			date = h.Modified
		}
		results = append(results, Result{
			URL: h.URL, Title: h.Title, Language: h.Language, Domain: h.Domain, Description: h.Description,
			Date: date, Score: math.Round(h.Score*1e6) / 1e6,
		})
	}
	return results, nil
}

// prepare checks a query, fills in its defaults, and puts it in the terms of the index.
func prepare(q *Query) (report.SearchQuery, error) {
	wanted, err := parse(q.Text)
	if err != nil {
		return wanted, err
	}
	if q.Limit == 0 {
		q.Limit = LimitDefault
	}
	if q.Limit < 0 || q.Limit > LimitMax {
		return wanted, fmt.Errorf("%w: a limit of %d: want 1 to %d", crawl.ErrInvalid, q.Limit, LimitMax)
	}
	if q.Offset < 0 || q.Offset > OffsetMax {
		return wanted, fmt.Errorf("%w: an offset of %d: want 0 to %d", crawl.ErrInvalid, q.Offset, OffsetMax)
	}
	if wanted.Configs = terms.Configs(); q.Language != "" {
		tag, err := language.BCP47.Parse(q.Language)
		if err != nil {
			return wanted, fmt.Errorf(`%w: language %q: want a tag such as "en" or "pt-BR"`, crawl.ErrInvalid, q.Language)
		}
		wanted.Language = tag.String()
		wanted.Configs = []string{terms.Config(wanted.Language)}
	}
	if q.Domain != "" {
		if wanted.Domain, err = urls.DomainOf(q.Domain); err != nil {
			return wanted, err
		}
	}
	wanted.Since, wanted.Most = q.Since, spare*(q.Offset+q.Limit)
	return wanted, nil
}

// prefer puts pages in a language before others that are as good.
func prefer(hits []report.SearchHit, tag string) {
	base, _, _ := strings.Cut(tag, "-")
	for i := range hits {
		if of, _, _ := strings.Cut(hits[i].Language, "-"); of != base {
			hits[i].Score *= otherLanguage
		}
	}
	slices.SortStableFunc(hits, func(a, b report.SearchHit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
}

// distinct leaves out what is nearly the same as a better hit, and what would be the
// third of a domain.
func distinct(hits []report.SearchHit) []report.SearchHit {
	kept := make([]report.SearchHit, 0, len(hits))
	of := map[string]int{}
	for _, h := range hits {
		if of[h.Domain] >= perDomain || slices.ContainsFunc(kept, func(k report.SearchHit) bool { return same(k, h) }) {
			continue
		}
		of[h.Domain]++
		kept = append(kept, h)
	}
	return kept
}

// same reports whether two pages say nearly the same, or say that they are one.
func same(a, b report.SearchHit) bool {
	switch {
	case a.Content == b.Content && a.Content != (crawl.ContentHash{}),
		a.SimHash != nil && b.SimHash != nil && fingerprint(a).Distance(fingerprint(b)) <= nearDuplicate:
		return true
	}
	return identity(a) == identity(b)
}

func fingerprint(h report.SearchHit) crawl.SimHash {
	return crawl.SimHash(*h.SimHash) //nolint:gosec // the same 64 bits
}

func identity(h report.SearchHit) string {
	if h.Canonical != "" {
		return h.Canonical
	}
	return h.URL
}
