package search

import (
	"cmp"
	"context"
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

// finding evaluates one query on one view of the index.
type finding struct {
	view   index.View
	q      Query
	parsed parsed

	asked    tags.Range
	segments []crawl.Segment
	search   *index.Search
	query    index.Query
	folder   folder
	looked   int // pages
	passed   int // hits, including deleted pages and hits in full domains
	answer   Answer
}

func (f *finding) find(ctx context.Context) (Answer, error) {
	var err error
	if f.segments, err = f.view.Segments(ctx); err != nil {
		return Answer{}, err
	}
	for _, s := range f.segments {
		f.answer.Indexed += s.Pages
	}
	f.folder = folder{all: f.q.All, of: map[string]int{}}
	if !f.q.All && f.q.Domain == "" {
		f.folder.perDomain = perDomain
	}
	if err := f.open(ctx); err != nil {
		return Answer{}, err
	}
	words := f.words()
	for missing := 0; missing == 0 || words >= sureWords && missing <= missingMost && missing*2 < words; missing++ {
		if err := f.collect(ctx, missing); err != nil {
			return Answer{}, err
		}
		if f.enough() || f.answer.Cut {
			break
		}
	}
	if f.answer.Results, err = f.results(ctx); err != nil {
		return Answer{}, err
	}
	if len(f.answer.Results) == 0 && f.q.Offset == 0 {
		f.answer.Instead, err = f.instead(ctx)
	}
	return f.answer, err
}

func (f *finding) open(ctx context.Context) error {
	p := planner{view: f.view, configs: configsOf(f.segments)}
	var err error
	if f.query, err = p.plan(ctx, f.parsed, cmp.Or(f.q.Language, f.q.Prefer)); err != nil {
		return err
	}
	f.query.Since = f.q.Since
	if f.q.Fresh {
		f.query.Fresh = time.Now()
	}
	if f.q.Domain != "" {
		f.query.Within = append(f.query.Within, []string{index.Domain(f.q.Domain)})
	}
	if f.q.Language != "" {
		if f.asked, err = tags.Asked(f.q.Language); err != nil {
			return err
		}
		var keys []string
		for _, base := range f.asked.Bases {
			keys = append(keys, index.Language(base))
		}
		f.query.Within = append(f.query.Within, keys)
		f.query.Drop = func(tag string) bool { return slices.Contains(f.asked.Bases, base(tag)) && !f.asked.Matches(tag) }
	}
	if f.q.Prefer != "" {
		f.query.Prefer = func(tag string) bool { return base(tag) == base(f.q.Prefer) }
	}
	f.search, err = index.Open(ctx, f.view, f.segments, f.query)
	return err
}

func base(tag string) string {
	b, _, _ := strings.Cut(tag, "-")
	return b
}

// words returns the number of required words. It returns 0 if the query has phrases or
// alternatives, which must match exactly.
func (f *finding) words() (n int) {
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

func (f *finding) enough() bool { return len(f.folder.kept) >= f.q.Offset+f.q.Limit }

// collect adds the best pages that lack exactly missing words until there are enough.
func (f *finding) collect(ctx context.Context, missing int) error {
	ranking, err := f.search.Rank(ctx, missing)
	if err != nil {
		return err
	}
	f.answer.Found += ranking.Found
	more := lookedAtOnce
	for !f.enough() {
		if f.looked >= lookedMost || f.passed >= passedMost {
			f.answer.Cut = true
			return nil
		}
		hits, err := ranking.Next(more)
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
		f.looked, f.passed = f.looked+len(pages), f.passed+n
		if len(pages) == 0 { // a site with many good pages
			more = min(2*more, passedAtOnce)
		}
		for _, p := range pages {
			if f.q.Language == "" || f.asked.Matches(p.Language) || p.Second != "" && f.asked.Matches(p.Second) {
				f.folder.add(p)
			}
		}
	}
	f.answer.Cut = f.answer.Cut || ranking.Rough
	return nil
}

// results returns the requested results. Results without a description get a heading or the words.
func (f *finding) results(ctx context.Context) ([]Result, error) {
	hits := f.folder.kept[min(f.q.Offset, len(f.folder.kept)):]
	hits = hits[:min(f.q.Limit, len(hits))]
	results := make([]Result, len(hits))
	var pages []int64
	at := map[int64]int{}
	for i, h := range hits {
		date := h.Published
		if date.IsZero() {
			date = h.Modified
		}
		results[i] = Result{
			URL: h.URL, Title: h.Title, Language: h.Language, Domain: h.Domain, Description: h.Description,
			Date: date, Score: math.Round(h.Score*1e6) / 1e6,
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
func headingOf(s report.SearchOutline, q parsed) string {
	best, most := "", -1
	for _, heading := range s.Outline {
		cut, _ := terms.Split(heading, termsMax)
		n := 0
		for _, list := range q.all {
			if slices.ContainsFunc(list, func(c chunk) bool { return c.within(cut) }) {
				n++
			}
		}
		if n > most {
			best, most = heading, n
		}
	}
	return best
}

// wordsOf returns the words of a query in a page's text, or all words if it has only other forms.
func wordsOf(s report.SearchOutline, q parsed) []string {
	var all, there []string
	for _, list := range q.all {
		for _, c := range list {
			all = append(all, c.text)
			if !slices.ContainsFunc(c.terms, func(t terms.Placed) bool { return !strings.Contains(" "+s.Text, " "+t.Term+":") }) {
				there = append(there, c.text)
			}
		}
	}
	if len(there) == 0 {
		return all
	}
	return there
}
