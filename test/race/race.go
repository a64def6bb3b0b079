// Package race tells tests whether the race detector runs.
package race

import "testing"

// SkipSerial skips a test under the race detector that computes for long and shares nothing
// between goroutines: the detector sees nothing in it, and makes it ten times as long.
func SkipSerial(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("the race detector sees nothing in it")
	}
}
