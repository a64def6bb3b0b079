package wiring_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

func TestContact(t *testing.T) {
	t.Parallel()
	flags := func(contact string) wiring.FetchFlags {
		return wiring.FetchFlags{Timeout: 30 * time.Second, MaxFetches: 256, AgentFlags: wiring.AgentFlags{Contact: contact}}
	}
	for _, good := range []string{
		"", "you@example.org", "mailto:you@example.org", "you+crawls@mail.example.org", "https://crawler.example.com",
		"http://example.org/crawler?who=we", "http://192.0.2.7/",
	} {
		require.NoError(t, flags(good).Validate(), good)
	}
	for _, bad := range []string{
		"foo", "foo.example", "you@", "@example.org", "you@localhost", "You <you@example.org>", "you@exa mple.org",
		"https://", "https:example.org", "https://localhost/", "https://example.org/ (us)", "ftp://example.org/",
		"you@example.org\nX-Other: header", "https://example.org/\nX-Other: header",
	} {
		require.ErrorContains(t, flags(bad).Validate(), "want a URL or mail address at which site owners reach you", bad)
	}
	err := flags("https://us:secret@example.org/").Validate()
	require.ErrorContains(t, err, "--contact: ")
	require.ErrorContains(t, err, "user names and passwords are refused")
	require.NotContains(t, err.Error(), "secret")

	require.Contains(t, flags("").ContactWarning(), "--contact (or MOSEY_CONTACT)")
	require.Empty(t, flags("you@example.org").ContactWarning())
	own := flags("")
	own.UserAgent = "ours/1.0 (+https://crawler.example.com/)"
	require.Empty(t, own.ContactWarning())
	own.UserAgent = "ours/1.0"
	require.NotEmpty(t, own.ContactWarning())
}

func TestAllowNetwork(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"127.0.0.1": "127.0.0.1/32", "::1": "::1/128", "::ffff:127.0.0.1": "127.0.0.1/32", "10.0.0.0/8": "10.0.0.0/8", "fd00::/8": "fd00::/8",
	} {
		c, err := parse(t, "", "crawl", "--allow-network", text)
		require.NoError(t, err)
		require.Equal(t, []netip.Prefix{netip.MustParsePrefix(want)}, c.Crawl.AllowNetwork)
	}
	for _, bad := range []string{"10.0.0", "localhost", "10.0.0.0/33", "fe80::1%eth0", "::ffff:10.0.0.0/104", "10.0.0.1:80", "10.0.0.0/8/8"} {
		_, err := parse(t, "", "crawl", "--allow-network", bad)
		require.ErrorContains(t, err, "is not a network: want an address or a range, such as 192.0.2.7 or 10.0.0.0/8", bad)
		require.ErrorContains(t, err, "--allow-network", bad)
	}
}

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
			"valid header value": func(f *wiring.FetchFlags) { f.UserAgent = "mosey/1\nX-Other: header" },
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
