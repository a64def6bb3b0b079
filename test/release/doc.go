// Package release runs the release program, tools/release, in its own trees, and checks the files
// it makes. It contains only tests.
package release
