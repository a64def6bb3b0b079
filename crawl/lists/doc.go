// Package lists reads the entries of the two lists that say what may be crawled at all:
// nothing that is on the block list, and where the allow list has entries only what is on
// that.
package lists
