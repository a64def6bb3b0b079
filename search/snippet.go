package search

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/terms"
)

// headingOf is the heading under which most words of a query stand, the first of them; the
// first heading of the page if its text has none of the words.
func headingOf(s report.SearchSections, q parsed) string {
	if len(s.Sections) == 0 {
		return ""
	}
	found := make([]int, len(s.Sections))
	for _, list := range q.all {
		seen := map[int]bool{}
		for _, c := range list {
			for _, t := range c.terms {
				for _, at := range placesOf(s.Text, t.Term) {
					n := sort.Search(len(s.Sections), func(i int) bool { return s.Sections[i].At > at }) - 1
					if n >= 0 && !seen[n] {
						seen[n] = true
						found[n]++
					}
				}
			}
		}
	}
	best := 0
	for i, n := range found {
		if n > found[best] {
			best = i
		}
	}
	return s.Sections[best].Heading
}

// wordsOf are the words of a query that a page's text has; all of them if it has none as it is
// written.
func wordsOf(s report.SearchSections, q parsed) []string {
	var all, there []string
	for _, list := range q.all {
		for _, c := range list {
			all = append(all, c.text)
			if !slices.ContainsFunc(c.terms, func(t terms.Placed) bool { return !has(s.Text, t.Term) }) {
				there = append(there, c.text)
			}
		}
	}
	if len(there) == 0 {
		return all
	}
	return there
}

// after is what follows a term in a text of a crawl.Index.
func after(text, term string) (rest string, found bool) {
	if rest, found = strings.CutPrefix(text, term+":"); !found {
		_, rest, found = strings.Cut(text, " "+term+":")
	}
	return rest, found
}

// has reports whether a text of a crawl.Index has a term.
func has(text, term string) bool {
	_, found := after(text, term)
	return found
}

// placesOf are those of a term in a text of a crawl.Index.
func placesOf(text, term string) []int {
	list, _ := after(text, term)
	list, _, _ = strings.Cut(list, " ")
	var places []int
	for place := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(place); err == nil {
			places = append(places, n)
		}
	}
	return places
}
