// Package terms cuts text into the terms of the index, in the same way for pages and
// for queries, and independent of the locale of the database.
//
// A term is a word in lower case without accents. Scripts without blanks (Chinese,
// Japanese, Thai and others) and Korean, whose words take many endings, are cut into
// overlapping pairs of characters: "東京都" is "東京", "京都" and, so that a single character
// can be looked for by its beginning, "都". Postgres does the rest: a text search
// configuration for the language leaves out its stop words and finds the stems.
package terms
