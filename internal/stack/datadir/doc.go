// Package datadir owns the directory of Mosey's state: its place on each platform, the right to use
// it, and how a process finds the stack that another process runs in it.
//
// One process at a time holds a data directory, by an advisory lock on the file mosey.lock. The
// lock belongs to the process, so that it is gone the moment the process is, however it died. While
// it is held, stack.json says who holds it and how to reach what runs there; it holds a password
// and is readable by its owner alone.
package datadir
