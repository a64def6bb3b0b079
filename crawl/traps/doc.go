// Package traps recognises endless spaces: by a URL alone, by what the pages of
// its pattern have brought so far, and by texts that say the same again.
package traps
