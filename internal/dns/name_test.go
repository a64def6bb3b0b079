package dns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

func TestParseHosts(t *testing.T) {
	t.Parallel()
	known := parseHosts([]byte(strings.Join([]string{
		"# comment",
		"127.0.0.1\tlocalhost  Alias.Test. # trailing",
		"::1 localhost",
		"192.0.2.1 localhost",
		"192.0.2.1 localhost",
		"fe80::1%lo0 localhost",
		"not-an-address localhost",
		"192.0.2.2",
		"192.0.2.3 bad..name good.test",
		"::ffff:192.0.2.4 mapped.test",
		"192.0.2.5 last.test",
	}, "\n")))
	for name, want := range map[string][]string{
		"localhost":   {"127.0.0.1", "::1", "192.0.2.1"},
		"alias.test":  {"127.0.0.1"},
		"good.test":   {"192.0.2.3"},
		"mapped.test": {"192.0.2.4"},
		"last.test":   {"192.0.2.5"},
	} {
		require.Contains(t, known, name)
		require.Equal(t, addresses(want...), interleave(known[name]), name)
	}
	require.Len(t, known, 5)
}

func TestParseHostsBoundsTheAddressesOfAName(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "192.0.2.%d site.test\n2001:db8::%d site.test\n", i, i)
	}
	require.Len(t, interleave(parseHosts([]byte(text.String()))["site.test"]), 2*maxAddrs)
}

// A host that package urls takes is resolved: it is never refused without a query.
func FuzzHostsOfURLs(f *testing.F) {
	for _, host := range []string{
		"site.test", "-lead.test", "trail-.test", "a--b.test", "my_site.test", "_.test", "site.onion", "xn--bcher-kva.test", "a.", "localhost",
		"example.invalid", "[::1]", "127.1", "K.test",
	} {
		f.Add(host)
	}
	r := &Resolver{now: time.Now, hosts: &watchedFile[hosts]{}}
	f.Fuzz(func(t *testing.T, host string) {
		u, err := urls.Parse("http://" + host + "/")
		if err != nil {
			return
		}
		_, _, err = r.local(u.Host())
		require.NoError(t, err, u.Host())
	})
}

func FuzzParseHosts(f *testing.F) {
	f.Add([]byte("127.0.0.1 localhost # x\n::1\tlocalhost\n"))
	f.Add([]byte("\xff fe80::1%lo0 a.\n#"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, entry := range parseHosts(text) {
			again, err := urls.HostName(name)
			require.NoError(t, err)
			require.Equal(t, name, again)
			for i, list := range entry {
				require.LessOrEqual(t, len(list), maxAddrs)
				for _, addr := range list {
					require.Equal(t, i == 0, addr.Is4())
					require.Empty(t, addr.Zone())
				}
			}
			require.NotEmpty(t, interleave(entry))
		}
	})
}
