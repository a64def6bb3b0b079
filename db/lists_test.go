package db_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/lists"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
)

func (b *bundle) list(t *testing.T, list lists.List, texts ...string) int {
	t.Helper()
	added, err := b.AddToList(t.Context(), list, entries(t, texts), "because", "tester")
	require.NoError(t, err)
	return added
}

func (b *bundle) unlist(t *testing.T, list lists.List, texts ...string) int {
	t.Helper()
	removed, err := b.RemoveFromList(t.Context(), list, len(texts) == 0, entries(t, texts))
	require.NoError(t, err)
	return removed
}

func entries(t *testing.T, texts []string) (all []lists.Entry) {
	t.Helper()
	for _, text := range texts {
		e, err := lists.Parse(text)
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

// listed is the list and the entry that keep a domain from being crawled.
func (b *bundle) listed(t *testing.T, domain string) string {
	t.Helper()
	facts, err := b.Facts(t.Context(), domain)
	require.NoError(t, err)
	c, found := facts.Domain.Controls.FirstForbidding(facts.Now)
	require.Equal(t, found, c.ListLabel() != "")
	return c.ListLabel()
}

func TestLists(t *testing.T) {
	t.Parallel()

	t.Run("BlockHostsDomainsAndWhatIsBelow", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		require.Empty(t, b.listed(t, "example.com"))
		require.Equal(t, 4, b.list(t, lists.Block, "example.com", "shop.example.org", "*.example.net", "other.example"))
		require.Equal(t, 0, b.list(t, lists.Block, "example.com"), "it is there already")
		for domain, want := range map[string]string{
			"example.com":        "on the block list (example.com)",
			"a.b.example.com":    "on the block list (example.com)",
			"notexample.com":     "",
			"com":                "",
			"example.org":        "",
			"shop.example.org":   "on the block list (shop.example.org)",
			"a.shop.example.org": "",
			"example.net":        "",
			"a.example.net":      "on the block list (*.example.net)",
			"a.b.example.net":    "on the block list (*.example.net)",
			"192.0.2.1":          "",
		} {
			require.Equal(t, want, b.listed(t, domain), domain)
		}
		require.Equal(t, 1, b.unlist(t, lists.Block, "example.com"))
		require.Zero(t, b.unlist(t, lists.Block, "example.com"))
		require.Empty(t, b.listed(t, "a.example.com"))
		require.Equal(t, 3, b.unlist(t, lists.Block))
		require.Empty(t, b.listed(t, "shop.example.org"))
	})

	t.Run("AllowOnlyWhatIsOnTheAllowList", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.list(t, lists.Allow, "example.com", "*.example.net")
		b.list(t, lists.Block, "bad.example.com")
		for domain, want := range map[string]string{
			"example.com": "", "a.example.com": "", "a.example.net": "",
			"bad.example.com": "on the block list (bad.example.com)",
			"example.net":     "not on the allow list", "example.org": "not on the allow list",
		} {
			require.Equal(t, want, b.listed(t, domain), domain)
		}
		b.unlist(t, lists.Allow)
		require.Empty(t, b.listed(t, "example.org"))
	})

	t.Run("TellAddressesByTheirNetworks", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		listed := func(domain, addr string) string {
			c, _, err := b.AddressListed(t.Context(), domain, netip.MustParseAddr(addr))
			require.NoError(t, err)
			return c.ListLabel()
		}
		b.list(t, lists.Block, "192.0.2.0/24", "192.0.2.128/25", "2001:db8::/32")
		require.Equal(t, "on the block list (192.0.2.0/24)", listed("a.example", "192.0.2.7"))
		require.Equal(t, "on the block list (192.0.2.128/25)", listed("a.example", "192.0.2.200"))
		require.Equal(t, "on the block list (2001:db8::/32)", listed("a.example", "2001:db8::1"))
		require.Empty(t, listed("a.example", "198.51.100.1"))
		b.list(t, lists.Allow, "198.51.100.0/24", "named.example")
		require.Empty(t, listed("a.example", "198.51.100.1"))
		require.Empty(t, b.listed(t, "a.example"), "its address tells")
		require.Equal(t, "not on the allow list", listed("a.example", "203.0.113.1"))
		require.Empty(t, listed("named.example", "203.0.113.1"), "it is on the list by its name")
		require.Equal(t, "on the block list (192.0.2.0/24)", listed("named.example", "192.0.2.7"))
	})
}

func TestListedDomains(t *testing.T) {
	t.Parallel()

	t.Run("AreNotAskedFromTheNextRequestOn", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example.com/")
		n := b.next(t, "a.example.com")
		require.NotZero(t, n.AttemptID)
		b.list(t, lists.Block, "example.com")
		for _, s := range []crawl.Start{startOf(n, "a.example.com", address), startOf(n, "a.example.com", "")} {
			l, err := b.Begin(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, crawl.Lease{Reason: "block"}, l)
		}
		n = b.next(t, "a.example.com")
		d := decide.Decide(decide.Facts{Facts: n.Facts}, n.Now)
		require.Equal(t, decide.Finish, d.Action)
		require.Equal(t, reasons.Blocked, d.Reason)
		require.Equal(t, "the domain is on the block list (example.com), as set by tester: because", d.Explanation)

		require.Empty(t, b.claim(t, 10))
		b.unlist(t, lists.Block)
		require.Equal(t, []string{"a.example.com"}, b.claim(t, 10), "it goes on where it was")
		b.begin(t, "a.example.com")
	})

	t.Run("AreNotSeeded", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.list(t, lists.Block, "*.example.com")
		b.seed(t, "https://example.com/", "https://a.example.com/", "https://b.example.com/x")
		require.Equal(t, []string{"https://example.com/"}, b.crawls(t))
		b.unlist(t, lists.Block)
		b.seed(t, "https://a.example.com/")
		require.Len(t, b.crawls(t), 2)
	})

	t.Run("AreNotFollowedButTheirLinksAreKept", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{Scope: new(settings.ScopeWeb)})
		b.seed(t, "https://start.example/")
		b.list(t, lists.Block, "bad.example")
		b.fetch(t, "start.example", "https://good.example/", "https://bad.example/")
		require.Equal(t, []string{"https://good.example/", "https://start.example/"}, b.crawls(t))
		require.Len(t, column[int64](t, b, "SELECT to_page_id FROM page_links"), 2)
		b.unlist(t, lists.Block)
		_, done, err := b.WidenRun(t.Context(), b.run.ID, func(c crawl.AttemptFacts) *crawl.KnownLinks {
			return decide.FollowSkipped(crawl.RunFacts{Settings: b.run.Settings}, c)
		})
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, []string{"https://bad.example/", "https://good.example/", "https://start.example/"}, b.crawls(t))
	})

	t.Run("AreFoundAmongManyEntries", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		var many []string
		for i := range 12_000 {
			many = append(many, fmt.Sprintf("d%d.example.com", i))
		}
		require.Equal(t, len(many), b.list(t, lists.Block, many...))
		var read int
		require.NoError(t, b.ListEntries(t.Context(), lists.Block, func(db.ListEntry) error { read++; return nil }))
		require.Equal(t, len(many), read)
		require.Equal(t, "on the block list (d77.example.com)", b.listed(t, "d77.example.com"))
		require.Empty(t, b.listed(t, "d12000.example.com"))
	})
}
