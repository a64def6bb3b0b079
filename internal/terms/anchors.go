package terms

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

const (
	// anchorsMost is how many different texts of links to a page count, and anchorTerms
	// how many terms of them together.
	anchorsMost = 20
	anchorTerms = 300
)

// Anchors are the terms of the texts of links to a page, as in a crawl.Index. texts has each
// text with the number of domains that use it; the most used ones count.
func Anchors(texts map[string]int) string {
	list := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(texts[b], texts[a]), cmp.Compare(a, b))
	})
	x, _ := indexers.Get().(*indexer) // there is nothing else
	defer indexers.Put(x)
	x.noPlaces = false
	return x.zone(strings.Join(list[:min(len(list), anchorsMost)], "\n"), anchorTerms)
}
