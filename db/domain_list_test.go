package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

func (b *bundle) listing(t *testing.T, q report.DomainQuery) (names []string, all []report.DomainListing) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	all, err := b.Domains(t.Context(), q)
	require.NoError(t, err)
	for _, d := range all {
		names = append(names, d.Domain)
	}
	return names, all
}

func TestDomains(t *testing.T) {
	t.Parallel()

	t.Run("AreCountedWhenTheirWorkflowEnds", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/", "https://b.example/")
		b.claim(t, 10)
		n := b.begin(t, "a.example")
		b.finish(t, attempted(n, "a.example", links(t, "https://a.example/1", "https://a.example/2")...))
		n = b.begin(t, "a.example")
		failed := attempted(n, "a.example")
		failed.Outcome, failed.Page = crawl.OutcomeFailed, nil
		b.finish(t, failed)
		_, err := b.FinishDomain(t.Context(), "a.example", func(f crawl.Facts) (crawl.Finish, bool) {
			return decide.Deferral(f, 0, "for now"), true
		})
		require.NoError(t, err)
		_, all := b.listing(t, report.DomainQuery{Sort: "pages"})
		a := all[0]
		require.Equal(t, "a.example", a.Domain)
		require.EqualValues(t, 1, a.Crawled)
		require.EqualValues(t, 3, a.Discovered)
		require.InDelta(t, 0.5, *a.ErrorRate, 0.001)
		require.False(t, a.First.After(a.Last))
		require.Empty(t, a.Claimed)
		require.Nil(t, all[1].ErrorRate, "nothing was asked of it")
		require.Zero(t, all[1].Discovered)
		require.NoError(t, b.CountDomains(t.Context(), func(int64) {}))
		_, all = b.listing(t, report.DomainQuery{Sort: "name"})
		require.EqualValues(t, 1, all[1].Discovered)
	})

	t.Run("AreListedByWhatIsWanted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		var some []seeds.Seed
		for i, text := range []string{"c.example", "a.example", "b.example"} {
			u, err := urls.ParseSeed(text)
			require.NoError(t, err)
			s := seeds.Of(u)
			s.Rank = int32(i + 1)
			some = append(some, s)
		}
		_, err := b.StoreSeeds(t.Context(), b.run.ID, seeds.Tranco, some)
		require.NoError(t, err)
		b.seed(t, "https://d.example/")
		names, all := b.listing(t, report.DomainQuery{Sort: "rank"})
		require.Equal(t, []string{"c.example", "a.example", "b.example", "d.example"}, names)
		require.Equal(t, "tranco", all[0].Source)
		require.Equal(t, 1, all[0].Rank)
		names, _ = b.listing(t, report.DomainQuery{Sort: "name", Source: "tranco", Limit: 2})
		require.Equal(t, []string{"a.example", "b.example"}, names)
		b.exec(t, "UPDATE domains SET priority_score = 1 WHERE domain = 'b.example'")
		names, _ = b.listing(t, report.DomainQuery{Sort: "priority"})
		require.Equal(t, "b.example", names[0])
		names, _ = b.listing(t, report.DomainQuery{Sort: "name", Status: crawl.DomainActive})
		require.Empty(t, names)
		for _, sort := range report.DomainSorts {
			names, _ = b.listing(t, report.DomainQuery{Sort: sort})
			require.Len(t, names, 4, sort)
		}
	})

	t.Run("ChangeTheirStatusAsTheyMay", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/")
		to := func(status string) (v int64, err error) {
			err = b.Pool().QueryRow(t.Context(), `UPDATE domains SET status = $1::text::domain_status WHERE domain = 'a.example'
				RETURNING version`, status).Scan(&v)
			return v, err
		}
		active, err := to("active")
		require.NoError(t, err)
		exhausted, err := to("exhausted")
		require.NoError(t, err)
		require.Equal(t, active+1, exhausted)
		_, err = to("active")
		require.ErrorContains(t, err, "status exhausted cannot become active")
		_, err = to("unreachable")
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Message, "status exhausted cannot become unreachable")
	})

	t.Run("AreReleasedOfClaims", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/", "https://b.example/", "https://c.example/")
		require.Len(t, b.claim(t, 10), 3)
		released, err := b.ReleaseDomains(t.Context(), []string{"a.example", "d.example"})
		require.NoError(t, err)
		require.Equal(t, []string{"a.example"}, released)
		released, err = b.ReleaseDomains(t.Context(), []string{"b.example", "a.example"})
		require.NoError(t, err)
		require.Equal(t, []string{"b.example"}, released)
		require.ElementsMatch(t, []string{"a.example", "b.example"}, b.claim(t, 10))
	})
}
