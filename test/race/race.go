// Package race reports to tests whether the race detector runs.
package race

import "testing"

// SkipSerial skips a test under the race detector. It is for long computations that share nothing
// between goroutines: the detector would find nothing, and take ten times as long.
func SkipSerial(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("the race detector sees nothing in it")
	}
}
