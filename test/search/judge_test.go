package search_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/search"
)

var (
	judgeFlag = flag.Bool("judge", false, "judge searches of Debian's documentation beside Xapian")
	knownFlag = flag.Bool("judge.known", false, "with -judge, make the queries of documents anew, and write them to "+knownFile)
	// missesFlag names what the numbers count.
	missesFlag = flag.Bool("judge.misses", false, "with -judge and -v, also print each query, page and paragraph that went wrong")
	manyFlag   = flag.Int("judge.documents", 0, "with -judge, store only so many `documents`, to see that all of it works; 0 is all")
)

func judging(t *testing.T) {
	t.Helper()
	if !*judgeFlag {
		t.Skip("takes minutes and documents of Debian: see go tool task search:judge")
	}
}

// finder is who is judged: it returns the URLs that a query finds. A host leaves out others.
type finder func(ctx context.Context, query, host string) ([]string, error)

// contestant is a finder, and how it is asked.
type contestant struct {
	name string
	find finder
	// site asks only the site of the document that is wanted.
	site bool
}

// mosey finds as `mosey search` does; all, as it does with --all.
func mosey(c *collection, all bool) finder {
	s := search.New(c.store)
	s.Guess = language.Guess
	return func(ctx context.Context, query, host string) ([]string, error) {
		results, err := s.Search(ctx, search.Query{Text: query, Domain: host, Limit: poolDepth, All: all})
		if errors.Is(err, crawl.ErrInvalid) {
			err = nil // it finds nothing
		}
		found := make([]string, len(results))
		for i, r := range results {
			found[i] = r.URL
		}
		return found, err
	}
}

// perDomain is how many results of a domain Mosey shows.
const perDomain = 2

// asked finds with Xapian; folded keeps as many of a domain as Mosey does.
func (x *xapian) asked(folded bool) finder {
	return func(ctx context.Context, query, host string) ([]string, error) {
		if !folded {
			return x.search(ctx, query, host, poolDepth)
		}
		found, err := x.search(ctx, query, host, xapianMost)
		return fold(found, hostOf, perDomain), err
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	judging(t)
	docs := readAll(t, searched())
	if *knownFlag {
		writeKnown(t, makeKnown(docs))
	}
	queries := readKnown(t)
	if *manyFlag > 0 {
		drawn(docs, "few", func(d *document) string { return d.url })
		docs = docs[:min(len(docs), *manyFlag)]
	}
	x := newXapian(t, docs)
	c := load(t, docs)
	bodies := &xapian{dir: x.dir, found: x.found}
	open, site := contestant{"Mosey", mosey(c, false), false}, contestant{"Mosey, one site", mosey(c, false), true}
	every := contestant{"Mosey, --all", mosey(c, true), false}
	beside := []contestant{
		{"Xapian", x.asked(false), false},
		{"Xapian, two a domain", x.asked(true), false},
		{"Xapian, one site", x.asked(false), true},
		{"Xapian without titles", bodies.asked(false), false},
	}
	judgeKnown(t, docs, queries, append([]contestant{open, site, every}, beside...))
	judgePeople(t, []contestant{open, site, every, beside[0], beside[1], beside[2]})
	ranks, err := search.Rank(t.Context(), c.store, func(report.Ranks) {})
	require.NoError(t, err)
	t.Logf("ranked: %d links between registered domains, which lead to %d pages", ranks.Pairs, ranks.Pages)
	open.name, site.name = "Mosey, ranked", "Mosey, ranked, one site"
	judgeKnown(t, docs, queries, []contestant{open, site})
	judgePeople(t, []contestant{open, site})
	if *poolFlag != "" {
		pool(t, docs, append([]contestant{open, site, {"Xapian, any word", x.any, false}}, beside[:3]...))
	}
	judgeParagraphs(t, docs, mosey(c, false))
}

// judgeKnown prints a table of how well each finds the documents of queries.
func judgeKnown(t *testing.T, docs []*document, queries []known, all []contestant) {
	t.Helper()
	there := map[string]bool{}
	for _, d := range docs {
		there[d.url] = true
	}
	counts := make([]map[string]*tally, len(all))
	for i, who := range all {
		counts[i] = map[string]*tally{}
		for _, q := range queries {
			if !there[q.url] {
				continue
			}
			host := ""
			if who.site {
				host = hostOf(q.url)
			}
			found, err := who.find(t.Context(), q.query, host)
			require.NoError(t, err, "%s: %s", who.name, q.query)
			if counts[i][q.kind] == nil {
				counts[i][q.kind] = &tally{}
			}
			counts[i][q.kind].add(found, q.url)
			if *missesFlag && (len(found) == 0 || found[0] != q.url) {
				t.Logf("%s: %s: %s: wanted %s: %s", who.name, q.kind, q.query, q.url, strings.Join(found[:min(len(found), 3)], " "))
			}
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "MRR@10 / success@1 / success@10\n%-26s", "")
	for _, kind := range kindsOfQueries {
		if n := counts[0][kind]; n != nil {
			fmt.Fprintf(&table, " | %-18s", fmt.Sprintf("%s (%d)", kind, n.queries))
		}
	}
	for i, who := range all {
		fmt.Fprintf(&table, "\n%-26s", who.name)
		for _, kind := range kindsOfQueries {
			if n := counts[i][kind]; n != nil {
				fmt.Fprintf(&table, " | %.3f / %.3f / %.3f", n.mrr(), n.success1(), n.success10())
			}
		}
	}
	t.Log("\n" + strings.ReplaceAll(table.String(), "0.", "."))
}

// poolDepth is how many results of each are pooled, to be graded.
const poolDepth = 20
