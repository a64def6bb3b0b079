// Package politeness says how long a host is to be left alone: by what its runs,
// its owner, its robots.txt and its last answers ask for, by how it bears them,
// by the clock on its wall, and with whom it shares a machine.
package politeness
