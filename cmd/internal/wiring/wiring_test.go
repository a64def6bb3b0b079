package wiring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

func TestFetchFlags(t *testing.T) {
	t.Parallel()
	defaults := wiring.FetchFlags{Timeout: 30 * time.Second, MaxFetches: 256}

	t.Run("SayWhoAsks", func(t *testing.T) {
		t.Parallel()
		f := defaults
		require.Regexp(t, `^mosey/\S+$`, f.Agent())
		f.Contact = "you@example.org"
		require.Regexp(t, `^mosey/\S+ \(\+you@example\.org\)$`, f.Agent())
		f.UserAgent = "other/1.0"
		require.Equal(t, "other/1.0", f.Agent())
	})

	t.Run("AreNamedWhenOutOfBounds", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, defaults.Validate())
		short := defaults
		short.Timeout = time.Second // less than a connection may take by default
		require.NoError(t, short.Validate())
		for want, change := range map[string]func(*wiring.FetchFlags){
			"--timeout 999ms":    func(f *wiring.FetchFlags) { f.Timeout = 999 * time.Millisecond },
			"--timeout 10m1s":    func(f *wiring.FetchFlags) { f.Timeout = 10*time.Minute + time.Second },
			"--max-fetches 0":    func(f *wiring.FetchFlags) { f.MaxFetches = 0 },
			"--user-agent":       func(f *wiring.FetchFlags) { f.UserAgent = "(nobody)" },
			"--dns-server":       func(f *wiring.FetchFlags) { f.DNSServer = []string{"1.1.1.1"} },
			"valid header value": func(f *wiring.FetchFlags) { f.Contact = "you\nX-Other: header" },
		} {
			f := defaults
			change(&f)
			require.ErrorContains(t, f.Validate(), want)
		}
		f := wiring.FetchFlags{}
		require.ErrorContains(t, f.Validate(), "--timeout")
		require.ErrorContains(t, f.Validate(), "--max-fetches", "all faults at once")
	})
}
