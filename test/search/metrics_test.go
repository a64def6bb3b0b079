package search_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// depth is how many results are judged.
const depth = 10

// tally counts how queries with one right answer went.
type tally struct {
	queries, first, found int
	reciprocal            float64
}

// add adds a query: the results that it had, and the one that was wanted.
func (t *tally) add(results []string, want string) {
	t.queries++
	at := slices.Index(results[:min(len(results), depth)], want)
	if at < 0 {
		return
	}
	t.found++
	t.reciprocal += 1 / float64(at+1)
	if at == 0 {
		t.first++
	}
}

func (t *tally) share(n float64) float64 {
	if t.queries == 0 {
		return 0
	}
	return n / float64(t.queries)
}

// mrr is the mean reciprocal rank among the first ten.
func (t *tally) mrr() float64 { return t.share(t.reciprocal) }

// success1 and success10 are the shares of queries whose answer was first, and among the
// first ten.
func (t *tally) success1() float64 { return t.share(float64(t.first)) }

func (t *tally) success10() float64 { return t.share(float64(t.found)) }

// ndcg is the normalized discounted cumulative gain of the first ten results (Järvelin and
// Kekäläinen, 2002), where a grade g gains 2^g - 1. What has no grade gains nothing. It is 0
// if no document has one.
func ndcg(results []string, grades map[string]int) float64 {
	gain := func(grade, at int) float64 { return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(at)+2) }
	var got, best float64
	for i, r := range results[:min(len(results), depth)] {
		got += gain(grades[r], i)
	}
	var ideal []int
	for _, g := range grades {
		ideal = append(ideal, g)
	}
	slices.Sort(ideal)
	slices.Reverse(ideal)
	for i, g := range ideal[:min(len(ideal), depth)] {
		best += gain(g, i)
	}
	if best == 0 {
		return 0
	}
	return got / best
}

// fold keeps so many results of a domain.
func fold(results []string, domain func(string) string, most int) (kept []string) {
	of := map[string]int{}
	for _, r := range results {
		if d := domain(r); of[d] < most {
			of[d]++
			kept = append(kept, r)
		}
	}
	return kept
}

func TestTally(t *testing.T) {
	t.Parallel()
	var s tally
	s.add([]string{"a", "b"}, "a")
	s.add([]string{"b", "a"}, "a")
	s.add(nil, "a")
	s.add([]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"}, "a")
	require.InDelta(t, 0.375, s.mrr(), 1e-9)
	require.InDelta(t, 0.25, s.success1(), 1e-9)
	require.InDelta(t, 0.5, s.success10(), 1e-9)
}

func TestNDCG(t *testing.T) {
	t.Parallel()
	grades := map[string]int{"a": 3, "b": 2, "c": 0}
	require.InDelta(t, 1, ndcg([]string{"a", "b", "c"}, grades), 1e-9)
	// (3 + 7/log2(3)) / (7 + 3/log2(3))
	require.InDelta(t, 0.834, ndcg([]string{"b", "a"}, grades), 1e-3)
	require.Zero(t, ndcg([]string{"x"}, grades))
	require.Zero(t, ndcg([]string{"x"}, nil))
}

func TestFold(t *testing.T) {
	t.Parallel()
	first := func(s string) string { return s[:1] }
	require.Equal(t, []string{"a1", "a2", "b1"}, fold([]string{"a1", "a2", "a3", "b1"}, first, 2))
}
