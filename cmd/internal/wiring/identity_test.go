package wiring_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

func TestPublished(t *testing.T) {
	t.Parallel()
	const page, mail = "https://crawler.example.org/", "you@example.org"
	of := func(contact string, f wiring.IdentityFlags) (wiring.Published, error) {
		return f.Published(wiring.AgentFlags{Contact: contact})
	}
	for _, c := range []struct {
		contact, page, mail string
		isPage, names       string
	}{
		{page, "", "", page, ""},
		{page, page, "", page, ""},
		{page, "", mail, page, mail},
		{mail, page, "", page, mail},
		{"https://example.org/write", page, "", page, "https://example.org/write"},
		{mail, "", "", "", mail},
		{"", "", "", "", ""},
	} {
		id, err := of(c.contact, wiring.IdentityFlags{Page: c.page, Mail: c.mail})
		require.NoError(t, err)
		require.Equal(t, c.isPage != "", id.HasPage, c)
		require.Equal(t, c.isPage, id.Page.String(), c)
		require.Equal(t, c.names, id.Contact, c)
	}

	id, err := of("", wiring.IdentityFlags{Addresses: []string{"192.0.2.7", " 2001:db8::1/64"}, ReverseDNS: ".Crawl.example.org"})
	require.NoError(t, err)
	networks := []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/64")}
	require.Equal(t, networks, id.Networks)
	require.Equal(t, "crawl.example.org", id.ReverseDNS)
	file := filepath.Join(t.TempDir(), "networks")
	require.NoError(t, os.WriteFile(file, []byte("# ours\n192.0.2.7 # one\n\n2001:db8::/64\n"), 0o600))
	id, err = of("", wiring.IdentityFlags{Addresses: []string{file}})
	require.NoError(t, err)
	require.Equal(t, networks, id.Networks)
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.WriteFile(bad, []byte("192.0.2.7\n<html>\n"), 0o600))

	for _, c := range []struct {
		f    wiring.IdentityFlags
		want []string
	}{
		{wiring.IdentityFlags{Page: "crawler"}, []string{`--page "crawler"`, "want the URL"}},
		{wiring.IdentityFlags{Mail: "x"}, []string{`--mail "x"`, "want a mail address"}},
		{wiring.IdentityFlags{ReverseDNS: "org"}, []string{`--reverse-dns "org"`, "want a domain"}},
		{wiring.IdentityFlags{ReverseDNS: "a b"}, []string{`--reverse-dns "a b"`}},
		{wiring.IdentityFlags{Addresses: []string{"nowhere"}}, []string{`--addresses "nowhere"`, "192.0.2.7", "no such file"}},
		{wiring.IdentityFlags{Addresses: []string{"192.0.2.7", "x"}}, []string{`--addresses "x"`}},
		{wiring.IdentityFlags{Addresses: []string{bad}}, []string{"--addresses " + bad, `"<html>"`}},
		{wiring.IdentityFlags{Addresses: []string{t.TempDir()}}, []string{"--addresses ", "directory"}},
		{wiring.IdentityFlags{Addresses: strings.Fields(strings.Repeat("192.0.2.7 ", 1001))}, []string{"1001 networks"}},
	} {
		_, err := of("", c.f)
		for _, part := range c.want {
			require.ErrorContains(t, err, part)
		}
	}
	_, err = of("", wiring.IdentityFlags{Page: "https://us:secret@example.org/"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
