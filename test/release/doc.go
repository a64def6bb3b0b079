// Package release runs the program that makes releases, tools/release, in trees of its own,
// and looks into what it makes. It has nothing but tests.
package release
