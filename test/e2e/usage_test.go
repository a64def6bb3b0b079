package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/up"
)

func TestUsage(t *testing.T) {
	t.Parallel()

	t.Run("BadInputIsOneClearErrorAndExitCode2", func(t *testing.T) {
		t.Parallel()
		beside(t)
		for name, c := range map[string]struct {
			args []string
			want string
		}{
			"unknown command": {[]string{"fly"}, "fly"},
			"unknown flag":    {[]string{"crawl", "https://a.test/", "--speed", "9"}, "--speed"},
			"no duration":     {[]string{"crawl", "https://a.test/", "--delay", "ten"}, "--delay"},
			"negative delay":  {[]string{"crawl", "https://a.test/", "--delay=-1s"}, "delay -1s"},
			"no scope":        {[]string{"crawl", "https://a.test/", "--scope", "moon"}, "scope"},
			"no network":      {[]string{"crawl", "https://a.test/", "--allow-network", "10.0.0"}, "--allow-network"},
			"no name server":  {[]string{"crawl", "https://a.test/", "--dns-server", "1.1.1.1"}, "--dns-server"},
			"no http URL":     {[]string{"crawl", "ftp://a.test/"}, "ftp://a.test/"},
			"no file":         {[]string{"crawl", "a.test"}, "https://a.test/"},
			"no run name":     {[]string{"crawl", "https://a.test/", "--run", "a/b"}, "run \"a/b\""},
			"no product":      {[]string{"crawl", "https://a.test/", "--user-agent", "123"}, "--user-agent"},
			"no page URL":     {[]string{"page", "a b"}, "https://example.org/"},
		} {
			dir := up.Dir(t)
			p := start(t, environ(), moseyBin, append([]string{"--data-dir", dir}, c.args...)...)
			require.Equal(t, 2, p.wait(t, time.Minute), "%s: %s", name, p.out)
			require.Contains(t, p.out.String(), c.want, name)
			require.Contains(t, p.out.String(), "mosey: ", name)
		}
	})

	t.Run("ASecondMoseyOnTheDirectoryIsToldWhatToDo", func(t *testing.T) {
		t.Parallel()
		beside(t)
		dir := up.Dir(t)
		server := start(t, environ(), moseyBin, "--data-dir", dir, "up", "--no-worker")
		server.field(t, "Ready.")
		second := start(t, environ(), moseyBin, "--data-dir", dir, "up")
		require.Equal(t, 1, second.wait(t, time.Minute), second.out)
		require.Contains(t, second.out.String(), dir)
		require.Contains(t, second.out.String(), "TEMPORAL_ADDRESS=")
		status := start(t, environ(), moseyBin, "--data-dir", dir, "status")
		require.Zero(t, status.wait(t, time.Minute), status.out)
	})
}
