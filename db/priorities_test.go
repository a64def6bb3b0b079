package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestDomainPriority(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	for name, c := range map[string]struct {
		args string
		want float64
	}{
		"NothingIsKnown":   {"NULL, NULL, NULL, NULL, NULL, NULL, NULL", 0},
		"First":            {"1, NULL, NULL, NULL, NULL, NULL, NULL", 1},
		"Thousandth":       {"1000, NULL, NULL, NULL, NULL, NULL, NULL", 0.571},
		"Last":             {"2000000000, NULL, NULL, NULL, NULL, NULL, NULL", 0},
		"Linked":           {"NULL, 0.4, NULL, NULL, NULL, NULL, NULL", 0.4},
		"News":             {"NULL, NULL, 0.7, NULL, NULL, NULL, NULL", 0.7},
		"PagesLeft":        {"NULL, NULL, NULL, NULL, 250, NULL, NULL", 0.25},
		"ManyPagesLeft":    {"NULL, NULL, NULL, NULL, 1000000, NULL, NULL", 0.5},
		"FewerThanCrawled": {"NULL, NULL, NULL, NULL, -3, NULL, NULL", 0},
		"Stale":            {"NULL, NULL, NULL, NULL, NULL, 15, NULL", 0.25},
		"VeryStale":        {"NULL, NULL, NULL, NULL, NULL, 3000, NULL", 0.5},
		"Failing":          {"NULL, NULL, 0.5, NULL, NULL, NULL, 1", -0.5},
		"Images":           {"NULL, NULL, NULL, 5, NULL, NULL, NULL", 0.5},
		"ManyImages":       {"NULL, NULL, NULL, 5000, NULL, NULL, NULL", 1},
		"Everything":       {"1, 1, 1, 10, 500, 30, 1", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, c.want, one[float64](t, b, "SELECT domain_priority("+c.args+")"), 0.001)
		})
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()

	t.Run("AreKeptWithEachDomain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://news.example/", "https://dead.example/")
		other := b.in(t, "other", settings.Settings{})
		other.seed(t, "https://news.example/")
		b.exec(t, "UPDATE domains SET yield_rate = 0.5, error_rate = 0.1, pages_crawled = 1, last_crawled_at = now() WHERE domain = 'news.example'")
		b.exec(t, "UPDATE domains SET error_rate = 1 WHERE domain = 'dead.example'")
		score := func(column, domain string, run *crawl.Run) float64 {
			t.Helper()
			if run == nil {
				return one[float64](t, b, "SELECT priority_score FROM domains WHERE domain = $1", domain)
			}
			return one[float64](t, b, "SELECT "+column+" FROM run_domains WHERE domain = $1 AND run_id = $2", domain, run.ID)
		}
		require.Zero(t, score("", "news.example", nil))
		require.NoError(t, b.PrioritizeDomains(t.Context(), func(int64) {}))
		require.InDelta(t, 0.4, score("", "news.example", nil), 0.001)
		require.InDelta(t, -1, score("", "dead.example", nil), 0.001)
		require.InDelta(t, 0.4, score("priority", "news.example", &b.run), 0.001)
		require.InDelta(t, 0.4, score("priority", "news.example", &other.run), 0.001)
		require.Equal(t, []string{"news.example", "dead.example"}, b.claim(t, 2))
		require.False(t, one[bool](t, b, "SELECT bool_or(priority_computed_at IS NULL) FROM domains"))
	})

	t.Run("CountAfterTurns", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{YieldAfter: new(int64(2)), MaxDomains: new(1)})
		b.seed(t, "https://great.example/1", "https://great.example/2", "https://great.example/3", "https://small.example/")
		b.exec(t, "UPDATE run_domains SET priority = 1 WHERE domain = 'great.example'")
		require.Equal(t, []string{"great.example"}, b.claim(t, 1))
		b.exec(t, "UPDATE run_domains SET pages_started = 2 WHERE domain = 'great.example'")
		require.False(t, b.end(t, "great.example", "yielded"), "nobody waits as far as is known")
		require.NoError(t, b.MarkRunCrowded(t.Context(), b.run.ID, true))
		require.True(t, b.end(t, "great.example", "yielded"))
		require.Equal(t, []string{"small.example"}, b.claim(t, 1))
		require.Equal(t, []string{"great.example"}, b.claim(t, 1))
		require.NoError(t, b.MarkRunCrowded(t.Context(), b.run.ID, true))
		require.False(t, b.end(t, "great.example", "yielded"), "it has had nothing of its second turn")
	})

	t.Run("CountAmongMoreDomainsThanAreSorted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.exec(t, "INSERT INTO domains (domain) SELECT 'd' || i || '.example' FROM generate_series(1, 20500) i")
		b.exec(t, `INSERT INTO run_domains (run_id, domain, next_due_at, priority)
			SELECT $1, 'd' || i || '.example', now() - i * interval '1 second', i % 1000 FROM generate_series(1, 20500) i`, b.run.ID)
		b.exec(t, "UPDATE run_domains SET yield_count = 1 WHERE domain = 'd999.example'")
		b.exec(t, "UPDATE run_domains SET next_due_at = now() + interval '1 hour' WHERE domain = 'd1999.example'")
		b.exec(t, "UPDATE domains SET claimed_by = 'x', claim_expires_at = now() + interval '1 hour' WHERE domain = 'd2999.example'")
		b.exec(t, "UPDATE domains SET status = 'blocked' WHERE domain = 'd3999.example'")
		require.Equal(t, []string{"d10999.example", "d11999.example", "d12999.example"}, b.claim(t, 3))
		b.exec(t, "UPDATE run_domains SET next_due_at = now() + interval '1 hour' WHERE priority < 998")
		require.Equal(t, []string{"d13999.example", "d14999.example"}, b.claim(t, 2), "few are due now")
	})
}
