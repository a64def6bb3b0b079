package robots_test

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		want  time.Duration
	}{
		{"10", 10 * time.Second},
		{"0", 0},
		{"0.5", 500 * time.Millisecond},
		{".25", 250 * time.Millisecond},
		{"0.001", time.Millisecond},
		{"0.0001", time.Millisecond},
		{"1e1", 10 * time.Second},
		{"+3", 3 * time.Second},
		{"10 seconds", 10 * time.Second},
		{"10s", 10 * time.Second},
		{"5;", 5 * time.Second},
		{"7<br>", 7 * time.Second},
		{"86400", 24 * time.Hour},
		{"2592000", 30 * 24 * time.Hour},
		{"31536000", robots.MaxCrawlDelay},
		{"31536001", robots.MaxCrawlDelay},
		{"99999999999999999999", robots.MaxCrawlDelay},
		{"1e300", robots.MaxCrawlDelay},
		{"1e99999", robots.MaxCrawlDelay},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Parallel()
			body := "User-agent: *\nCrawl-delay: " + c.value + "\nDisallow: /a\n"
			rules := robots.Parse([]byte(body)).Rules("mosey")
			got, ok := rules.CrawlDelay()
			require.True(t, ok)
			require.Equal(t, c.want, got)
			require.False(t, rules.Decide("/a").Allowed, "the delay must not hide the rule")

			got, ok = robots.Restore(rules.String()).CrawlDelay()
			require.True(t, ok, "restored")
			require.Equal(t, c.want, got, "restored")
		})
	}
}

// TestCrawlDelayBeforeTheFirstGroup checks that a delay for nobody holds for everybody.
func TestCrawlDelayBeforeTheFirstGroup(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		"Crawl-delay: 4\nUser-agent: *\nDisallow: /a\n":                                   4 * time.Second,
		"Request-rate: 1/4\n\nUser-agent: other\nDisallow: /\n":                           4 * time.Second,
		"Crawl-delay: 4\nUser-agent: *\nCrawl-delay: 2\nDisallow: /a\n":                   4 * time.Second,
		"\n\nCrawl-delay: 4\nUser-agent: mosey\nCrawl-delay: 6\n":                         6 * time.Second,
		"User-agent: other\nCrawl-delay: 9\nUser-agent: *\nDisallow: /\nCrawl-delay: 3\n": 3 * time.Second,
	} {
		rules := robots.Parse([]byte(body)).Rules("mosey")
		for _, r := range []*robots.Rules{rules, robots.Restore(rules.String())} {
			got, ok := r.CrawlDelay()
			require.True(t, ok, body)
			require.Equal(t, want, got, body)
			require.Equal(t, rules.Decide("/a"), r.Decide("/a"), body)
		}
	}
}

// TestURLsInRules checks that a Disallow line with a URL of the host forbids its path.
func TestURLsInRules(t *testing.T) {
	t.Parallel()
	for value, denied := range map[string]string{
		"http://abs.test/private/":          "/private/x",
		"HTTPS://WWW.Abs.Test:8443/private": "/private",
		"https://abs.test":                  "/",
		"https://abs.test?q=":               "/?q=1",
	} {
		rules := robots.Parse([]byte("User-agent: *\nDisallow: " + value + "\n")).On("abs.test").Rules("mosey")
		for _, r := range []*robots.Rules{rules, robots.Restore(rules.String())} {
			require.False(t, r.Decide(denied).Allowed, value)
			require.Equal(t, denied == "/", !r.Decide("/other").Allowed, value)
		}
	}
	for _, body := range []string{
		"Disallow: http://other.test/private/", "Disallow: ftp://abs.test/private/", "Disallow: /\nAllow: http://abs.test/private/",
	} {
		want := robots.Parse([]byte("User-agent: *\n" + body)).Rules("mosey")
		require.Equal(t, want, robots.Parse([]byte("User-agent: *\n"+body)).On("abs.test").Rules("mosey"), body)
	}
}

func TestCrawlDelayIgnoresWhatIsNoNumber(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "abc", "-1", "-1e99999", "1,5", "10, 20", "0x10", "1_000", "Infinity", "NaN", "5m", "e", "1.2.3", "--1",
	} {
		body := "User-agent: *\nCrawl-delay: " + value + "\nDisallow: /a\n"
		rules := robots.Parse([]byte(body)).Rules("mosey")
		_, ok := rules.CrawlDelay()
		require.False(t, ok, value)
		require.False(t, rules.Decide("/a").Allowed, value)
	}
}

func TestCrawlDelayBindsTheAgentsBeforeIt(t *testing.T) {
	t.Parallel()
	file := robots.Parse([]byte(`Crawl-delay: 1
User-agent: first
Crawl-delay: 2
User-agent: second
User-agent: third
Crawl-delay: 3
Disallow: /a
Crawl-delay: 4
Crawl-delay: 3.5
User-agent: fourth
Disallow: /a
User-agent: fifth
Crawl-delay: 5
Disallow: /a
User-agent: *
Disallow: /b
`))
	for token, want := range map[string]time.Duration{
		"first":  2 * time.Second,
		"second": 4 * time.Second,
		"third":  4 * time.Second,
		"fifth":  5 * time.Second,
	} {
		rules := file.Rules(token)
		got, ok := rules.CrawlDelay()
		require.True(t, ok, token)
		require.Equal(t, want, got, token)
		require.False(t, rules.Decide("/a").Allowed, token)
	}
	for _, token := range []string{"fourth", "mosey"} {
		delay, ok := file.Rules(token).CrawlDelay()
		require.True(t, ok, token)
		require.Equal(t, time.Second, delay, "%s: no delay of the others binds it", token)
	}
}

func TestDecisionNamesTheRule(t *testing.T) {
	t.Parallel()
	rules := robots.Parse([]byte("# hello\r\n\r\nuser-agent: *\r\n  disallow :  /b%C3%BC/ü*  # no\r\nallow: /bü/\r\n")).Rules("mosey")

	require.Equal(t, robots.Decision{Allowed: false, Rule: "Disallow: /b%C3%BC/ü*", Line: 4}, rules.Decide("/bü/üx"))
	require.Equal(t, robots.Decision{Allowed: true, Rule: "Allow: /bü/", Line: 5}, rules.Decide("/bü/x"))
	require.Equal(t, robots.Decision{Allowed: true}, rules.Decide("/x"))
	require.Equal(t, robots.Decision{Allowed: true}, rules.Decide("/robots.txt"))
}

func TestDecisionRuleIsBoundedText(t *testing.T) {
	t.Parallel()
	t.Run("CutAtACharacter", func(t *testing.T) {
		t.Parallel()
		rules := robots.Parse([]byte("User-agent: *\nDisallow: /" + strings.Repeat("ü", 3000) + "\nDisallow: /\n")).Rules("mosey")
		got := rules.Decide("/" + strings.Repeat("ü", 3000))
		require.False(t, got.Allowed)
		require.LessOrEqual(t, len(got.Rule), robots.MaxRuleText)
		require.Greater(t, len(got.Rule), robots.MaxRuleText-utf8.UTFMax)
		require.True(t, utf8.ValidString(got.Rule))
	})
	t.Run("Printable", func(t *testing.T) {
		t.Parallel()
		rules := robots.Parse([]byte("User-agent: *\nDisallow: /a\x00\xff\x1b[\tb\n")).Rules("mosey")
		got := rules.Decide("/a%00%FF%1B[%09b")
		require.Equal(t, robots.Decision{Rule: "Disallow: /a%00%FF%1B[%09b", Line: 2}, got)
	})
}

func TestString(t *testing.T) {
	t.Parallel()
	file := robots.Parse([]byte(`User-agent: other
Disallow: /
User-agent: mosey # that is us
disallow: /a
Crawl-delay: 2.50
ALLOW:/a/b # but not c

User-agent: x
User-agent: MOSEY/2
Disallow: *.gif$
`))
	require.Equal(t, "User-agent: *\n\n\nDisallow: /a\nCrawl-delay: 2.5\nAllow: /a/b\n\n\n\nDisallow: *.gif$\n",
		file.Rules("mosey").String())
	require.Empty(t, file.Rules("nobody").String())
	require.Empty(t, robots.Restore("").String())
	require.True(t, robots.Restore("").Decide("/").Allowed)
	require.True(t, new(robots.Rules).Decide("/").Allowed)
}

func TestStringRestoresAGroupBeyondTheLimits(t *testing.T) {
	t.Parallel()
	// Every octet is stored as three.
	line := "Disallow: /" + strings.Repeat("\xff", robots.MaxLineBytes-11) + "\n"
	body := "User-agent: *\n" + strings.Repeat(line, robots.MaxBytes/len(line)) + "Disallow: /last\n"
	rules := robots.Parse([]byte(body)).Rules("mosey")
	text := rules.String()
	require.Greater(t, len(text), 2*robots.MaxBytes)

	restored := robots.Restore(text)
	require.Equal(t, text, restored.String())
	require.False(t, rules.Decide("/last").Allowed)
	require.Equal(t, rules.Decide("/last"), restored.Decide("/last"))
}

func TestSitemaps(t *testing.T) {
	t.Parallel()
	file := robots.Parse([]byte("Sitemap: https://example.org/a.xml # c\nUser-agent: x\nSITEMAP :/b c.xml\nSitemap:\n"))
	want := []string{"https://example.org/a.xml", "/b c.xml"}
	require.Equal(t, want, file.Sitemaps())

	file.Sitemaps()[0] = "changed"
	require.Equal(t, want, file.Sitemaps(), "the file must not be changed through a result")
	require.Empty(t, robots.Parse(nil).Sitemaps())
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	const html, binary = "an HTML or XML document", "binary data"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	for i := range 1000 {
		_, err := w.Write([]byte{byte(i), byte(i * i), '\n'})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	random := make([]byte, 4096)
	source := rand.NewChaCha8([32]byte{})
	_, err := source.Read(random)
	require.NoError(t, err)

	for _, c := range []struct {
		name, body, want string
	}{
		{"Empty", "", ""},
		{"Plain", "User-agent: *\r\n\tDisallow: /\f\v\n", ""},
		{"Prose", "Not Found", ""},
		{"Latin1", "# caf\xe9\nUser-agent: *\nDisallow: /\n", ""},
		{"UTF16WithMark", "\xfe\xff\x00U\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*", ""},
		{"OneControlOctet", "User-agent: *\nDisallow: /a\nDisallow: /\x11b\n", ""},
		{"TagLater", "User-agent: *\n<br>\nDisallow: /\n", ""},
		{"Doctype", "\ufeff\r\n <!DOCTYPE html><html></html>", html},
		{"HTML", "<html>User-agent: *\nDisallow: /</html>", html},
		{"XML", "<?xml version=\"1.0\"?><Error/>", html},
		{"Comment", "<!-- hello -->", html},
		{"UTF16WithoutMark", "\x00U\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*", binary},
		{"NULs", strings.Repeat("\x00", 100), binary},
		{"Gzip", zipped.String(), binary},
		{"Random", string(random), binary},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, why := robots.Parse([]byte(c.body)).Malformed()
			require.Equal(t, c.want, why)
			require.Equal(t, c.want != "", got)
		})
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	// The last line ends with the last byte that is read.
	fill := func(last string) []byte {
		const head = "User-agent: *\nDisallow: /\n"
		line := "#" + strings.Repeat("x", 98) + "\n"
		body := head + strings.Repeat(line, (robots.MaxBytes-len(head)-len(last))/len(line))
		body += strings.Repeat("\n", robots.MaxBytes-len(body)-len(last)) + last
		require.Len(t, body, robots.MaxBytes)
		return []byte(body)
	}
	allowed := func(body []byte, path string) bool {
		return robots.Parse(body).Rules("mosey").Decide(path).Allowed
	}

	t.Run("ReadsToTheLastByte", func(t *testing.T) {
		t.Parallel()
		require.True(t, allowed(fill("Allow: /last"), "/last"))
		require.True(t, allowed(append(fill("Allow: /last"), "\nAllow: /over\n"...), "/last"))
		require.True(t, allowed(append(fill("Allow: /last\n"), "Allow: /over\n"...), "/last"))
	})
	t.Run("ReadsNoFurther", func(t *testing.T) {
		t.Parallel()
		require.False(t, allowed(append(fill("\n"), "Allow: /over\n"...), "/over"))
	})
	t.Run("DropsTheLineItCuts", func(t *testing.T) {
		t.Parallel()
		require.False(t, allowed(append(fill("Allow: /l"), "ast\n"...), "/l"))
		require.False(t, allowed(append(fill("Allow: /l"), "ast\n"...), "/last"))
	})
	t.Run("CutsALongLine", func(t *testing.T) {
		t.Parallel()
		const name = "Disallow: "
		path := "/" + strings.Repeat("x", robots.MaxLineBytes-len(name)-1)
		body := []byte("User-agent: *\n" + name + path + "yyy\nDisallow: /b\n")
		require.False(t, allowed(body, path+"zzz"))
		require.True(t, allowed(body, path[:len(path)-1]))
		require.False(t, allowed(body, "/b"))
	})
}

func TestParseDoesNotRetainTheBody(t *testing.T) {
	t.Parallel()
	body := []byte("User-agent: *\nDisallow: /a\nSitemap: /s.xml\n")
	file := robots.Parse(body)
	clear(body)
	require.Equal(t, "Disallow: /a", file.Rules("mosey").Decide("/a").Rule)
	require.Equal(t, []string{"/s.xml"}, file.Sitemaps())
}
