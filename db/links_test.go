package db_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestRecordFollowsLinks(t *testing.T) {
	t.Parallel()

	t.Run("OnSeededDomains", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "seeded", settings.Settings{})
		b.seed(t, "https://seeded.example/", "https://other.seeded.example/")
		b.fetch(t, "seeded.example", "https://seeded.example/in", "https://other.seeded.example/in", "https://out.seeded.example/")
		require.Equal(t, []string{
			"https://other.seeded.example/", "https://other.seeded.example/in",
			"https://seeded.example/", "https://seeded.example/in",
		}, b.crawls(t))
		require.Len(t, b.allLinks(t, "https://seeded.example/"), 3, "what is out of scope is still linked")
		require.Empty(t, b.page(t, "https://out.seeded.example/").Crawls)
		_, err := b.Domain(t.Context(), "out.seeded.example")
		require.ErrorIs(t, err, crawl.ErrNotFound)
		in := b.page(t, "https://seeded.example/in")
		require.Equal(t, 1, in.Crawls[0].Depth)
		require.Equal(t, "seeded.example", in.Domain)
		require.Equal(t, "discovered", in.Status)
	})

	t.Run("OnTheWeb", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "web", settings.Settings{Scope: new(settings.ScopeWeb)})
		b.seed(t, "https://web.example/")
		b.fetch(t, "web.example", "https://out.web.example/")
		require.Equal(t, []string{"https://out.web.example/", "https://web.example/"}, b.crawls(t))
		b.fetch(t, "out.web.example", "https://further.web.example/")
		require.Equal(t, 2, b.page(t, "https://further.web.example/").Crawls[0].Depth)
		p := b.progress(t)
		require.EqualValues(t, 3, p.Domains)
		require.EqualValues(t, 1, p.SeedDomains)
	})

	t.Run("OnceEach", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "once", settings.Settings{})
		const self, twice, known = "https://once.example/", "https://once.example/twice", "https://once.example/known"
		b.seed(t, self, known)
		b.fetch(t, "once.example", self, twice, twice, known)
		require.Equal(t, []string{self, known, twice}, b.crawls(t))
		require.Equal(t, []string{"link " + self, "link " + known, "link " + twice}, b.allLinks(t, self))
		b.fetch(t, "once.example", self, twice) // known
		b.fetch(t, "once.example", self, known) // twice
		require.Equal(t, []string{self, known, twice}, b.crawls(t), "not again, though they are closed")
		p := b.page(t, self)
		require.EqualValues(t, 3, p.LinksOut)
		require.EqualValues(t, 3, p.LinksIn)
	})

	t.Run("UnlessTheyAreNofollow", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "nofollow", settings.Settings{})
		b.seed(t, "https://nofollow.example/")
		found := links(t, "https://nofollow.example/no", "https://nofollow.example/both", "https://nofollow.example/both")
		found[0].NoFollow, found[1].NoFollow = true, true
		b.finish(t, attempted(b.begin(t, "nofollow.example"), "nofollow.example", found...))
		require.Equal(t, []string{"https://nofollow.example/", "https://nofollow.example/both"}, b.crawls(t))
		require.Equal(t, []string{"link https://nofollow.example/both", "link nofollow https://nofollow.example/no"},
			b.allLinks(t, "https://nofollow.example/"))
	})

	t.Run("UpToTheDepth", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "depth", settings.Settings{MaxDepth: new(1)})
		b.seed(t, "https://depth.example/")
		b.fetch(t, "depth.example", "https://depth.example/1")
		b.fetch(t, "depth.example", "https://depth.example/2")
		require.Equal(t, []string{"https://depth.example/", "https://depth.example/1"}, b.crawls(t))
		require.Equal(t, []string{"link https://depth.example/2"}, b.allLinks(t, "https://depth.example/1"))
	})

	t.Run("NotAtAllFromSeedsOnly", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "zero", settings.Settings{MaxDepth: new(0)})
		b.seed(t, "https://zero.example/")
		b.fetch(t, "zero.example", "https://zero.example/1")
		require.Equal(t, []string{"https://zero.example/"}, b.crawls(t))
	})

	t.Run("ShallowFirst", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "order", settings.Settings{})
		b.seed(t, "https://order.example/a", "https://order.example/b")
		first := b.begin(t, "order.example")
		b.finish(t, attempted(first, "order.example", links(t, "https://order.example/deep")...))
		second := b.fetch(t, "order.example")
		require.Equal(t, "https://order.example/a", first.URL)
		require.Equal(t, "https://order.example/deep", second.URL, "both seeds came before it")
	})

	t.Run("InEachRun", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "first", settings.Settings{})
		again := b.in(t, "second", settings.Settings{})
		b.seed(t, "https://runs.example/")
		b.fetch(t, "runs.example", "https://runs.example/x")
		again.seed(t, "https://runs.example/")
		again.fetch(t, "runs.example", "https://runs.example/x") // whose turn it is: a seed's
		want := []string{"https://runs.example/", "https://runs.example/x"}
		require.Equal(t, want, b.crawls(t))
		require.Equal(t, want, again.crawls(t))
	})
}

func TestRecordFollowsRedirects(t *testing.T) {
	t.Parallel()
	redirect := func(t *testing.T, b *bundle, domain, to string) {
		t.Helper()
		n := b.begin(t, domain)
		a := attempted(n, domain, links(t, to)...)
		a.StatusCode, a.Redirect, a.Follow = 301, true, decide.FollowRedirect(*n.picked, *n.picked.Attempt)
		b.finish(t, a)
	}

	t.Run("WithoutCountingThemAsLinks", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "uncounted", settings.Settings{MaxDepth: new(0)})
		const from, to = "https://uncounted.example/", "https://uncounted.example/to"
		b.seed(t, from)
		redirect(t, b, "uncounted.example", to)
		require.Equal(t, []string{from, to}, b.crawls(t))
		require.Equal(t, []string{"redirect " + to}, b.allLinks(t, from))
		require.Equal(t, to, b.page(t, from).RedirectTo)
		require.Zero(t, b.page(t, to).Crawls[0].Depth)
		require.Empty(t, b.page(t, to).RedirectTo)
	})

	t.Run("ToWhereASeedHasMoved", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "moved", settings.Settings{})
		b.seed(t, "https://old.example/")
		redirect(t, b, "old.example", "https://new.example/")
		b.fetch(t, "new.example", "https://new.example/in", "https://elsewhere.example/")
		require.Equal(t, []string{"https://new.example/", "https://new.example/in", "https://old.example/"}, b.crawls(t))
		require.EqualValues(t, 2, b.progress(t).SeedDomains)
	})

	t.Run("NotOutOfScope", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "stray", settings.Settings{})
		b.seed(t, "https://stray.example/")
		b.fetch(t, "stray.example", "https://stray.example/1")
		redirect(t, b, "stray.example", "https://away.example/")
		require.Equal(t, []string{"https://stray.example/", "https://stray.example/1"}, b.crawls(t))
		require.Equal(t, "https://away.example/", b.page(t, "https://stray.example/1").RedirectTo)
	})

	t.Run("TwentyInARow", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "chain", settings.Settings{})
		b.seed(t, "https://chain.example/0")
		for i := range 21 {
			redirect(t, b, "chain.example", "https://chain.example/"+strconv.Itoa(i+1))
		}
		require.Len(t, b.crawls(t), 21)
		require.Zero(t, b.next(t, "chain.example").AttemptID)
	})

	t.Run("ALinkStartsTheCountAnew", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "anew", settings.Settings{})
		b.seed(t, "https://anew.example/0")
		for i := range 20 {
			redirect(t, b, "anew.example", "https://anew.example/"+strconv.Itoa(i+1))
		}
		b.fetch(t, "anew.example", "https://anew.example/link")
		redirect(t, b, "anew.example", "https://anew.example/end")
		require.Equal(t, "https://anew.example/end", b.next(t, "anew.example").URL)
	})
}

// TestRecordTogether has many domains find the same pages at the same time.
func TestRecordTogether(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{Scope: new(settings.ScopeWeb)})
	const domains, found = 8, 60
	attempts := make([]crawl.Attempt, domains)
	for i := range attempts {
		domain := fmt.Sprintf("finder%d.example", i)
		b.seed(t, "https://"+domain+"/")
		require.Equal(t, []string{domain}, b.claim(t, 1))
		attempts[i] = attempted(b.begin(t, domain), domain)
		for _, j := range rand.Perm(found) {
			attempts[i].Links = append(attempts[i].Links, links(t, fmt.Sprintf("https://found%d.example/%d", j%7, j))...)
		}
	}
	together(t, domains, func(i int) error {
		rec, err := b.Record(t.Context(), attempts[i])
		if err == nil && !rec.Closed {
			return fmt.Errorf("attempt %d was not closed", i)
		}
		return err
	})
	crawls := b.crawls(t)
	require.Len(t, crawls, domains+found)
	slices.Sort(crawls)
	require.Len(t, slices.Compact(crawls), domains+found)
	require.EqualValues(t, domains*found, one[int64](t, b, "SELECT count(*) FROM page_links"))
	require.EqualValues(t, domains+7, b.progress(t).Domains)
	require.Len(t, b.claim(t, 100), 7, "only what was found is due")
}
