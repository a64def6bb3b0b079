package robots_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

// The example of draft-ietf-aipref-attach-04 §3.4.
const usageExample = `User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: / train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: / train-ai=y
`

func TestContentUsageOfTheDraft(t *testing.T) {
	t.Parallel()
	file := robots.Parse([]byte(usageExample))
	for _, c := range []struct {
		token, path string
		allowed     bool
		want        []string
	}{
		{"mosey", "/test", true, []string{"train-ai=n"}},
		{"mosey", "/ai-ok/test", true, []string{"train-ai=y"}},
		{"mosey", "/never/test", false, []string{"train-ai=n"}},
		{"examplebot", "/test", true, []string{"train-ai=y"}},
		{"examplebot", "/never/test", true, []string{"train-ai=y"}},
	} {
		rules := file.Rules(c.token)
		require.Equal(t, c.allowed, rules.Decide(c.path).Allowed, c)
		require.Equal(t, c.want, rules.ContentUsage(c.path), c)
		require.Equal(t, c.want, robots.Restore(rules.String()).ContentUsage(c.path), "%v restored", c)
	}
}

func TestContentUsage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines string
		path  string
		want  []string
	}{
		"TheLongestPathDecides":   {"Content-Usage: /a search=n\nContent-Usage: /a/b search=y\n", "/a/b/c", []string{"search=y"}},
		"EqualPathsAllCount":      {"Content-Usage: /a search=n\nContent-Usage: /%61 train-ai=n\n", "/a", []string{"search=n", "train-ai=n"}},
		"Wildcards":               {"Content-Usage: /*.pdf$ search=n\n", "/x/y.pdf", []string{"search=n"}},
		"AnotherPath":             {"Content-Usage: /a search=n\n", "/b", nil},
		"NoPathIsEveryPath":       {"Content-Usage: train-ai=n\n", "/b", []string{"train-ai=n"}},
		"ListsAndTabs":            {"content-usage :\t/a\t train-ai=n, search=y # why\n", "/a", []string{"train-ai=n, search=y"}},
		"APathAlone":              {"Content-Usage: /a\n", "/a", nil},
		"Nothing":                 {"Content-Usage:\n", "/a", nil},
		"ALineThatIsTooLong":      {"Content-Usage: / x=" + strings.Repeat("y", robots.MaxContentUsageBytes) + "\n", "/a", nil},
		"ControlsAreEscaped":      {"Content-Usage: / a\x00\xff=n\n", "/a", []string{"a%00%FF=n"}},
		"OfAnotherGroup":          {"Disallow: /x\nUser-agent: other\nContent-Usage: / search=n\n", "/a", nil},
		"OfItsOwnGroup":           {"Disallow: /x\nUser-agent: other\nContent-Usage: / search=n\nUser-agent: *\nContent-Usage: / search=y\n", "/a", []string{"search=y"}},
		"NeitherHidesNorIsARule":  {"Content-Usage: / search=n\nDisallow: /x\n", "/a", []string{"search=n"}},
		"DoesNotEndTheRulesGroup": {"Content-Usage: / search=n\nUser-agent: third\nDisallow: /x\n", "/a", []string{"search=n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := robots.Parse([]byte("User-agent: *\n" + c.lines)).Rules("mosey")
			require.Equal(t, c.want, rules.ContentUsage(c.path))
			require.Equal(t, c.want, robots.Restore(rules.String()).ContentUsage(c.path), "restored")
			require.Equal(t, strings.Contains(c.lines, "Disallow"), !rules.Decide("/x").Allowed)
		})
	}
	many := robots.Parse([]byte("User-agent: *\n" + strings.Repeat("Content-Usage: / search=n\n", 10_000))).Rules("mosey")
	require.Len(t, many.ContentUsage("/"), robots.MaxContentUsages)
	require.Nil(t, new(robots.Rules).ContentUsage("/"))
}

func TestRequestRate(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"1/5": 5 * time.Second, "1/5s": 5 * time.Second, "1/10m 1300-1659": 10 * time.Minute, "30/1h": 2 * time.Minute, "3/1": 334 * time.Millisecond,
		"1/0": 0, "1/99999999999h": robots.MaxCrawlDelay, "1/1M": time.Minute, "60/1m": time.Second,
	} {
		rules := robots.Parse(fmt.Appendf(nil, "User-agent: *\nRequest-rate: %s\nDisallow: /a\n", value)).Rules("mosey")
		got, ok := rules.CrawlDelay()
		require.True(t, ok, value)
		require.Equal(t, want, got, value)
		again, ok := robots.Restore(rules.String()).CrawlDelay()
		require.True(t, ok, value)
		require.Equal(t, want, again, "%s restored", value)
		require.False(t, rules.Decide("/a").Allowed)
	}
	for _, value := range []string{"", "1", "/5", "0/5", "-1/5", "a/b", "1/", "1/m", "1/-5", "1.5/10", "1/5d", "4294967296/1"} {
		_, ok := robots.Parse([]byte("User-agent: *\nRequest-rate: " + value + "\n")).Rules("mosey").CrawlDelay()
		require.False(t, ok, value)
	}
	both := robots.Parse([]byte("User-agent: *\nCrawl-delay: 4\nRequest-rate: 1/5\nCrawl-delay: 1\n")).Rules("mosey")
	longest, _ := both.CrawlDelay()
	require.Equal(t, 5*time.Second, longest, "of several the longest counts")
}
