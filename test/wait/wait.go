// Package wait lets a test wait for a condition.
package wait

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Until calls condition every tick until it holds, for at most limit, in the goroutine of the test.
//
// require.Eventually uses another goroutine. There a failed require ends only that goroutine, and
// the test waits for the whole limit and then reports that the condition never held.
func Until(t testing.TB, condition func() bool, limit, tick time.Duration, msgAndArgs ...any) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(tick) {
		if time.Now().After(end) {
			require.Fail(t, "The condition did not hold within "+limit.String(), msgAndArgs...)
		}
	}
}
