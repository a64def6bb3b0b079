package search

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/language/tags"
	"github.com/mosey-web/mosey/search/index"
)

// Defaults and bounds of a Query.
const (
	LimitDefault = 10
	LimitMax     = 100
	OffsetMax    = 1000
)

const (
	// lookedAtOnce is how many hits are looked up at once, and lookedMost how many of a
	// query: so many pages may be left out because they are the same as others.
	lookedAtOnce = 50
	lookedMost   = 5_000
	// passedAtOnce and passedMost are the same for hits that need not be looked up: of a domain
	// that has its two results.
	passedAtOnce = 2_000
	passedMost   = 500_000
	// sureWords is how many words a query must have for pages that lack one to be results.
	sureWords = 3
	// missingMost is how many a page may lack.
	missingMost = 2
)

// Store is the database; *db.Store is one.
type Store interface {
	Index(ctx context.Context, fn func(index.View) error) error
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
	// Fresh puts newer pages first, of those that answer as well: one of two months ago counts
	// half. A page's date is that of Since.
	Fresh bool
	// Prefer is the query's language, if known: pages in it come before others that
	// are as good. Empty leaves it to Searcher.Guess.
	Prefer string
	// Limit is how many results are wanted, LimitDefault where it is 0, at most
	// LimitMax; Offset is how many to pass over, at most OffsetMax.
	Limit, Offset int
	// All has pages that say nearly the same as a better one among the results, and any
	// number of each domain.
	All bool
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
	// Heading is the one under which the words of the query stand, for a page without a
	// description; empty if the page has no headings.
	Heading string `json:"heading,omitempty"`
	// Words are set for a page without description and headings: the words of the query that
	// its text has, or all words if the text has them only in other forms.
	Words []string `json:"words,omitempty"`
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

// Answer is the results of a query, and what else is known of it.
type Answer struct {
	Results []Result
	// Found is about how many pages have what was asked for.
	Found int
	// Cut is set if more pages have what was asked for than were looked at.
	Cut bool
	// Instead is the query with similar words that pages have, if no page has those of the
	// query. Empty means that there are no similar ones.
	Instead string
	// Indexed is how many pages can be found at all.
	Indexed int
}

// Search returns the results of a query, as Find does.
func (s *Searcher) Search(ctx context.Context, q Query) ([]Result, error) {
	a, err := s.Find(ctx, q)
	return a.Results, err
}

// Find returns the results of a query, the best first: one of pages that say nearly the
// same, and at most two of a domain unless Query.Domain is set. Of three words or more,
// pages that lack one, then two, follow those that have all. A query that cannot be understood is a crawl.ErrInvalid.
func (s *Searcher) Find(ctx context.Context, q Query) (Answer, error) {
	parsed, err := q.prepare()
	if err != nil {
		return Answer{}, err
	}
	if q.Prefer == "" && s.Guess != nil {
		q.Prefer = s.Guess(q.Text)
	}
	var a Answer
	err = s.store.Index(ctx, func(v index.View) error {
		f := finding{view: v, q: q, parsed: parsed}
		var err error
		a, err = f.find(ctx)
		return err
	})
	return a, err
}

// prepare checks a query and fills in its defaults.
func (q *Query) prepare() (parsed, error) {
	p, err := parse(q.Text)
	if err != nil {
		return p, err
	}
	if q.Limit == 0 {
		q.Limit = LimitDefault
	}
	if q.Limit < 0 || q.Limit > LimitMax {
		return p, fmt.Errorf("%w: a limit of %d: want 1 to %d", crawl.ErrInvalid, q.Limit, LimitMax)
	}
	if q.Offset < 0 || q.Offset > OffsetMax {
		return p, fmt.Errorf("%w: an offset of %d: want 0 to %d", crawl.ErrInvalid, q.Offset, OffsetMax)
	}
	if q.Language != "" {
		if _, err := tags.Asked(q.Language); err != nil {
			return p, err
		}
	}
	if q.Domain != "" {
		if q.Domain, err = urls.DomainOf(q.Domain); err != nil {
			return p, err
		}
	}
	return p, nil
}
