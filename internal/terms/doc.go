// Package terms cuts text into the terms that pages are found by: the same way when a
// page is recorded and when it is searched for, whatever the locale of the database.
//
// A term is a word in lower case without accents. What is written without blanks
// (Chinese, Japanese, Thai and their like) and Korean, whose words take many endings, is
// cut into pairs of characters that overlap: "東京都" is "東京", "京都" and, so that a
// single character can be looked for by its beginning, "都". Postgres does the rest: a
// text search configuration for the language leaves out its stop words and finds the
// stems.
package terms
