package dns

import (
	"fmt"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestNameServers(t *testing.T) {
	t.Parallel()
	many := make([]string, 20)
	for n := range many {
		many[n] = fmt.Sprintf("many.test. 60 IN NS ns.host%02d.example.", n)
	}
	server := serve(t, map[string]behaviour{
		"bot.test.":  gives("bot.test. 60 IN NS B.ns.hoster.co.uk.", "bot.test. 60 IN NS a.ns.hoster.co.uk.", "bot.test. 60 IN NS ns.second.example.", "bot.test. 60 IN A 192.0.2.1"),
		"many.test.": gives(many...),
		"none.test.": gives(),
		"fail.test.": fails(dns.RcodeServerFailure),
	})
	r, _ := newResolver(t, Config{timeout: 5 * time.Second}, server)
	for domain, want := range map[string][]string{"bot.test": {"hoster.co.uk", "second.example"}, "none.test": nil} {
		found, err := r.NameServers(t.Context(), domain)
		require.NoError(t, err)
		require.Equal(t, want, found)
	}
	found, err := r.NameServers(t.Context(), "many.test")
	require.NoError(t, err)
	require.Len(t, found, maxNames)
	for _, domain := range []string{"fail.test", "bad name"} {
		_, err := r.NameServers(t.Context(), domain)
		require.ErrorContains(t, err, domain)
	}
}
