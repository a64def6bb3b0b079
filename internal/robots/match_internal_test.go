package robots

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/variants"
)

// naiveMatch implements RFC 9309 §2.2.3 by trying every possibility.
func naiveMatch(pattern, path string) bool {
	switch {
	case pattern == "":
		return true
	case pattern == "$":
		return path == ""
	case pattern[0] == '*':
		return naiveMatch(pattern[1:], path) || path != "" && naiveMatch(pattern, path[1:])
	default:
		return path != "" && pattern[0] == path[0] && naiveMatch(pattern[1:], path[1:])
	}
}

// naiveDecide implements RFC 9309 §2.2.2 with naiveMatch.
func naiveDecide(rules []rule, path string) bool {
	longest, allow := 0, true
	for _, r := range rules {
		if !naiveMatch(r.pattern, path) {
			continue
		}
		if n := len(r.pattern); n > longest || n == longest && r.allow {
			longest, allow = n, r.allow
		}
	}
	return allow
}

// ownDecide is the decision where temoto takes none.
func ownDecide(r *Rules, path string) bool {
	own := &Rules{rules: r.rules}
	return own.Decide(path).Allowed
}

// rulesOf makes a group of values, those that begin with "+" allowed.
func rulesOf(values ...string) *Rules {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for _, value := range values {
		if path, found := strings.CutPrefix(value, "+"); found {
			b.WriteString("Allow: " + path + "\n")
		} else {
			b.WriteString("Disallow: " + value + "\n")
		}
	}
	return Restore(b.String())
}

// words returns all strings of up to n of the letters.
func words(letters string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, word := range all[from:to] {
			for _, letter := range letters {
				all = append(all, word+string(letter))
			}
		}
		from = to
	}
	return all
}

// Every short pattern on every short path: the matcher against the definition,
// and temoto against the matcher.
func TestMatchExhaustively(t *testing.T) {
	t.Parallel()
	paths := words("ab/", 4)
	for _, word := range words("ab*", 4) {
		for _, end := range []string{"", "$"} {
			pattern := normalizePattern("/" + word + end)
			rules := rulesOf("/"+word+end, "+/a", "+/b*")
			require.NotNil(t, rules.temoto)
			for _, path := range paths {
				path = "/" + path
				// Compared here, as so many calls of require are slow.
				if naiveMatch(pattern, path) != variants.Matches(pattern, path) {
					require.Fail(t, "match differs from the definition", "%s on %s", pattern, path)
				}
				want := naiveDecide(rules.rules, path)
				if ownDecide(rules, path) != want {
					require.Fail(t, "own decision differs from the definition", "%s on %s", rules, path)
				}
				if rules.temoto.allows(path) != want {
					require.Fail(t, "temoto's decision differs from the definition", "%s on %s", rules, path)
				}
			}
		}
	}
}

func TestTemotoAgrees(t *testing.T) {
	t.Parallel()
	values := []string{
		"/", "/*", "*", "*.gif$", "/a", "/a.b.c.d", "/a*d.e", "/shop/a", "/*.p.", "/p/pa", "/*.php", "/$", "/a$", "/x*$",
		"/(a+b)[c]", "/*(a+b)", "/?q=*&", "/*?", "/%3C%3E", "/<", "/>", "/<*>", "/price$", "/price*$*", "/**a**", "/a|b",
	}
	paths := []string{
		"/", "/a", "/b/a", "/x.gif", "/a.b.c.d.e", "/shop/a.p.x", "/p/page.php", "/x/y", "/(a+b)[c]", "/z(a+b)", "/?q=1&r",
		"/%3C%3E", "/<", "/a<b>", "/<<<>", "/price", "/price-$5", "/a|b", "/a%7cb",
	}
	for i, first := range values {
		for _, second := range values[i:] {
			for _, group := range [][]string{{first, "+" + second}, {"+" + first, second}, {second, "+" + first, "/p"}} {
				rules := rulesOf(group...)
				require.NotNil(t, rules.temoto)
				for _, path := range paths {
					path = normalizePath(path)
					want := naiveDecide(rules.rules, path)
					require.Equal(t, want, ownDecide(rules, path), "own: %q on %s", group, path)
					require.Equal(t, want, rules.temoto.allows(path), "temoto: %q on %s", group, path)
				}
			}
		}
	}
}

// The two agree, so that who decides shows only where they are made to differ.
func TestTemotoDecides(t *testing.T) {
	t.Parallel()
	rules := rulesOf("/a")
	rules.temoto = rulesOf("/b").temoto
	require.True(t, rules.Decide("/a").Allowed)
	require.False(t, rules.Decide("/b").Allowed)
	long := strings.Repeat("x", temotoMaxPathOctets)
	require.False(t, rules.Decide("/a"+long).Allowed, "beyond its bounds")
	require.True(t, rules.Decide("/b"+long).Allowed, "beyond its bounds")
}

func TestTemotoIsBounded(t *testing.T) {
	t.Parallel()
	number := func(n int, value string) []string {
		values := make([]string, n)
		for i := range values {
			values[i] = value + strconv.Itoa(i)
		}
		return values
	}
	for name, values := range map[string][2][]string{
		"Rules":          {number(temotoMaxRules, "/a"), number(temotoMaxRules+1, "/a")},
		"WildcardRules":  {number(temotoMaxWildcardRules, "/*"), number(temotoMaxWildcardRules+1, "/*")},
		"Stars":          {{"/" + strings.Repeat("a*", temotoMaxStars)}, {"/" + strings.Repeat("a*", temotoMaxStars+1)}},
		"WildcardOctets": {{"/*" + strings.Repeat("a", temotoMaxWildcardOctets-2)}, {"/*" + strings.Repeat("a", temotoMaxWildcardOctets-1)}},
	} {
		require.NotNil(t, rulesOf(values[0]...).temoto, name)
		beyond := rulesOf(values[1]...)
		require.Nil(t, beyond.temoto, name)
		for _, path := range []string{"/a1", "/b1", "/", "/aaaaaaa"} {
			require.Equal(t, naiveDecide(beyond.rules, path), beyond.Decide(path).Allowed, "%s: %s", name, path)
		}
	}
	within := rulesOf("/a")
	require.True(t, within.temoto.covers(strings.Repeat("a", temotoMaxPathOctets)))
	require.False(t, within.temoto.covers(strings.Repeat("a", temotoMaxPathOctets+1)))
	require.False(t, within.Decide("/"+strings.Repeat("a", temotoMaxPathOctets)).Allowed)
}

func TestNormalizeIsIdempotent(t *testing.T) {
	t.Parallel()
	for _, s := range append(words("%2Aa*$", 4), "/ü", "/\xff\x00 ", "/%c3%BC", "/%zz%") {
		path := normalizePath(s)
		require.Equal(t, path, normalizePath(path), "%q", s)
		if s != "" {
			pattern := normalizePattern(s)
			require.Equal(t, pattern, normalizePattern(pattern), "%q", s)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/*.php", "/", "/a.php", true)
	f.Add("*", "/%7ea$", "/<*>", "/~a", false)
	f.Add("/**a$*", "/a\xff", "/ b", "/a$%ff b", true)
	f.Fuzz(func(t *testing.T, first, second, third, path string, allow bool) {
		values := []string{first, second, third}
		// The reference takes exponential time.
		tooMuch := func(s string) bool {
			return len(s) > 60 || strings.Count(s, "*") > 4 || strings.ContainsAny(s, "#\r\n")
		}
		if slices.ContainsFunc(values, tooMuch) || len(path) > 60 {
			t.Skip()
		}
		if allow {
			values[0] = "+" + values[0]
		}
		rules := rulesOf(values...)
		path = normalizePath(path)
		for _, r := range rules.rules {
			require.Equal(t, naiveMatch(r.pattern, path), variants.Matches(r.pattern, path), "%q on %q", r.pattern, path)
		}
		want := naiveDecide(rules.rules, path)
		require.Equal(t, want || path == "/robots.txt", ownDecide(rules, path))
		if rules.temoto.covers(path) {
			require.Equal(t, want, rules.temoto.allows(path))
		}
	})
}
