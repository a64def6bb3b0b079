package robots_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

func TestContentSignalsBindTheAgentsBeforeThem(t *testing.T) {
	t.Parallel()
	file := robots.Parse([]byte(`Content-Signal: search=no
User-agent: first
Content-Signal: ai-train=no
User-agent: second
Crawl-delay: 1
User-agent: third
content-signal : search=yes,ai-train=no # Cloudflare's
Content-Signal:
Disallow: /a
CONTENT-SIGNAL: ai-input=no
User-agent: fourth
Disallow: /a
User-agent: *
Content-Signal: search=yes
Allow: /
User-agent: first
Content-Signal: search=yes
`))
	for token, want := range map[string][]string{
		"first":  {"ai-train=no", "search=yes"},
		"second": {"search=yes,ai-train=no", "ai-input=no"},
		"third":  {"search=yes,ai-train=no", "ai-input=no"},
		"fourth": {},
		"mosey":  {"search=yes"},
	} {
		rules := file.Rules(token)
		require.Equal(t, want, rules.ContentSignals(), token)
		require.Equal(t, want, robots.Restore(rules.String()).ContentSignals(), "%s restored", token)
		require.Equal(t, token == "mosey", rules.Decide("/a").Allowed, "%s: signals end no group", token)
	}
	require.Empty(t, new(robots.Rules).ContentSignals())
}

func TestContentSignalsAlone(t *testing.T) {
	t.Parallel()
	rules := robots.Parse([]byte("User-agent: *\n\nContent-Signal: ai-train=no\n")).Rules("mosey")
	require.Equal(t, "User-agent: *\n\nContent-Signal: ai-train=no\n", rules.String())
	require.True(t, rules.Decide("/").Allowed)
}

func TestContentSignalsAreBoundedText(t *testing.T) {
	t.Parallel()
	rules := robots.Parse([]byte("User-agent: *\n" +
		"Content-Signal: " + strings.Repeat("x", robots.MaxContentSignalBytes+1) + "\n" +
		"Content-Signal: " + strings.Repeat("\xff", robots.MaxContentSignalBytes/3+1) + "\n" +
		"Content-Signal: a\x00\xff\n" + strings.Repeat("Content-Signal: search=no\n", 100))).Rules("mosey")
	signals := rules.ContentSignals()
	require.Len(t, signals, robots.MaxContentSignals)
	require.Equal(t, []string{"a%00%FF", "search=no"}, signals[:2])
	require.Equal(t, signals, robots.Restore(rules.String()).ContentSignals())
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/", "/a?b", true},
		{"/a", "/ab", true},
		{"/a$", "/ab", false},
		{"/a/*.jpg$", "/a/b/c.jpg", true},
		{"/a/*.jpg$", "/a/b/c.jpg?d", false},
		{"a", "/a", true},
		{"/%61*", "/a%2a", true},
		{"/foo-%24", "/foo-$", true},
		{"/A", "/a", false},
		{"", "/", false},
	} {
		require.Equal(t, c.want, robots.Match(c.pattern, c.path), "%s on %s", c.pattern, c.path)
	}
}
