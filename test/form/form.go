// Package form selects between the short form of tests (`go test -short`) and the long one.
package form

import "testing"

// Long skips a test in the short form, where another test covers its feature.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("in the long form only: go tool task test:long")
	}
}

// Either returns long, or short in the short form.
func Either[T any](long, short T) T {
	if testing.Short() {
		return short
	}
	return long
}
