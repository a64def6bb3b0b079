package dns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSystemOf(t *testing.T) {
	t.Parallel()
	local := []string{"127.0.0.1:53", "[::1]:53"}
	for name, test := range map[string]struct {
		config  Config
		text    string
		servers []string
		search  []string
		timeout time.Duration
		tries   int
	}{
		"Missing": {
			servers: local, timeout: 5 * time.Second, tries: 2,
		},
		"Usual": {
			text:    "# by dhcp\nnameserver 192.0.2.53\nnameserver 2001:db8::53\nsearch a.test b.test\noptions timeout:1 attempts:3\n",
			servers: []string{"192.0.2.53:53", "[2001:db8::53]:53"},
			search:  []string{"a.test", "b.test"}, timeout: time.Second, tries: 3,
		},
		"Scoped": {
			text: "nameserver fe80::1%eth0\n", servers: []string{"[fe80::1%eth0]:53"}, timeout: 5 * time.Second, tries: 2,
		},
		"Nonsense": {
			text: "nameserver host.test\noptions timeout:x attempts:-1\n", servers: local, timeout: time.Second, tries: 1,
		},
		"Excess": {
			text:    strings.Repeat("nameserver 192.0.2.53\n", 100) + "search a b c d e f g h\noptions timeout:99999 attempts:99999\n",
			servers: strings.Split(strings.Repeat(" 192.0.2.53:53", maxServers), " ")[1:],
			search:  []string{"a", "b", "c", "d", "e", "f"}, timeout: 30 * time.Second, tries: 5,
		},
		"TheConfigWins": {
			config: Config{tryTimeout: 7 * time.Second, tries: 4}, text: "options timeout:1 attempts:3\n",
			servers: local, timeout: 7 * time.Second, tries: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := test.config.systemOf([]byte(test.text))
			addrs := make([]string, len(sys.servers))
			for i, srv := range sys.servers {
				addrs[i] = srv.addr
			}
			require.Equal(t, test.servers, addrs)
			require.ElementsMatch(t, test.search, sys.search)
			require.Equal(t, test.timeout, sys.timeout)
			require.Equal(t, test.tries, sys.tries)
		})
	}
}

func TestSystemServersFollowTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(path, []byte("nameserver 192.0.2.1\n"), 0o600))
	began := time.Now()
	system, err := Config{resolvConf: path}.watchSystem(began)
	require.NoError(t, err)
	require.Equal(t, "192.0.2.1:53", system(began).servers[0].addr)

	require.NoError(t, os.WriteFile(path, []byte("nameserver 192.0.2.20\n"), 0o600))
	require.Equal(t, "192.0.2.1:53", system(began.Add(fileCheckInterval - 1)).servers[0].addr)
	changed := system(began.Add(fileCheckInterval))
	require.Equal(t, "192.0.2.20:53", changed.servers[0].addr)
	require.Same(t, changed, system(began.Add(2*fileCheckInterval)), "what is known of a server outlasts a look at the file")

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Same(t, changed, system(began.Add(3*fileCheckInterval)), "an unreadable file leaves what was read before")
}

func TestOrderPutsRestingServersLast(t *testing.T) {
	t.Parallel()
	sys := &system{servers: newServers([]string{"a:53", "b:53", "c:53"})}
	now := time.Now()
	order := func(at time.Time) string {
		var list []string
		for _, srv := range sys.order(at) {
			list = append(list, srv.addr[:1])
		}
		return strings.Join(list, "")
	}
	require.Equal(t, "abc", order(now))
	sys.servers[0].markSilent(now)
	sys.servers[1].markSilent(now)
	require.Equal(t, "cab", order(now))
	require.Equal(t, "abc", order(now.Add(silentServerPause)))
}

func TestReadStartKeepsWholeLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hosts")
	line := "192.0.2.1 site.test\n"
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(line, maxFileBytes/len(line)+10)), 0o600))
	text, err := readStart(path)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), maxFileBytes)
	require.Greater(t, len(text), maxFileBytes-len(line))
	require.Zero(t, len(text)%len(line))
}
