package wait_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// failing is a test that fails, and keeps its message.
type failing struct {
	testing.TB

	message string
}

func (*failing) Helper() {}

func (f *failing) Errorf(format string, args ...any) { f.message += fmt.Sprintf(format, args...) }

func (*failing) FailNow() { runtime.Goexit() }

// A failure within the condition ends the test at once, with its own message.
func TestUntil(t *testing.T) {
	t.Parallel()
	calls := 0
	wait.Until(t, func() bool { calls++; return calls == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, 3, calls)

	for message, run := range map[string]func(*failing){
		"within the condition": func(f *failing) {
			wait.Until(f, func() bool { require.Fail(f, "within the condition"); return false }, time.Hour, time.Second)
		},
		"did not hold within 1ms": func(f *failing) {
			wait.Until(f, func() bool { return false }, time.Millisecond, time.Millisecond)
		},
	} {
		f, ended := &failing{TB: t}, true
		var running sync.WaitGroup
		running.Go(func() {
			run(f)
			ended = false
		})
		running.Wait()
		require.True(t, ended)
		require.Contains(t, f.message, message)
	}
}
