// Package traps recognises endless spaces: by a URL alone, by how much news the
// pages of its pattern have brought, and by texts that repeat each other.
package traps
