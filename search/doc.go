// Package search searches the pages in Mosey's database: it is mosey search for
// programs.
//
//	store, err := db.Open(ctx, "postgres://mosey@localhost:5432/mosey")
//	…
//	results, err := search.New(store).Search(ctx, search.Query{Text: `"durable politeness" -temporal`})
//
// All words of a query have to be on a page, in any of their forms. As in other
// search engines, "or" between two words makes them alternatives, quotes make a
// phrase, and -word excludes pages. Words are looked for in every language; accents
// and case do not count.
//
// Publishers' signals are obeyed: pages with noindex, or past their unavailable_after,
// are not found, and a page with nosnippet has no description.
package search
