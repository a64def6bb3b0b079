// Package terms cuts text into the terms of the index. It cuts pages and queries alike, regardless
// of the locale of the database.
//
// A term is a word in lower case without accents. Scripts without blanks (Chinese, Japanese, Thai
// and others) and Korean, whose words take many endings, are cut into overlapping pairs of
// characters. "東京都" becomes "東京", "京都" and "都". The single characters make prefix searches
// possible. Postgres removes stop words and finds stems by the text search configuration of the
// language.
package terms
