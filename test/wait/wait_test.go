package wait_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

const inner = "MOSEY_TEST_WAIT"

// A failure within the condition ends the test at once, with its own message.
func TestUntil(t *testing.T) {
	t.Parallel()
	calls := 0
	wait.Until(t, func() bool { calls++; return calls == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, 3, calls)

	for name, message := range map[string]string{"Fails": "within the condition", "Never": "did not hold within 1ms"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestInner/"+name)
		cmd.Env = append(os.Environ(), inner+"=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), message)
	}
}

// TestInner fails, for TestUntil.
func TestInner(t *testing.T) {
	t.Parallel()
	if os.Getenv(inner) == "" {
		t.Skip("TestUntil runs it")
	}
	t.Run("Fails", func(t *testing.T) {
		t.Parallel()
		wait.Until(t, func() bool { require.Fail(t, "within the condition"); return false }, time.Hour, time.Second)
	})
	t.Run("Never", func(t *testing.T) {
		t.Parallel()
		wait.Until(t, func() bool { return false }, time.Millisecond, time.Millisecond)
	})
}
