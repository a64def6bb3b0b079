package search

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/language/tags"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search/index"
)

// headingBytes caps a heading in a result.
const headingBytes = 120

// evaluation evaluates one query on one view of the index.
type evaluation struct {
	view   index.View
	q      Query
	parsed parsedQuery

	languages   tags.Range
	segments    []crawl.Segment
	search      *index.Search
	query       index.Query
	folder      folder
	pagesRead   int // pages
	hitsSkipped int // hits, including deleted pages and hits in full domains
	answer      Answer
}

func (f *evaluation) find(ctx context.Context) (Answer, error) {
	var err error
	if f.segments, err = f.view.Segments(ctx); err != nil {
		return Answer{}, err
	}
	for _, s := range f.segments {
		f.answer.Indexed += s.Pages
	}
	f.folder = folder{all: f.q.All, hitIndex: map[string]int{}}
	if !f.q.All && f.q.Domain == "" {
		f.folder.perDomain = maxPerDomain
	}
	if err := f.open(ctx); err != nil {
		return Answer{}, err
	}
	words := f.words()
	for missing := 0; missing == 0 || words >= minWordsForMissing && missing <= maxMissing && missing*2 < words; missing++ {
		if err := f.collect(ctx, missing); err != nil {
			return Answer{}, err
		}
		if f.hasEnough() || f.answer.Cut {
			break
		}
	}
	if f.answer.Results, err = f.results(ctx); err != nil {
		return Answer{}, err
	}
	if len(f.answer.Results) == 0 && f.q.Offset == 0 {
		f.answer.Instead, err = f.suggest(ctx)
	}
	return f.answer, err
}

func (f *evaluation) open(ctx context.Context) error {
	p := planner{view: f.view, configs: configsOf(f.segments)}
	var err error
	if f.q.Language != "" {
		if f.languages, err = tags.ParseRange(f.q.Language); err != nil {
			return err
		}
		p.configs = slices.DeleteFunc(p.configs, func(config string) bool {
			return !slices.ContainsFunc(f.languages.Bases, func(base string) bool { return terms.Config(base) == config })
		})
	}
	if f.query, err = p.plan(ctx, f.parsed, cmp.Or(f.q.Language, f.q.Prefer)); err != nil {
		return err
	}
	for _, c := range slices.Concat(f.parsed.all...) {
		for _, t := range c.terms {
			f.answer.words = append(f.answer.words, t.Term)
		}
	}
	f.answer.stems = slices.Concat(slices.Collect(maps.Values(p.stems))...)
	f.query.Since = f.q.Since
	if f.q.Fresh {
		f.query.Fresh = time.Now()
	}
	if f.q.Domain != "" {
		f.query.Within = append(f.query.Within, []string{index.Domain(f.q.Domain)})
	}
	if f.q.Language != "" {
		var keys []string
		for _, base := range f.languages.Bases {
			keys = append(keys, index.Language(base))
		}
		f.query.Within = append(f.query.Within, keys)
		f.query.Drop = func(tag string) bool {
			return slices.Contains(f.languages.Bases, index.Base(tag)) && !f.languages.Matches(tag)
		}
	}
	if f.q.Prefer != "" {
		f.query.Prefer = func(tag string) bool { return index.Base(tag) == index.Base(f.q.Prefer) }
	}
	f.search, err = index.Open(ctx, f.view, f.segments, f.query)
	return err
}

// words returns the number of required words. It returns 0 if the query has phrases or
// alternatives, which must match exactly.
func (f *evaluation) words() (n int) {
	for i, c := range f.query.Clauses {
		if c.Optional {
			continue
		}
		if len(f.parsed.all[i]) > 1 || f.parsed.all[i][0].quoted {
			return 0
		}
		n++
	}
	return n
}

func (f *evaluation) hasEnough() bool { return len(f.folder.hits) >= f.q.Offset+f.q.Limit }

// collect adds the best pages that lack exactly missing words until there are enough.
func (f *evaluation) collect(ctx context.Context, missing int) error {
	ranking, err := f.search.Rank(ctx, missing)
	if err != nil {
		return err
	}
	f.answer.Found += ranking.Found
	batchSize, lowest := pagesPerRead, math.Inf(1)
	for !f.hasEnough() {
		if f.pagesRead >= maxPagesRead || f.hitsSkipped >= maxHitsSkipped {
			f.answer.Cut = true
			return nil
		}
		hits, err := ranking.Next(batchSize)
		if err != nil || len(hits) == 0 {
			return err
		}
		n := len(hits)
		full := f.folder.full()
		hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return full[h.Domain] })
		pages, err := f.view.Pages(ctx, hits)
		if err != nil {
			return err
		}
		f.pagesRead, f.hitsSkipped = f.pagesRead+len(pages), f.hitsSkipped+n
		sortAsTyped(pages, f.q.Text, lowest)
		if len(pages) > 0 {
			lowest = pages[len(pages)-1].Score
		} else { // a site with many good pages
			batchSize = min(2*batchSize, maxHitsPerSkip)
		}
		for _, p := range pages {
			if f.q.Language == "" || f.languages.Matches(p.Language) || p.Second != "" && f.languages.Matches(p.Second) {
				f.folder.add(p)
			}
		}
	}
	f.answer.Cut = f.answer.Cut || ranking.Approximate
	return nil
}

// typedTitleFactor multiplies the score of a page whose title has the query as it was typed. The
// index folds accents, so that the titles of two languages can have the same words.
const typedTitleFactor = 1.02

// sortAsTyped sorts pages by score, after it has applied typedTitleFactor up to a maximum.
func sortAsTyped(pages []report.SearchHit, text string, maximum float64) {
	text = strings.ToLower(text)
	for i, p := range pages {
		if strings.Contains(strings.ToLower(p.Title), text) {
			pages[i].Score = min(p.Score*typedTitleFactor, maximum)
		}
	}
	slices.SortStableFunc(pages, func(a, b report.SearchHit) int { return cmp.Compare(b.Score, a.Score) })
}

// results returns the requested results. Results without a description get a heading or the words.
func (f *evaluation) results(ctx context.Context) ([]Result, error) {
	hits := f.folder.hits[min(f.q.Offset, len(f.folder.hits)):]
	hits = hits[:min(f.q.Limit, len(hits))]
	results := make([]Result, len(hits))
	var pages []int64
	at := map[int64]int{}
	for i, h := range hits {
		results[i] = Result{
			URL: h.URL, Title: h.Title, Language: h.Language, Domain: h.Domain, Description: h.Description,
			Date: cmp.Or(h.Published, h.Modified), Score: math.Round(h.Score*1e6) / 1e6,
		}
		if h.Description == "" && !h.NoSnippet {
			pages, at[h.Page] = append(pages, h.Page), i
		}
	}
	if len(pages) == 0 {
		return results, nil
	}
	outlines, err := f.view.Outlines(ctx, pages)
	for _, s := range outlines {
		r := &results[at[s.Page]]
		if r.Heading = crawl.CutWords(headingOf(s, f.parsed), headingBytes); r.Heading == "" {
			r.Words = wordsOf(s, f.parsed)
		}
	}
	return results, err
}

// headingOf returns the first heading with the most words of a query, or an empty string.
func headingOf(s report.SearchOutline, q parsedQuery) string {
	best, maxMatches := "", -1
	for _, heading := range s.Outline {
		cut, _ := terms.Split(heading, termsMax)
		isMissing := func(t terms.PlacedTerm) bool {
			return !slices.ContainsFunc(cut, func(x terms.PlacedTerm) bool { return x.Term == t.Term })
		}
		n := 0
		for _, list := range q.all {
			if slices.ContainsFunc(list, func(c chunk) bool { return !slices.ContainsFunc(c.terms, isMissing) }) {
				n++
			}
		}
		if n > maxMatches {
			best, maxMatches = heading, n
		}
	}
	return best
}

// wordsOf returns the words of a query in a page's text, or all words if it has only other forms.
func wordsOf(s report.SearchOutline, q parsedQuery) []string {
	var all, present []string
	for _, list := range q.all {
		for _, c := range list {
			all = append(all, c.text)
			if !slices.ContainsFunc(c.terms, func(t terms.PlacedTerm) bool { return !strings.Contains(" "+s.Text, " "+t.Term+":") }) {
				present = append(present, c.text)
			}
		}
	}
	if len(present) == 0 {
		return all
	}
	return present
}
