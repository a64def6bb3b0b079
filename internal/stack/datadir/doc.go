// Package datadir owns the directory in which Mosey keeps its state: where it
// lies on each platform, who may use it, and how one process finds the stack
// that another one runs in it.
//
// One process at a time holds a data directory, by an advisory lock on the file
// mosey.lock. The lock belongs to the process, so that it is gone the moment
// the process is, however it died. While it is held, stack.json says who holds
// it and how to reach what runs there; it holds a password and is readable by
// its owner alone.
package datadir
