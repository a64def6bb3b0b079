package urls_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

var fuzzSeeds = []string{
	"https://example.org/", "HTTP://Example.ORG:80/a/../b?x=1&utm_source=y#f", "http:example.org", `https:\\a.b\c\..\d`,
	"https://bücher.example/ä?ö=ü", "https://xn--bcher-kva.example/", "http://0x7f.1/", "http://[::ffff:1.2.3.4]:8080/x",
	"https://a.example/%7e%2e%2E/%2%34%zz?%41=%e4#%", "https://a.example/x;jsessionid=1/..;JSESSIONID=2/y?sid=1&&a",
	"https://user:pw@a.example/", "//b.example/c", "?q", "#f", "../x", "https:x", "/\\b.example", "javascript:void(0)", "",
	"https://a.example./", "https://a..example/", "http://www.www.example.com", "http://-5/", "http://１２７.0.0.1/",
	"\x00 https://a.b\n/\t ", "https://a_b.example/|^`{}'\"<>", "https://a.b:0/", "https://a.b:65536/", "http://[::1%25x]/",
	"https://a.example/\xda\n\xaa", "https://a.example/jos\xe9?\x80%\xf7",
}

func FuzzParse(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, raw, ref string) {
		u, err := urls.Parse(raw)
		compareWithWHATWG(t, "", raw, u, err)
		if err != nil {
			requireError(t, err)
			return
		}
		requireCanonical(t, u)
		target, err := u.Resolve(ref)
		compareWithWHATWG(t, u.String(), ref, target, err)
		if err != nil {
			requireError(t, err)
			return
		}
		requireCanonical(t, target)

		spelt, err := urls.Spelt{URL: u}.Resolve(ref)
		require.NoError(t, err)
		require.Equal(t, target, spelt.URL)
		again, err := urls.Parse(target.Origin() + spelt.RequestTarget())
		require.NoError(t, err)
		require.Equal(t, target, again, "%q is another page", spelt.RequestTarget())
	})
}

// requireCanonical checks what [urls.URL] promises of every URL.
func requireCanonical(t *testing.T, u urls.URL) {
	t.Helper()
	s := u.String()
	again, err := urls.Parse(s)
	require.NoError(t, err, s)
	require.Equal(t, u, again, "not a fixed point")
	self, err := u.Resolve(s)
	require.NoError(t, err, s)
	require.Equal(t, u, self)
	self, err = u.Resolve("")
	require.NoError(t, err, s)
	require.Equal(t, u, self)

	require.LessOrEqual(t, len(s), urls.MaxLength)
	for i := range len(s) {
		require.True(t, s[i] > ' ' && s[i] < 0x7F, "byte %#x in %q", s[i], s)
	}
	require.Equal(t, s, u.Origin()+u.RequestTarget())
	require.True(t, strings.HasPrefix(u.RequestTarget(), "/"), s)
	require.NotEmpty(t, u.Host())

	// net/http must send exactly what robots.txt was asked about.
	std, err := url.Parse(s)
	require.NoError(t, err)
	require.Equal(t, s, std.String())
	require.Equal(t, u.RequestTarget(), std.RequestURI())
	require.Equal(t, u.Host(), std.Hostname())
	require.Equal(t, u.Scheme(), std.Scheme)

	key, err := urls.DomainOf(u.Host())
	require.NoError(t, err)
	require.Equal(t, u.Domain(), key)
}

// compareWithWHATWG checks u and err, our result for ref on the page base (or
// without one), against an independent implementation of the standard. The standard parses code
// points; bytes that are not UTF-8, as in a Location, are percent-encoded for it.
func compareWithWHATWG(t *testing.T, base, ref string, u urls.URL, err error) {
	t.Helper()
	theirs, theirErr := whatwg.ParseRef(escapeOctets(base), escapeOctets(ref))
	switch {
	case theirErr != nil:
		// It takes "a.-5" for an IPv4 address with a bad number in it.
		if err == nil && !strings.HasPrefix(u.Host()[strings.LastIndexByte(u.Host(), '.')+1:], "-") {
			t.Fatalf("%q on %q: %v, but accepted as %v", ref, base, theirErr, u)
		}
	case err == nil:
		if strings.HasPrefix(u.Host(), "-") {
			return // likewise: "-5" is 255.255.255.251
		}
		want, wantErr := urls.Parse(theirs.Href(true))
		if errors.Is(wantErr, urls.ErrTooLong) {
			return // with escaped octets
		}
		require.NoError(t, wantErr, "%q on %q", ref, base)
		require.Equal(t, want, u, "%q on %q", ref, base)
	case theirs.Scheme() != "http" && theirs.Scheme() != "https":
		require.ErrorIs(t, err, urls.ErrScheme, "%q on %q", ref, base)
	case errors.Is(err, urls.ErrUserinfo):
		require.Contains(t, ref, "@")
	case errors.Is(err, urls.ErrSyntax):
		require.Equal(t, "0", theirs.Port(), "%q on %q", ref, base)
	case errors.Is(err, urls.ErrTooLong):
		require.Greater(t, len(base)+len(ref)*len("%EF%BF%BD"), urls.MaxLength)
	default: // our rules for hosts are narrower
		require.ErrorIs(t, err, urls.ErrHost, "%q on %q", ref, base)
	}
}

// escapeOctets percent-encodes the bytes of s that are not UTF-8.
func escapeOctets(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func requireError(t *testing.T, err error) {
	t.Helper()
	var urlErr *urls.Error
	require.ErrorAs(t, err, &urlErr)
	require.LessOrEqual(t, len(urlErr.Input), 103)
	reasons := 0
	for _, reason := range []error{
		urls.ErrScheme, urls.ErrUserinfo, urls.ErrTooLong, urls.ErrHost, urls.ErrSyntax,
	} {
		if errors.Is(err, reason) {
			reasons++
		}
	}
	require.Equal(t, 1, reasons, err)
}

func FuzzDomainOf(f *testing.F) {
	for _, s := range append(fuzzSeeds,
		"www.example.com", "WWW.www.Example.com.", "www.com", "www.co.uk", "www.gov.uk", "::1", "[::1]:80", "bücher.de:80",
		"www.ck", "www.city.kawasaki.jp", "example.com/", "user@example.com", "\u226f", "a\u226f.example") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		key, err := urls.DomainOf(host)
		if err != nil {
			requireError(t, err)
			return
		}
		require.NotEmpty(t, key)
		require.Equal(t, strings.ToLower(key), key)
		again, err := urls.DomainOf(key)
		require.NoError(t, err, key)
		require.Equal(t, key, again)

		registered := urls.Registered(host)
		require.True(t, registered == key || strings.HasSuffix(key, "."+registered), "%q of %q", registered, key)
		require.Equal(t, registered, urls.Registered(registered))
	})
}
