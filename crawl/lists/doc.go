// Package lists reads the entries of the block list and the allow list. Nothing on the
// block list is crawled. If the allow list has entries, only what is on it is crawled.
package lists
