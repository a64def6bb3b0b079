// Package search finds pages in Mosey's database by what they say: what mosey search
// does, for programs.
//
//	store, err := db.Open(ctx, "postgres://mosey@localhost:5432/mosey")
//	…
//	results, err := search.New(store).Search(ctx, search.Query{Text: `"durable politeness" -temporal`})
//
// A query is words, all of which have to be on a page in some form; "or" between two,
// "phrases in quotes" and -words that must not be there mean what they mean to search
// engines. The words are looked for in every language, accents and case do not count.
//
// What a publisher forbids is obeyed: pages with noindex, or past their
// unavailable_after, are not found, and of one with nosnippet there is no description.
package search
