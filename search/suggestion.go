package search

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mosey-web/mosey/search/index"
)

// maxCorrections caps the corrected words of a query. Each of them reads a part of the dictionary.
const maxCorrections = 3

// suggest returns the query with words that no page has replaced by the most similar words of the
// index. It returns an empty string if no similar words exist.
func (f *evaluation) suggest(ctx context.Context) (string, error) {
	text, changed, remaining := f.q.Text, false, maxCorrections
	isKnown := func(w index.Variant) bool { return len(w.Keys) > 0 && f.search.PagesWith(w.Keys[0]) > 0 }
	for i, list := range f.parsed.all {
		for k, c := range list {
			if !c.word() || slices.ContainsFunc(f.query.Clauses[i].Any[k].Variants, isKnown) || remaining == 0 {
				continue
			}
			remaining--
			better, err := f.similar(ctx, c.terms[0].Term)
			if err != nil {
				return "", err
			}
			if better != "" {
				text, changed = strings.Replace(text, c.text, better, 1), true
			}
		}
	}
	if !changed {
		return "", nil
	}
	return text, nil
}

// similar returns the most similar word with the same first letter and at most two other letters,
// or an empty string. Of equally similar words it returns the most frequent one.
func (f *evaluation) similar(ctx context.Context, word string) (string, error) {
	runes := utf8.RuneCountInString(word)
	if runes < 4 {
		return "", nil
	}
	_, first := utf8.DecodeRuneInString(word)
	_, second := utf8.DecodeRuneInString(word[first:])
	pageCounts := map[string]int{}
	for _, s := range f.segments {
		// try the second letter first, because most typing errors come after it
		for _, beginning := range []string{word[:first+second], word[:first]} {
			err := index.Words(ctx, f.view, s.ID, beginning, func(w string, pages int) {
				if d := utf8.RuneCountInString(w) - runes; d >= -2 && d <= 2 && !strings.ContainsAny(w, "._-'&") {
					pageCounts[w] += pages
				}
			})
			if err != nil {
				return "", err
			}
		}
	}
	best, minDistance, maxPages := "", 3, 0
	if runes < 6 {
		minDistance = 2
	}
	for w, pages := range pageCounts {
		d := distance(word, w, minDistance)
		if d < minDistance || d == minDistance && best != "" && (pages > maxPages || pages == maxPages && w < best) {
			best, minDistance, maxPages = w, d, pages
		}
	}
	return best, nil
}

// distance returns the number of letters to add, remove, replace or swap with their neighbour to
// turn one word into the other. It returns limit + 1 for every greater number. (Damerau, "A
// technique for computer detection and correction of spelling errors", 1964.)
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for k := range rows[1] {
		rows[1][k] = k
	}
	for i := 1; i <= len(x); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		rowMin := i
		for k := 1; k <= len(y); k++ {
			cost := 1
			if x[i-1] == y[k-1] {
				cost = 0
			}
			row[k] = min(last[k]+1, row[k-1]+1, last[k-1]+cost)
			if i > 1 && k > 1 && x[i-1] == y[k-2] && x[i-2] == y[k-1] {
				row[k] = min(row[k], before[k-2]+1)
			}
			rowMin = min(rowMin, row[k])
		}
		if rowMin > limit {
			return limit + 1
		}
		rows = [3][]int{last, row, before}
	}
	return min(rows[1][len(y)], limit+1)
}
