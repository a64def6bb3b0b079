package urls_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for why, c := range map[string][2]string{
		"canonical URL stays":                     {"https://example.org/a?b=c", "https://example.org/a?b=c"},
		"empty path becomes slash":                {"https://example.org", "https://example.org/"},
		"empty path before query":                 {"https://example.org?a=b", "https://example.org/?a=b"},
		"scheme case":                             {"HTTPS://example.org/", "https://example.org/"},
		"host case, not path case":                {"https://EXAMPLE.org/PaTh?Q=V", "https://example.org/PaTh?Q=V"},
		"default port of https":                   {"https://example.org:443/", "https://example.org/"},
		"default port of http":                    {"http://example.org:80/", "http://example.org/"},
		"other scheme's default port stays":       {"http://example.org:443/", "http://example.org:443/"},
		"empty port":                              {"http://example.org:/", "http://example.org/"},
		"leading zeros of a port":                 {"http://example.org:008080/", "http://example.org:8080/"},
		"trailing dot of the host":                {"https://example.org./x", "https://example.org/x"},
		"trailing dot before a port":              {"https://example.org.:8443/x", "https://example.org:8443/x"},
		"fragment":                                {"https://example.org/a#b", "https://example.org/a"},
		"fragment that looks like a query":        {"https://example.org/a#?b=c", "https://example.org/a"},
		"hash-bang fragment":                      {"https://example.org/#!/a", "https://example.org/"},
		"fragment right after the host":           {"https://example.org#a", "https://example.org/"},
		"spaces and control characters around":    {"\x00 \u0020https://example.org/ \r\n", "https://example.org/"},
		"line breaks and tabs inside":             {"ht\ntps://exa\tmple.org/a\r\nb", "https://example.org/ab"},
		"backslashes are slashes":                 {`https:\\example.org\a\b`, "https://example.org/a/b"},
		"backslash in a query is not":             {`https://example.org/?a\b`, "https://example.org/?a%5Cb"},
		"no slashes after the scheme":             {"https:example.org/a", "https://example.org/a"},
		"too many slashes after the scheme":       {"https:////example.org/a", "https://example.org/a"},
		"www stays in a URL":                      {"https://www.example.org/", "https://www.example.org/"},
		"single label host":                       {"http://localhost:8080/", "http://localhost:8080/"},
		"underscore in a host":                    {"https://my_blog.example.org/", "https://my_blog.example.org/"},
		"label that begins with a hyphen":         {"https://-lead.example.org/", "https://-lead.example.org/"},
		"label that ends with a hyphen":           {"https://a.trail-.example.org/", "https://a.trail-.example.org/"},
		"international host":                      {"https://Bücher.example/", "https://xn--bcher-kva.example/"},
		"international host, percent-encoded":     {"https://b%C3%BCcher.example/", "https://xn--bcher-kva.example/"},
		"punycode host":                           {"https://XN--BCHER-KVA.example/", "https://xn--bcher-kva.example/"},
		"sharp s is not ss":                       {"https://faß.example/", "https://xn--fa-hia.example/"},
		"ideographic full stop":                   {"https://example。org/", "https://example.org/"},
		"full-width letters":                      {"https://ｅｘａｍｐｌｅ.org/", "https://example.org/"},
		"IPv4 address":                            {"http://192.0.2.7/", "http://192.0.2.7/"},
		"hexadecimal short IPv4 address":          {"http://0x7f.1/", "http://127.0.0.1/"},
		"IPv4 address as one number":              {"http://2130706433/", "http://127.0.0.1/"},
		"octal IPv4 address":                      {"http://0177.0.0.1/", "http://127.0.0.1/"},
		"IPv4 address with a trailing dot":        {"http://192.0.2.7./", "http://192.0.2.7/"},
		"IPv6 address":                            {"http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"},
		"IPv6 address with port":                  {"http://[::1]:8080/", "http://[::1]:8080/"},
		"IPv4 address in IPv6":                    {"http://[::ffff:192.0.2.7]/", "http://[::ffff:c000:207]/"},
		"single dot segment":                      {"https://example.org/a/./b", "https://example.org/a/b"},
		"double dot segment":                      {"https://example.org/a/../b", "https://example.org/b"},
		"double dot at the end":                   {"https://example.org/a/b/..", "https://example.org/a/"},
		"single dot at the end":                   {"https://example.org/a/.", "https://example.org/a/"},
		"more double dots than segments":          {"https://example.org/../../a", "https://example.org/a"},
		"percent-encoded dot segments":            {"https://example.org/a/%2E%2e/b/%2e", "https://example.org/b/"},
		"mixed dot segment":                       {"https://example.org/a/.%2E/b", "https://example.org/b"},
		"three dots are a name":                   {"https://example.org/a/.../b", "https://example.org/a/.../b"},
		"double dot eats an empty segment":        {"https://example.org/a//../b", "https://example.org/a/b"},
		"empty segments stay":                     {"https://example.org//a///b//", "https://example.org//a///b//"},
		"dots in a query stay":                    {"https://example.org/?a=/../b", "https://example.org/?a=/../b"},
		"hexadecimal digits in upper case":        {"https://example.org/%e4%2f?%3d", "https://example.org/%E4%2F?%3D"},
		"unreserved characters are decoded":       {"https://example.org/%41%7e%2D%5f?%62=%30", "https://example.org/A~-_?b=0"},
		"reserved characters stay encoded":        {"https://example.org/%2F%3F%23?%26%3D%2B", "https://example.org/%2F%3F%23?%26%3D%2B"},
		"reserved characters stay raw":            {"https://example.org/!$&'()*+,;=:@[]", "https://example.org/!$&'()*+,;=:@[]"},
		"reserved characters stay raw in a query": {"https://example.org/?a[]=!$()*+,;:@/?", "https://example.org/?a[]=!$()*+,;:@/?"},
		"apostrophe in a query":                   {"https://example.org/it's?it's", "https://example.org/it's?it%27s"},
		"encoded percent sign is decoded once":    {"https://example.org/%2541", "https://example.org/%2541"},
		"stray percent sign":                      {"https://example.org/100%?x=5%&y=%zz", "https://example.org/100%25?x=5%25&y=%25zz"},
		"stray percent sign before an escape":     {"https://example.org/%4%31", "https://example.org/%2541"},
		"space":                                   {"https://example.org/a b?c d", "https://example.org/a%20b?c%20d"},
		"plus is not a space":                     {"https://example.org/a+b?c+d=%20", "https://example.org/a+b?c+d=%20"},
		"umlauts as UTF-8":                        {"https://example.org/ä?ö=ü", "https://example.org/%C3%A4?%C3%B6=%C3%BC"},
		"Unicode is not normalised":               {"https://example.org/a\u0308", "https://example.org/a%CC%88"},
		"emoji":                                   {"https://example.org/😀", "https://example.org/%F0%9F%98%80"},
		"bytes that are not UTF-8":                {"https://example.org/jos\xe9?\xe4", "https://example.org/jos%E9?%E4"},
		"escapes that are not UTF-8 stay":         {"https://example.org/%E4", "https://example.org/%E4"},
		"what RFC 3986 forbids":                   {"https://example.org/\"<>^`{|}?\"<>^`{|}", "https://example.org/%22%3C%3E%5E%60%7B%7C%7D?%22%3C%3E%5E%60%7B%7C%7D"},
		"NUL inside":                              {"https://example.org/a\x00b", "https://example.org/a%00b"},
		"delete character":                        {"https://example.org/a\x7fb", "https://example.org/a%7Fb"},
		"empty query":                             {"https://example.org/a?", "https://example.org/a"},
		"question mark in a query":                {"https://example.org/a??b", "https://example.org/a??b"},
		"order of the query":                      {"https://example.org/?z=1&a=2&m=3&a=1", "https://example.org/?z=1&a=2&m=3&a=1"},
		"parameters without value":                {"https://example.org/?a&b=&=c", "https://example.org/?a&b=&=c"},
		"empty parameters":                        {"https://example.org/?&&a", "https://example.org/?&&a"},
		"campaign parameters":                     {"https://example.org/?utm_source=a&id=1&utm_medium=b&UTM_Campaign=c", "https://example.org/?id=1"},
		"campaign parameters only":                {"https://example.org/a?utm_source=a&utm_id=b", "https://example.org/a"},
		"campaign parameters without values":      {"https://example.org/?utm_source&a", "https://example.org/?a"},
		"campaign parameters, percent-encoded":    {"https://example.org/?utm%5Fsource=a&%67clid=1", "https://example.org/"},
		"prefix of a campaign parameter":          {"https://example.org/?utm=1&utm_=2&utmost_x=3", "https://example.org/?utm=1&utm_=2&utmost_x=3"},
		"click ids":                               {"https://example.org/?gclid=1&fbclid=2&msclkid=3&x=4&yclid=5&twclid=6", "https://example.org/?x=4"},
		"mail ids":                                {"https://example.org/?mc_cid=1&mc_eid=2&_hsenc=3&mkt_tok=4", "https://example.org/"},
		"Matomo's campaign parameters":            {"https://example.org/?mtm_campaign=1&pk_kwd=2&pk_id=3", "https://example.org/?pk_id=3"},
		"session parameters":                      {"https://example.org/?PHPSESSID=1&p=2&jsessionid=4&CFID=7", "https://example.org/?p=2"},
		"session parameters by their values":      {"https://example.org/?sid=0a1b2c3d4e5f60718293a4b5c6d7e8f9&p=2&SessionID=0a1b2c3d4e5f60718293a4b5c6d7e8f9&session_id=123e4567-e89b-12d3-a456-426614174000&sessid=0a1b2c3d4e5f60718293a4b5c6d7e8f9", "https://example.org/?p=2"},
		"ASP session parameters":                  {"https://example.org/?ASPSESSIONIDQQABCDEF=XYZ&p=2", "https://example.org/?p=2"},
		"ColdFusion session":                      {"https://example.org/?CFID=1&CFTOKEN=2&x=3", "https://example.org/?x=3"},
		"names that hold a session name":          {"https://example.org/?sidebar=1&inside=2&asid=3", "https://example.org/?sidebar=1&inside=2&asid=3"},
		"values that hold a session name":         {"https://example.org/?a=sid&b=utm_source=c", "https://example.org/?a=sid&b=utm_source=c"},
		"what is no session id by its value":      {"https://example.org/?sid=17&session_id=keynote-2024&sessionid=3&sessid=4711", "https://example.org/?sid=17&session_id=keynote-2024&sessionid=3&sessid=4711"},
		"what is no session id by its name":       {"https://example.org/?newsid=5f1d7f3e9b1e8a0017a3b2c1", "https://example.org/?newsid=5f1d7f3e9b1e8a0017a3b2c1"},
		"a path parameter that is none":           {"https://example.org/a;sid=17/b", "https://example.org/a;sid=17/b"},
		"only the removed parameter's separator":  {"https://example.org/?a=1&PHPSESSID=2&&b=3", "https://example.org/?a=1&&b=3"},
		"an empty parameter alone is left":        {"https://example.org/?zenid=1&", "https://example.org/"},
		"Java session in the path":                {"https://example.org/a;jsessionid=1F.node1?b=c", "https://example.org/a?b=c"},
		"Java session in the middle of the path":  {"https://example.org/a;JSESSIONID=1/b", "https://example.org/a/b"},
		"Java session among path parameters":      {"https://example.org/a;v=1;jsessionid=2;w=3", "https://example.org/a;v=1;w=3"},
		"two Java sessions":                       {"https://example.org/a;jsessionid=1;jsessionid=2", "https://example.org/a"},
		"path parameter without a value":          {"https://example.org/a;jsessionid", "https://example.org/a;jsessionid"},
		"path parameter that is not a session":    {"https://example.org/a;lang=en", "https://example.org/a;lang=en"},
		"session that hides a dot segment":        {"https://example.org/a/..;jsessionid=1/b", "https://example.org/b"},
		"tracking name in the path":               {"https://example.org/utm_source=a;gclid=b", "https://example.org/utm_source=a;gclid=b"},
		"long fragment does not count":            {"https://example.org/#" + strings.Repeat("x", 4000), "https://example.org/"},
		"canonical form of exactly 2,048 bytes":   {"https://example.org/" + strings.Repeat("x", 2028), "https://example.org/" + strings.Repeat("x", 2028)},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			u, err := urls.Parse(c[0])
			require.NoError(t, err)
			require.Equal(t, c[1], u.String())
			requireCanonical(t, u)
		})
	}
}

func TestErrorsAreWithoutCredentials(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://user:SECRET@a.example/b":                "https://…@a.example/b",
		"https://SECRET@a.example/":                      "https://…@a.example/",
		"https://user:SEC/RET@a.example/":                "https://…@a.example/",
		"https://user:SEC#RET@a.example/":                "https://…@a.example/",
		"https://user:SEC@RET@a.example/":                "https://…@a.example/",
		"https:\\\\user:SECRET@a.example/":               "https:\\\\…@a.example/",
		"ht\ntps://user:SECRET@a.example/":               "://…@a.example/",
		"ftp://user:SECRET@a.example/":                   "ftp://…@a.example/",
		"user:SECRET@a.example":                          "…@a.example",
		"SECRET@a.example":                               "…@a.example",
		"//user:SECRET@a.example/":                       "//…@a.example/",
		"https://a b.example/@user":                      "https://a b.example/@user",
		"https://user:" + long("SECRET") + "@a.example/": "https://…@a.example/",
	} {
		_, err := urls.Parse(raw)
		require.Error(t, err, raw)
		for _, piece := range []string{"SEC", "RET"} {
			require.NotContains(t, err.Error(), piece, raw)
		}
		refused, ok := errors.AsType[*urls.Error](err)
		require.True(t, ok)
		require.Contains(t, refused.Input, want, raw)
		page, err := urls.Parse("https://b.example/")
		require.NoError(t, err)
		if _, err := page.Resolve(raw); err != nil {
			require.NotContains(t, err.Error(), "SECRET", raw)
		}
	}
}

func long(s string) string { return strings.Repeat(s, 30) }

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		raw    string
		reason error
	}{
		"nothing":                         {"", urls.ErrScheme},
		"no scheme":                       {"example.org/a", urls.ErrScheme},
		"host and port only":              {"example.org:8080/a", urls.ErrScheme},
		"relative to a scheme":            {"//example.org/", urls.ErrScheme},
		"ftp":                             {"ftp://example.org/", urls.ErrScheme},
		"javascript":                      {"java\nscript:alert(1)", urls.ErrScheme},
		"huge data URL":                   {"data:," + strings.Repeat("x", 1<<20), urls.ErrScheme},
		"mailto":                          {"mailto:a@example.org", urls.ErrScheme},
		"user and password":               {"https://user:pw@example.org/", urls.ErrUserinfo},
		"user":                            {"https://user@example.org/", urls.ErrUserinfo},
		"empty user":                      {"https://@example.org/", urls.ErrUserinfo},
		"host hidden behind an at sign":   {"https://example.org:80@127.0.0.1/", urls.ErrUserinfo},
		"no host":                         {"https://", urls.ErrHost},
		"no host but a path":              {"https:///?a", urls.ErrHost},
		"dot as host":                     {"https://./", urls.ErrHost},
		"name that is reserved":           {"https://site.INVALID/", urls.ErrHost},
		"empty label":                     {"https://a..example.org/", urls.ErrHost},
		"two trailing dots":               {"https://example.org../", urls.ErrHost},
		"space in a host":                 {"https://exa mple.org/", urls.ErrHost},
		"encoded slash in a host":         {"https://example.org%2F/", urls.ErrHost},
		"encoded NUL in a host":           {"https://example.org%00/", urls.ErrHost},
		"quote in a host":                 {"https://exa\"mple.org/", urls.ErrHost},
		"asterisk in a host":              {"https://*.example.org/", urls.ErrHost},
		"broken punycode":                 {"https://xn--a.example/", urls.ErrHost},
		"bytes in a host, not UTF-8":      {"https://\xff.example/", urls.ErrHost},
		"label of 64 bytes":               {"https://" + strings.Repeat("a", 64) + ".example/", urls.ErrHost},
		"host of 254 bytes":               {"https://" + strings.Repeat("a.", 126) + "ab/", urls.ErrHost},
		"IPv4 address out of range":       {"http://256.0.0.1/", urls.ErrHost},
		"IPv4 address of five parts":      {"http://1.2.3.4.5/", urls.ErrHost},
		"IPv4 address with a sign":        {"http://+5/", urls.ErrHost},
		"IPv4 address in full-width":      {"http://１２７.0.0.1/", urls.ErrHost},
		"name that ends in a number":      {"http://example.42/", urls.ErrHost},
		"unclosed IPv6 address":           {"http://[::1/", urls.ErrHost},
		"IPv6 address with a zone":        {"http://[fe80::1%25eth0]/", urls.ErrHost},
		"IPv6 address in double brackets": {"http://[[::1]]/", urls.ErrHost},
		"text after an IPv6 address":      {"http://[::1]a/", urls.ErrHost},
		"port is not a number":            {"http://example.org:http/", urls.ErrSyntax},
		"negative port":                   {"http://example.org:-1/", urls.ErrSyntax},
		"port out of range":               {"http://example.org:65536/", urls.ErrSyntax},
		"port zero":                       {"http://example.org:0/", urls.ErrSyntax},
		"canonical form of 2,049 bytes":   {"https://example.org/" + strings.Repeat("x", 2029), urls.ErrTooLong},
		"too long once encoded":           {"https://example.org/" + strings.Repeat("ä", 400), urls.ErrTooLong},
		"too long to be read":             {"https://example.org/#" + strings.Repeat("x", 9000), urls.ErrTooLong},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			u, err := urls.Parse(c.raw)
			require.ErrorIs(t, err, c.reason)
			requireError(t, err)
			require.Zero(t, u)
		})
	}
}

func TestErrorCutsItsInputBetweenRunes(t *testing.T) {
	t.Parallel()
	_, err := urls.Parse("x" + strings.Repeat("ä", 200))
	require.EqualError(t, err, `URL "x`+strings.Repeat("ä", 49)+`…": scheme is not http or https`)
}

func TestURLResolve(t *testing.T) {
	t.Parallel()
	const page = "https://example.org/a/b/c?d=e"
	for why, c := range map[string][3]string{
		"empty reference is the page":        {page, "", page},
		"fragment is the page":               {page, "#top", page},
		"query":                              {page, "?x", "https://example.org/a/b/c?x"},
		"empty query drops the page's":       {page, "?", "https://example.org/a/b/c"},
		"name beside the page":               {page, "x.html", "https://example.org/a/b/x.html"},
		"name with query and fragment":       {page, "x?y=1#z", "https://example.org/a/b/x?y=1"},
		"directory of the page":              {page, ".", "https://example.org/a/b/"},
		"directory above":                    {page, "..", "https://example.org/a/"},
		"file in a directory above":          {page, "../x", "https://example.org/a/x"},
		"above the root":                     {page, "../../../../x", "https://example.org/x"},
		"absolute path":                      {page, "/x", "https://example.org/x"},
		"absolute path with backslash":       {page, `\x`, "https://example.org/x"},
		"other host, same scheme":            {page, "//example.net/x", "https://example.net/x"},
		"other host, slash and backslash":    {page, `/\example.net/x`, "https://example.net/x"},
		"absolute URL":                       {page, "http://example.net/x", "http://example.net/x"},
		"absolute URL in capitals":           {page, "HTTP://example.net/x", "http://example.net/x"},
		"scheme of the page without slashes": {page, "https:x", "https://example.org/a/b/x"},
		"scheme of the page with one slash":  {page, "https:/x", "https://example.org/x"},
		"scheme of the page with a query":    {page, "https:?x", "https://example.org/a/b/c?x"},
		"other scheme without slashes":       {page, "http:example.net", "http://example.net/"},
		"colon after a slash is no scheme":   {page, "./a:b", "https://example.org/a/b/a:b"},
		"digit first is no scheme":           {page, "1a:b", "https://example.org/a/b/1a:b"},
		"slash in the page's query":          {"https://example.org/a?b=/c/d", "x", "https://example.org/x"},
		"port is kept":                       {"http://example.org:8080/a", "b", "http://example.org:8080/b"},
		"IPv6 host is kept":                  {"http://[::1]:8080/a", "/b", "http://[::1]:8080/b"},
		"white space around":                 {page, "\n\t x \n", "https://example.org/a/b/x"},
		"spaces inside":                      {page, "x y", "https://example.org/a/b/x%20y"},
		"tracking parameters":                {page, "x?utm_source=y&z", "https://example.org/a/b/x?z"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			base, err := urls.Parse(c[0])
			require.NoError(t, err)
			got, err := base.Resolve(c[1])
			require.NoError(t, err)
			require.Equal(t, c[2], got.String())
			requireCanonical(t, got)
		})
	}

	base, err := urls.Parse(page)
	require.NoError(t, err)
	for ref, reason := range map[string]error{
		"mailto:a@example.org":           urls.ErrScheme,
		"tel:+123":                       urls.ErrScheme,
		"//user@example.net/":            urls.ErrUserinfo,
		"https://":                       urls.ErrHost,
		"///":                            urls.ErrHost,
		"//a:b/":                         urls.ErrSyntax,
		strings.Repeat("x/", 2000):       urls.ErrTooLong,
		"#" + strings.Repeat("x", 10000): urls.ErrTooLong,
	} {
		_, err := base.Resolve(ref)
		require.ErrorIs(t, err, reason, ref)
	}
}

func TestURLParts(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		scheme, host, origin, target, domain string
		port                                 uint16
	}{
		"https://www.Example.org/a?b=c": {"https", "www.example.org", "https://www.example.org", "/a?b=c", "example.org", 443},
		"http://example.org:8080":       {"http", "example.org", "http://example.org:8080", "/", "example.org", 8080},
		"http://[::1]:81/x":             {"http", "::1", "http://[::1]:81", "/x", "::1", 81},
		"http://127.1/?x":               {"http", "127.0.0.1", "http://127.0.0.1", "/?x", "127.0.0.1", 80},
	} {
		u, err := urls.Parse(raw)
		require.NoError(t, err)
		require.Equal(t, want.scheme, u.Scheme())
		require.Equal(t, want.host, u.Host())
		require.Equal(t, want.origin, u.Origin())
		require.Equal(t, want.target, u.RequestTarget())
		require.Equal(t, want.domain, u.Domain())
		require.Equal(t, want.port, u.Port())
	}
}

func TestURLZeroValue(t *testing.T) {
	t.Parallel()
	var zero urls.URL
	require.Empty(t, zero.String()+zero.Scheme()+zero.Host()+zero.Origin()+zero.RequestTarget()+zero.Domain())
	require.Zero(t, zero.Port())
	_, err := zero.Resolve("/a")
	require.ErrorIs(t, err, urls.ErrScheme)
	u, err := zero.Resolve("https://example.org/")
	require.NoError(t, err)
	require.NotEqual(t, zero, u)
}

func TestURLSurvivesJSON(t *testing.T) {
	t.Parallel()
	type payload struct{ URL, None urls.URL }
	u, err := urls.Parse("https://example.org:8443/a?b=ü")
	require.NoError(t, err)
	data, err := json.Marshal(payload{URL: u})
	require.NoError(t, err)
	require.JSONEq(t, `{"URL":"https://example.org:8443/a?b=%C3%BC","None":""}`, string(data))
	var back payload
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, payload{URL: u}, back)
	require.ErrorIs(t, json.Unmarshal([]byte(`{"URL":"ftp://a/"}`), &back), urls.ErrScheme)
}

func TestShorten(t *testing.T) {
	t.Parallel()

	t.Run("LeavesOutTheMiddle", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "https://example.org/", urls.Shorten("https://example.org/", 20))
		require.Equal(t, "https://exa…org/ab", urls.Shorten("https://example.org/ab", 20))
	})

	t.Run("KeepsItsBoundAndItsLetters", func(t *testing.T) {
		t.Parallel()
		for _, u := range []string{
			"https://example.org/" + strings.Repeat("a", 300), "https://example.org/" + strings.Repeat("ü", 300),
			strings.Repeat("日", 200), "https://example.org/" + strings.Repeat("🦉", 100) + "x",
		} {
			for limit := 7; limit < 260; limit++ {
				short := urls.Shorten(u, limit)
				what := fmt.Sprintf("%d: %s", limit, short)
				require.LessOrEqual(t, len(short), limit, what)
				require.True(t, utf8.ValidString(short), what)
				head, tail, cut := strings.Cut(short, "…")
				require.True(t, cut, what)
				require.True(t, strings.HasPrefix(u, head), what)
				require.True(t, strings.HasSuffix(u, tail), what)
				require.GreaterOrEqual(t, len(short), limit-6, "%s: no more is left out than must be", what)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, raw := range map[string]string{
		"Canonical":     "https://example.org/blog/2026/11/some-article-about-things?page=2",
		"Tracking":      "https://www.example.org/a/b?utm_source=x&id=12&utm_medium=y#z",
		"Umlauts":       "https://example.org/wiki/K%c3%b6ln/Straße?q=a b",
		"International": "https://bücher.example/a",
		"Punycode":      "https://xn--bcher-kva.example/a",
		"Hostile":       "https://example.org/" + strings.Repeat("a;sid=/../", 700),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = urls.Parse(raw)
			}
		})
	}
}

func BenchmarkURLResolve(b *testing.B) {
	base, err := urls.Parse("https://example.org/blog/2026/11/some-article?page=2")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = base.Resolve("../10/another-article.html")
	}
}
