package urls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

func TestReadName(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		page             string
		bare, host, site bool
	}{
		"https://a.example":   {"https://a.example/", false, false, true},
		" http://A.example/ ": {"http://a.example/", false, false, true}, //nolint:gocritic // as typed
		"http://a.example/b":  {"http://a.example/b", false, false, false},
		"a.example":           {"https://a.example/", true, true, true},
		"a.example:8080":      {"https://a.example:8080/", true, true, true},
		"a.example/":          {"https://a.example/", true, false, true},
		"a.example/b?c":       {"https://a.example/b?c", true, false, false},
		"a.example?c":         {"https://a.example/?c", true, false, false},
		"localhost":           {"https://localhost/", true, true, true},
		"2001:db8::1":         {"https://[2001:db8::1]/", true, true, true},
	} {
		n, err := urls.ReadName(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want.page, n.Page.String(), raw)
		require.Equal(t, want.bare, n.Schemeless, raw)
		require.Equal(t, want.host, n.Host, raw)
		require.Equal(t, want.site, n.IsSite(), raw)
	}
}

func TestReadNamesInputReasonAndRemedy(t *testing.T) {
	t.Parallel()
	page := func(raw string) error { _, err := urls.ReadPage(raw); return err }
	domain := func(raw string) error { _, err := urls.ReadDomain(raw); return err }
	either := func(raw string) error { _, err := urls.ReadPageOrDomain(raw); return err }
	const wantPage = "want a URL or a host with a path, such as https://example.org/about or example.org/about"
	for _, c := range []struct {
		read      func(string) error
		raw, says string
	}{
		{page, "word", `URL "word": scheme is not http or https: ` + wantPage},
		{page, "https://you:pw@a.example/", `URL "https://…@a.example/": user names and passwords are refused: ` + wantPage},
		{domain, "a b", `domain "a b": host is missing or malformed: want a host name, such as example.org`},
		{domain, "", `domain "": host is missing or malformed: want a host name, such as example.org`},
		{domain, "ftp://a.example", `domain "ftp://a.example": scheme is not http or https: want a host name, such as example.org`},
		{either, "a b", `domain "a b": host is missing or malformed: want a host name such as example.org, or a URL such as `},
		{either, "a b/c", `URL "a b/c": host is missing or malformed: ` + wantPage},
		{either, "ftp://a.example/", `URL "ftp://a.example/": scheme is not http or https: ` + wantPage},
	} {
		err := c.read(c.raw)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, crawl.ErrInvalid)
		require.NotContains(t, err.Error(), "pw")
	}
}
