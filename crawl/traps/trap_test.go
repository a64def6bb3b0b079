package traps_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

var trapNow = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func mustURL(t testing.TB, target string) urls.URL {
	t.Helper()
	u, err := urls.Parse("https://example.org" + target)
	require.NoError(t, err)
	return u
}

func TestFind(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]crawl.Trap{
		strings.Repeat("/a1/b2/c3", 7):  {Rule: crawl.TrapDepth, Evidence: "the path has 21 segments, more than 20"},
		"/" + strings.Repeat("a", 1024): {Rule: crawl.TrapLength, Evidence: "the path has 1025 bytes, more than 1024"},
		"/?" + strings.Repeat("a=1&", 20) + "b": {
			Rule: crawl.TrapQuery, Evidence: "the query has 21 parameters, more than 20",
		},

		"/a/a/a":                   {Rule: crawl.TrapRepeat, Evidence: "the path repeats a 3 times in a row"},
		"/x/a/a/a/y/z/":            {Rule: crawl.TrapRepeat, Evidence: "the path repeats a 3 times in a row"},
		"/a/b/a/b":                 {Rule: crawl.TrapRepeat, Evidence: "the path repeats a/b 2 times in a row"},
		"/x/a/b/c/a/b/c/y":         {Rule: crawl.TrapRepeat, Evidence: "the path repeats a/b/c 2 times in a row"},
		"/p/1/p/1/":                {Rule: crawl.TrapRepeat, Evidence: "the path repeats p/1 2 times in a row"},
		"/%E6%BC%A2/x/%E6%BC%A2/x": {Rule: crawl.TrapRepeat, Evidence: "the path repeats %E6%BC%A2/x 2 times in a row"},

		"/cal/2029/01/":                 {Rule: crawl.TrapDate, Evidence: "2029/01 is a date more than 2 years ahead"},
		"/Events/2029/3":                {Rule: crawl.TrapDate, Evidence: "2029/3 is a date more than 2 years ahead"},
		"/cal/2029/1/3":                 {Rule: crawl.TrapDate, Evidence: "2029/1/3 is a date more than 2 years ahead"},
		"/cal/2029-01":                  {Rule: crawl.TrapDate, Evidence: "2029-01 is a date more than 2 years ahead"},
		"/cal/2029-01-31-party":         {Rule: crawl.TrapDate, Evidence: "2029-01-31 is a date more than 2 years ahead"},
		"/cal?m=2029-01":                {Rule: crawl.TrapDate, Evidence: "m=2029-01 is a date more than 2 years ahead"},
		"/cal?x=1&t=2029-01-31T10%3A00": {Rule: crawl.TrapDate, Evidence: "t=2029-01-31 is a date more than 2 years ahead"},
		"/cal?month=202901":             {Rule: crawl.TrapDate, Evidence: "month=202901 is a date more than 2 years ahead"},
		"/cal?Date=20290131":            {Rule: crawl.TrapDate, Evidence: "Date=20290131 is a date more than 2 years ahead"},
		"/cal?year=2099&month=1":        {Rule: crawl.TrapDate, Evidence: "year=2099 is a date more than 2 years ahead"},
		"/?forum_sid=0a1b2c3d4e5f6071":  {Rule: crawl.TrapSession, Evidence: "forum_sid=0a1b2c3d4e5f6071 looks like a session id"},
		"/?forumSid=0a1b2c3d4e5f6071":   {Rule: crawl.TrapSession, Evidence: "forumSid=0a1b2c3d4e5f6071 looks like a session id"},
		"/calendar?d=1920-05-01":        {Rule: crawl.TrapDate, Evidence: "d=1920-05-01 is a date more than 100 years ago"},
		"/cal/1920/05/":                 {Rule: crawl.TrapDate, Evidence: "1920/05 is a date more than 100 years ago"},

		"/?mysession=0a1b2c3d4e5f6071": {Rule: crawl.TrapSession, Evidence: "mysession=0a1b2c3d4e5f6071 looks like a session id"},
		"/?a=1&WSID=123e4567-e89b-12d3-a456-426614174000": {
			Rule: crawl.TrapSession, Evidence: "WSID=123e4567-e89b-12d3-a456-426614174000 looks like a session id",
		},
		"/x;mysid=4x8lk2m9qp3vw7zt/y":     {Rule: crawl.TrapSession, Evidence: ";mysid=4x8lk2m9qp3vw7zt looks like a session id"},
		"/(S(lit3py55t21z5v55vlm25s5))/a": {Rule: crawl.TrapSession, Evidence: "(S(lit3py55t21z5v55vlm25s5)) looks like a session id"},
	} {
		t.Run(urls.Shorten(target, 60), func(t *testing.T) {
			t.Parallel()
			got, found := traps.Find(mustURL(t, target), trapNow)
			require.Equal(t, want, got)
			require.True(t, found)
		})
	}

	for _, target := range []string{
		"/", "//", "/a", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t", "/a/a", "/a/a/b/b", "/a/b/c/a/b", "/a//b///c", "/tiles/7/7/7.png",
		"/map/1/1/1/1", "/a/b/x/a/b/x2", "/2/1/2/1",
		"/2026/11/21/news", "/2028/11", "/1998/05/", "/1926/12", "/items/2050/3", "/events/2027/3", "/items/4711/02", "/1890/05/12/front-page", "/2029/13",
		"/2029-13", "/2029-01-32", "/3000-12-05", "/id-2029-01", "/20290131", "/?id=20290131", "/?page=2029", "/?start=2029", "/?year=20",
		"/?date=", "/?year=2027", "/2029-01-31party",
		"/1920/05/", "/papers/1912/04/16/titanic", "/archive/1900-01-01", "/events/1914/06/28", "/?day=1926-11-21", "/?year=1901",
		"/news?newsid=5f1d7f3e9b1e8a0017a3b2c1", "/?classid=5f1d7f3e9b1e8a0017a3b2c1", "/?assessment=5f1d7f3e9b1e8a0017a3b2c1",
		"/?possession=5f1d7f3e9b1e8a0017a3b2c1", "/?addressid=5f1d7f3e9b1e8a0017a3b2c1",
		"/?session=2024-autumn-keynote-session-1", "/?session=keynote2024opening", "/?sid2=0a1b2c3d4e5f6071", "/?q=0a1b2c3d4e5f6071",
		"/?mysession=12345678901234567890", "/?mysession=0a1b2c3d", "/x;v=4x8lk2m9qp3vw7zt/y", "/(S(summary))/", "/?%zz=%zz",
	} {
		t.Run("not "+target, func(t *testing.T) {
			t.Parallel()
			got, found := traps.Find(mustURL(t, target), trapNow)
			require.Equal(t, crawl.Trap{}, got)
			require.False(t, found)
		})
	}
}

// Real pages must not be taken for traps: the paths of everyday software.
func TestFindKnowsOrdinaryPages(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"/wiki/Category:Towns_in_Devon", "/w/index.php?title=X&action=history&offset=20240101000000", "/blog/2024/02/29/leap-day.html",
		"/archives/2019/", "/?p=4711", "/?m=202611", "/forum/viewtopic.php?f=3&t=2050&start=2040", "/tag/go/page/2/", "/~anna/photos/2003/06/",
		"/en/docs/en/", "/commit/9fceb02d0ae598e95dc970b74767f19372d61af8", "/user/user/", "/@anna/112233445566778899",
		"/watch?v=dQw4w9WgXcQ", "/search?q=a&lang=en&sort=date&page=2", "/shop/shoes?color=red&size=42", "/events/2027-06-12-summer-fair",
	} {
		_, found := traps.Find(mustURL(t, target), trapNow)
		require.False(t, found, target)
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/":                      "/",
		"/about/us.html":         "/about/us.html",
		"/a//b/":                 "/a//b/",
		"/item/4711":             "/item/N",
		"/item-4711-v2.html":     "/item-N-vN.html",
		"/4711/2/07":             "/N/N/N",
		"/cal/2026/11":           "/cal/D",
		"/cal/2026/11/21/":       "/cal/D/",
		"/cal/2026/11/title":     "/cal/D/title",
		"/cal/2026-11-21-fair-3": "/cal/D-fair-N",
		"/cal/2026-11":           "/cal/D",
		"/cal/20261121":          "/cal/N",
		"/x/123e4567-e89b-12d3-a456-426614174000.png": "/x/X.png",
		"/x/123e4567-e89b-12d3-a456-4266141740001":    "/x/X-eNb-NdN-aN-N",
		"/commit/9fceb02d":                            "/commit/X",
		"/commit/deadbeef":                            "/commit/deadbeef",
		"/chapter12-win95":                            "/chapterN-winN",
		"/s/3w5e11264sgsf/shop/1":                     "/s/X/shop/N",
		"/k/4x8lk2m9qp3vw7zt":                         "/k/X",
		"/%E4%BD%A0/7":                                "/%E4%BD%A0/N",
		"/%25%3":                                      "/%25%25N",
		"/?b=2&a=1&b=3":                               "/?a&b",
		"/?f%5B0%5D=x&f%5B1%5D=y":                     "/?f%5BN%5D=x&f%5BN%5D=y",
		"/i?title=Main_Page&action=history":           "/i?action=history&title=Main_Page",
		"/i?mode=print&t=17&start=40":                 "/i?mode=print&start&t",
		"/i?v=dQw4w9WgXcQ&d=2026-11-21T10:00&id=x17":  "/i?d&id=xN&v",
		"/i?q=%E6%BC%A2&lang=pt-BR":                   "/i?lang=pt-BR&q=%E6%BC%A2",
		"/i?q=" + strings.Repeat("word+", 20):         "/i?q",
		"/list?page=3":                                "/list?page",
		"/list?flag":                                  "/list?flag",
		"/?=":                                         "/?",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, traps.Pattern(mustURL(t, target)))
		})
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][]string{
		"/":                                  nil,
		"/about/us.html":                     nil,
		"/item/4711":                         {"/item/N"},
		"/?p=4711":                           {"/", "/?p"},
		"/list?sort=price&page=3":            {"/list", "/list?page&sort", "/list?page&sort=price"},
		"/i.php?title=Main_Page&action=edit": {"/i.php", "/i.php?action&title", "/i.php?action=edit&title=Main_Page"},
		"/i?f%5B0%5D=x&f%5B1%5D=y":           {"/i", "/i?f%5BN%5D", "/i?f%5BN%5D=x&f%5BN%5D=y"},
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			got := traps.Patterns(mustURL(t, target))
			require.Equal(t, want, got)
			for i, p := range got {
				require.Equal(t, got[:i], append([]string{}, traps.Parents(p)...), p)
			}
			if len(got) > 0 {
				require.Equal(t, traps.Pattern(mustURL(t, target)), got[len(got)-1])
			}
		})
	}
}

// spent is a pattern with so many pages, so many of them without news.
func spent(pattern string, seen, duplicates int) crawl.PatternFacts {
	return crawl.PatternFacts{Pattern: pattern, Seen: seen, Duplicates: duplicates}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	budget := func(seen, duplicates int) int {
		return traps.Budget([]crawl.PatternFacts{spent("/p/N", seen, duplicates)})
	}

	t.Run("StopsAtTheGraceWithoutNews", func(t *testing.T) {
		t.Parallel()
		for seen := range traps.PatternGrace {
			require.Equal(t, traps.PatternGrace-seen, budget(seen, seen))
			_, found := traps.FindPattern([]crawl.PatternFacts{spent("/cal/D", seen, seen)})
			require.False(t, found)
		}
		require.Zero(t, budget(traps.PatternGrace, traps.PatternGrace))
		trap, found := traps.FindPattern([]crawl.PatternFacts{spent("/cal/D", 50, 50)})
		require.True(t, found)
		require.Equal(t, crawl.Trap{Rule: crawl.TrapPattern, Evidence: "50 of 50 pages like /cal/D had nothing new"}, trap)
	})

	t.Run("NeverStopsWhatIsAQuarterNew", func(t *testing.T) {
		t.Parallel()
		for seen := 0; seen < 1_000_000; seen += 997 {
			require.Positive(t, budget(seen, seen*3/4), seen)
		}
	})

	t.Run("ShrinksWithDuplicatesAndGrowsWithNews", func(t *testing.T) {
		t.Parallel()
		for seen := range 300 {
			for dup := range seen + 1 {
				left := budget(seen, dup)
				require.LessOrEqual(t, budget(seen+1, dup+1), left)
				require.GreaterOrEqual(t, budget(seen+1, dup), left)
				require.LessOrEqual(t, budget(seen+1, dup+1), budget(seen+1, dup))
			}
		}
	})

	t.Run("BoundsWhatATrapCosts", func(t *testing.T) {
		t.Parallel()
		for _, newEvery := range []int{5, 10, 1000} {
			seen, dup := 0, 0
			for budget(seen, dup) > 0 {
				seen++
				if seen%newEvery != 0 {
					dup++
				}
				require.Less(t, seen, 10_000)
			}
			require.LessOrEqual(t, dup, traps.PatternGrace+3*(seen-dup), newEvery)
		}
	})

	t.Run("BlamesACopyThatNamesItsOriginalForLess", func(t *testing.T) {
		t.Parallel()
		copies := func(n int) int { return traps.Budget([]crawl.PatternFacts{{Pattern: "/p/N", Seen: n, Copies: n}}) }
		require.Equal(t, traps.PatternGrace-25, copies(100))
		require.Zero(t, copies(4*traps.PatternGrace), "an endless space of them ends, too")
	})

	t.Run("EnforcesTheWholePatternAlone", func(t *testing.T) {
		t.Parallel()
		chain := func(path, whole crawl.PatternFacts) int { return traps.Budget([]crawl.PatternFacts{path, whole}) }
		topics := spent("/viewtopic.php?t", 60, 0)
		require.Equal(t, traps.PatternGrace+180, chain(spent("/viewtopic.php", 110, 50), topics))
		require.Equal(t, traps.PatternTrial+180, chain(spent("/viewtopic.php", 110, 95), topics), "news of its own keep it")
		require.Equal(t, 180, chain(spent("/viewtopic.php", 1000, 990), topics))
		require.Zero(t, chain(spent("/viewtopic.php", 110, 50), spent("/viewtopic.php?p", 50, 50)))
	})

	t.Run("TriesLessOfAPathWithoutNews", func(t *testing.T) {
		t.Parallel()
		fresh := spent("/s?a=b", 0, 0)
		require.Equal(t, traps.PatternGrace, traps.Budget([]crawl.PatternFacts{spent("/s", 49, 49), spent("/s?a", 0, 0), fresh}))
		require.Equal(t, traps.PatternTrial, traps.Budget([]crawl.PatternFacts{spent("/s", 50, 50), spent("/s?a", 0, 0), fresh}))
		require.Equal(t, traps.PatternTrial, traps.Budget([]crawl.PatternFacts{spent("/s", 60, 50), spent("/s?a", 50, 50), fresh}))
		facts := []crawl.PatternFacts{spent("/s", 100, 100), spent("/s?a", 0, 0), fresh}
		require.Zero(t, traps.Budget(facts))
		trap, found := traps.FindPattern(facts)
		require.True(t, found)
		require.Equal(t, "100 of 100 pages like /s had nothing new, and no page like /s?a=b is known to be new", trap.Evidence)
	})

	t.Run("TakesAnyNumbers", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, traps.PatternGrace, budget(-5, 3))
		require.Zero(t, budget(100, 1000))
		require.Equal(t, traps.PatternGrace+30, budget(10, -4))
		require.Equal(t, traps.PatternGrace, traps.Budget(nil))
		require.Equal(t, traps.PatternGrace-2, traps.Budget([]crawl.PatternFacts{{Seen: 10, Copies: 11, Duplicates: 5}}))
	})
}

// TestTrapsEnd crawls endless spaces without any news, as a crawler would that
// asks Find and FindPattern before each request.
func TestTrapsEnd(t *testing.T) {
	t.Parallel()
	filters := []string{"brand", "colour", "size", "sort", "view"}
	for name, links := range map[string]func(rng *rand.Rand, from string) []string{
		"calendar": func(_ *rand.Rand, from string) []string {
			var year, month int
			_, err := fmt.Sscanf(from, "/%d/%d", &year, &month)
			if err != nil {
				year, month = 2026, 11
			}
			return []string{fmt.Sprintf("/%d/%d", year+month/12, month%12+1), fmt.Sprintf("/%d/%d", year+1, month)}
		},
		"sessions in the path": func(rng *rand.Rand, _ string) (to []string) {
			id := strconv.FormatUint(rng.Uint64(), 36)
			for page := range 5 {
				to = append(to, fmt.Sprintf("/s/%s/shop/%d", id, page))
			}
			return to
		},
		"filters in any order": func(_ *rand.Rand, from string) (to []string) {
			_, query, _ := strings.Cut(from, "?")
			for _, filter := range filters {
				for _, value := range []string{"a", "b"} {
					pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
						return pair == "" || strings.HasPrefix(pair, filter+"=")
					})
					to = append(to, "/search?"+strings.Join(append(pairs, filter+"="+value), "&"))
				}
			}
			return to
		},
		"a folder in itself": func(_ *rand.Rand, from string) []string { return []string{from + "a/b/", from + "b/"} },
		"numbers":            func(rng *rand.Rand, _ string) []string { return []string{fmt.Sprintf("/l/%d", rng.Uint32())} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(7, 8))
			seen, counts := map[string]bool{}, map[string]int{}
			fetched := 0
			for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
				u := mustURL(t, queue[0])
				_, trap := traps.Find(u, trapNow)
				var facts []crawl.PatternFacts
				for _, p := range traps.Patterns(u) {
					facts = append(facts, spent(p, counts[p], counts[p]))
				}
				_, stopped := traps.FindPattern(facts)
				if trap || stopped || seen[u.String()] {
					continue
				}
				seen[u.String()] = true
				for _, p := range facts {
					counts[p.Pattern]++
				}
				fetched++
				require.Less(t, fetched, 2*traps.PatternGrace+60, "whatever the filters combine to")
				queue = append(queue, links(rng, u.RequestTarget())...)
			}
			require.Greater(t, fetched, 2)
		})
	}
}

func FuzzTrap(f *testing.F) {
	for _, target := range []string{
		"/", "/a/a/a?b=1&b=2", "/cal/2029/01?d=2029-01-31T1", "/x/123e4567-e89b-12d3-a456-426614174000", "/(S(lit3py55t21z5v55vlm25s5))/a;sid=1",
		"/%e4%BD%a0%/4711-7?%zz[0]=%", "/20290131/2029-01-31x", "/?d=2029-01-31%00%ff", "/?%00sess=0a1b2c3d4e5f6071",
	} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := urls.Parse("https://example.org" + target)
		if err != nil {
			return
		}
		trap, found := traps.Find(u, trapNow)
		require.Equal(t, found, trap != crawl.Trap{})
		require.LessOrEqual(t, len(trap.Evidence), 300)
		require.False(t, strings.ContainsFunc(trap.Evidence, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", trap.Evidence)
		pattern := traps.Pattern(u)
		require.LessOrEqual(t, len(pattern), len(u.RequestTarget()))
		require.True(t, strings.HasPrefix(pattern, "/"))
		for i := 0; i < len(pattern); i++ {
			if pattern[i] == '%' {
				i += 2
				continue
			}
			require.NotContains(t, "0123456789", string(pattern[i]), "%s of %s", pattern, u)
		}
	})
}

func ExamplePatterns() {
	for _, raw := range []string{
		"https://example.org/calendar/2026/11/21?view=day&lang=en",
		"https://example.org/calendar/1999/1/1?lang=de&view=week",
	} {
		u, err := urls.Parse(raw)
		if err != nil {
			panic(err)
		}
		fmt.Println(strings.Join(traps.Patterns(u), " "))
	}
	// Output:
	// /calendar/D /calendar/D?lang&view /calendar/D?lang=en&view=day
	// /calendar/D /calendar/D?lang&view /calendar/D?lang=de&view=week
}

// What each link of a page costs.
func BenchmarkLink(b *testing.B) {
	var links []urls.URL
	for _, target := range []string{
		"/", "/about/us", "/blog/2026/11/an-article-about-things.html?page=2", "/p/17?sort=price&n=7",
		"/download/3f2504e0-4f89-11d3-9a0c-0305e82c3301.pdf", "/%D0%B3%D0%BE%D1%80%D0%BE%D0%B4/123-abc/",
	} {
		links = append(links, mustURL(b, target))
	}
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		for _, u := range links {
			traps.Find(u, now)
			traps.Patterns(u)
		}
	}
}
