package robots_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

// fillTo repeats what line writes until a file is as long as is read.
func fillTo(head string, line func(i int) string) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < robots.MaxBytes; i++ {
		b.WriteString(line(i))
	}
	return []byte(b.String())
}

// hostile are files built to be slow to read or to match, each with a path to
// match for the token "mosey".
func hostile() map[string]struct {
	body []byte
	path string
} {
	long := "/" + strings.Repeat("a", 2047)
	half := fillTo("", func(i int) string { return fmt.Sprintf("User-agent: a%c\n", 'a'+i%26) })[:robots.MaxBytes/2]
	return map[string]struct {
		body []byte
		path string
	}{
		"HalfAgentsHalfRules": {fillTo(string(half)+"\nUser-agent: mosey\n", func(i int) string {
			return fmt.Sprintf("Disallow: /%d\n", i)
		}), long},
		"AgentAndRuleInTurn": {fillTo("", func(i int) string {
			return fmt.Sprintf("User-agent: mosey\nDisallow: /*%d\n", i)
		}), long},
		"OneLineOfStars": {fillTo("User-agent: *\nDisallow: /", func(int) string { return "*a" }), long},
		"ManyStars": {fillTo("User-agent: *\n", func(i int) string {
			return fmt.Sprintf("Disallow: /*a*a*a*a*b%d\n", i)
		}), long},
		"ManyShortWildcards": {fillTo("User-agent: *\n", func(i int) string {
			return fmt.Sprintf("Allow:/*a%c%c\n", '!'+i%2, 'b'+i%25)
		}), long},
		"LongNeedles": {fillTo("User-agent: *\n", func(int) string {
			return "Disallow: /*" + strings.Repeat("a", 1023) + "b*" + strings.Repeat("a", 1000) + "b\n"
		}), long},
		"WithinTheBoundsOfTemoto": {fillTo("User-agent: *\n", func(i int) string {
			if i >= 5 {
				return "#" + strings.Repeat(" ", 8000) + "\n"
			}
			return fmt.Sprintf("Disallow: /*a*a*a*a%sb%d\n", strings.Repeat("a", 180), i)
		}), long},
		"Blank":   {fillTo("User-agent: *\n", func(int) string { return "\n" }), long},
		"Unknown": {fillTo("User-agent: *\n", func(int) string { return ":\n" }), long},
	}
}

// The benchmarks measure these files; here they only have to be survived.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	for name, h := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := robots.Parse(h.body).Rules("mosey")
			require.Equal(t, rules.Decide(h.path), robots.Restore(rules.String()).Decide(h.path))
		})
	}
}

func BenchmarkParseHostile(b *testing.B) {
	for name, h := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(h.body)))
			for b.Loop() {
				robots.Parse(h.body).Rules("mosey")
			}
		})
	}
}

func BenchmarkDecideHostile(b *testing.B) {
	for name, h := range hostile() {
		rules := robots.Parse(h.body).Rules("mosey")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.Decide(h.path)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	rules := robots.Parse([]byte(`User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /*?replytocom=
Disallow: /*.pdf$
Disallow: /search
Crawl-delay: 10
`)).Rules("mosey")
	b.ReportAllocs()
	for b.Loop() {
		rules.Decide("/2026/11/a-post-about-crawlers/?page=2")
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range decideCases {
		f.Add([]byte(c.robots), "mosey", "/a")
	}
	f.Add([]byte("User-agent: *\nCrawl-delay: 12345678.9012\nCrawl-delay: 1e-4\nDisallow: /%\x00\n"), "*", "/%25%00")
	f.Add([]byte("User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-signal \x00\xff\nAllow: /\n"), "mosey", "/")
	f.Add([]byte(usageExample+"Content-Usage: /%\xff\x00*$ bots=n\nRequest-rate: 7/3m\n"), "mosey", "/ai-ok/")
	f.Add([]byte("User-agent: *\nVisit-time: 0600-0845\nVisit-time : 22:00 - 06:00 # at night\nVisit-time: 9999-0000\n"), "mosey", "/")
	f.Add([]byte("License: https://a.example/l.xml\nUser-agent: *\nDisallow: /a\nLicense: HTTP://b.example/\x00\xff#x\n"), "mosey", "/a")
	f.Fuzz(func(t *testing.T, body []byte, token, path string) {
		file := robots.Parse(body)
		rules := file.Rules(token)
		decision := rules.Decide(path)
		delay, delayed := rules.CrawlDelay()
		text := rules.String()

		require.LessOrEqual(t, len(decision.Rule), robots.MaxRuleText)
		require.Equal(t, decision.Rule == "", decision.Line == 0)
		require.True(t, utf8.ValidString(decision.Rule+text))
		require.NotContains(t, decision.Rule+text, "\x00")
		require.GreaterOrEqual(t, delay, time.Duration(0))
		require.LessOrEqual(t, delay, robots.MaxCrawlDelay)

		again := robots.Parse(body)
		require.Equal(t, file, again, "not deterministic")

		restored := robots.Restore(text)
		require.Equal(t, text, restored.String())
		require.Equal(t, decision, restored.Decide(path))
		restoredDelay, restoredDelayed := restored.CrawlDelay()
		require.Equal(t, delay, restoredDelay)
		require.Equal(t, delayed, restoredDelayed)
		require.Equal(t, rules.License(), restored.License())
		require.LessOrEqual(t, len(rules.License()), robots.MaxLicenseBytes)
		require.Equal(t, rules.VisitTimes(), restored.VisitTimes())
		require.LessOrEqual(t, len(rules.VisitTimes()), robots.MaxVisitTimes)
		for _, v := range rules.VisitTimes() {
			require.True(t, 0 <= v.From && v.From < 24*time.Hour && 0 <= v.To && v.To <= 24*time.Hour && v.From != v.To, v)
		}
		require.Equal(t, rules.ContentSignals(), restored.ContentSignals())
		require.LessOrEqual(t, len(rules.ContentSignals()), robots.MaxContentSignals)

		// Parse cuts lines that have grown by escapes, and files by line breaks.
		if len(body) < robots.MaxLineBytes/4 {
			require.Equal(t, decision, robots.Parse([]byte(text)).Rules(token).Decide(path))
		}
	})
}
