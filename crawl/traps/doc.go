// Package traps recognises endless spaces: by a URL alone, by the news of its pattern's pages, and
// by repetitive texts.
package traps
