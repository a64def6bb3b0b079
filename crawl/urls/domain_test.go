package urls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

func TestDomainOf(t *testing.T) {
	t.Parallel()
	for why, c := range map[string][2]string{
		"plain name":                     {"example.org", "example.org"},
		"case":                           {"EXAMPLE.Org", "example.org"},
		"trailing dot":                   {"example.org.", "example.org"},
		"port":                           {"example.org:8443", "example.org"},
		"www":                            {"www.example.org", "example.org"},
		"www in capitals":                {"WWW.example.org", "example.org"},
		"www twice":                      {"www.www.example.org", "example.org"},
		"www below a country's suffix":   {"www.example.co.uk", "example.co.uk"},
		"other subdomains stay":          {"blog.example.org", "blog.example.org"},
		"www in the middle stays":        {"a.www.example.org", "a.www.example.org"},
		"name that begins with www":      {"wwwexample.org", "wwwexample.org"},
		"www2 stays":                     {"www2.example.org", "www2.example.org"},
		"www as the registered name":     {"www.com", "www.com"},
		"www as the registered name, uk": {"www.co.uk", "www.co.uk"},
		"www of a government":            {"www.gov.uk", "www.gov.uk"},
		"www of a hosting suffix":        {"www.github.io", "www.github.io"},
		"www of a site on hosting":       {"www.someone.github.io", "someone.github.io"},
		"www.www on a suffix":            {"www.www.com", "www.com"},
		"wildcard suffix":                {"www.foo.ck", "www.foo.ck"},
		"exception from a wildcard":      {"www.city.kawasaki.jp", "city.kawasaki.jp"},
		"www of a single label":          {"www.localhost", "www.localhost"},
		"unknown suffix":                 {"www.example.internal", "example.internal"},
		"only www":                       {"www", "www"},
		"single label":                   {"localhost", "localhost"},
		"international name":             {"www.Bücher.example", "xn--bcher-kva.example"},
		"IPv4 address":                   {"192.0.2.7", "192.0.2.7"},
		"IPv4 address in disguise":       {"0x7f.1", "127.0.0.1"},
		"IPv6 address":                   {"2001:DB8::1", "2001:db8::1"},
		"IPv6 address in brackets":       {"[2001:db8::1]:80", "2001:db8::1"},
		"URL":                            {"http://www.example.org:8080/a?b", "example.org"},
		"host with a path":               {"example.org/a", "example.org"},
		"host with a query":              {"example.org?a", "example.org"},
		"spaces around":                  {" example.org\n", "example.org"},
		"backslash":                      {"example.org\\evil.org", "example.org"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			got, err := urls.DomainOf(c[0])
			require.NoError(t, err)
			require.Equal(t, c[1], got)
		})
	}
	for host, reason := range map[string]error{
		"":                   urls.ErrHost,
		".":                  urls.ErrHost,
		"//example.org":      urls.ErrHost,
		"user@example.org":   urls.ErrUserinfo,
		"example.org:x":      urls.ErrSyntax,
		"fe80::1%eth0":       urls.ErrHost,
		"www.192.0.2.7":      urls.ErrHost,
		"a b.example":        urls.ErrHost,
		"exa\u200bmple..org": urls.ErrHost,
		"ftp://example.org/": urls.ErrScheme,
	} {
		_, err := urls.DomainOf(host)
		require.ErrorIs(t, err, reason, host)
		requireError(t, err)
	}
}

func TestRegistered(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]string{
		"example.org":            "example.org",
		"a.b.example.org":        "example.org",
		"www.a.b.example.co.uk":  "example.co.uk",
		"a.someone.github.io":    "someone.github.io",
		"a.city.kawasaki.jp":     "city.kawasaki.jp",
		"a.b.xn--bcher-kva.de":   "xn--bcher-kva.de",
		"a.example.internal":     "example.internal",
		"co.uk":                  "co.uk",
		"github.io":              "github.io",
		"localhost":              "localhost",
		"192.0.2.7":              "192.0.2.7",
		"2001:db8::1":            "2001:db8::1",
		"www.com":                "www.com",
		"Shop.EXAMPLE.org.:8080": "example.org",
		"a..b":                   "a..b",
	} {
		require.Equal(t, want, urls.Registered(domain), domain)
	}
}

func BenchmarkDomain(b *testing.B) {
	u, err := urls.Parse("https://www.example.co.uk/")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_ = u.Domain()
	}
}
