package db_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func nothing() {}

// begun begins the front page of so many sites and returns what to record of each.
func (b *bundle) begun(t *testing.T, sites int) []crawl.Attempt {
	t.Helper()
	attempts := make([]crawl.Attempt, sites)
	for i := range sites {
		domain := fmt.Sprintf("s%d.example", i)
		b.seed(t, "https://"+domain+"/")
		attempts[i] = attempted(b.begin(t, domain), domain)
	}
	return attempts
}

func TestRecordInGroups(t *testing.T) {
	t.Parallel()

	t.Run("IsOneTransaction", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		attempts := b.begun(t, 6)
		for i := range attempts {
			attempts[i].Links = links(t, fmt.Sprintf("https://s%d.example/2", i), "https://s5.example/shared")
		}
		attempts[3].Links = nil // nothing is left to do there
		for i, o := range b.RecordTogether(t.Context(), nothing, attempts...) {
			require.NoError(t, o.Err)
			require.True(t, o.Closed)
			require.Equal(t, fmt.Sprintf("s%d.example", i), o.Facts.Domain.Name, "to each its own facts")
			if i == 3 {
				require.Empty(t, o.Facts.Runs)
				continue
			}
			require.Equal(t, fmt.Sprintf("https://s%d.example/2", i), viewOf(o.Facts).URL)
		}
		require.Equal(t, 1, one[int](t, b, "SELECT count(DISTINCT xmin::text) FROM page_crawls WHERE outcome IS NOT NULL"))
		require.Equal(t, report.Totals{Success: 6, RequestCount: 6}, b.progress(t).Totals)
	})

	t.Run("ABadOneHarmsOnlyItself", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		attempts := b.begun(t, 4)
		attempts[2].IP = "no address"
		for i, o := range b.RecordTogether(t.Context(), nothing, attempts...) {
			if i == 2 {
				require.ErrorIs(t, o.Err, crawl.ErrRefused)
				require.ErrorContains(t, o.Err, "no address")
				continue
			}
			require.NoError(t, o.Err)
			require.True(t, o.Closed)
		}
		require.Equal(t, []string{"https://s2.example/"}, column[string](t, b, "SELECT url FROM page_crawls WHERE outcome IS NULL"))
		require.Equal(t, []string{"domain:s2.example"}, column[string](t, b, "SELECT key FROM politeness_slots WHERE holder IS NOT NULL"))
	})

	t.Run("OneThatWaitsForAnotherTransactionHoldsNobodyUp", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		attempts := b.begun(t, 3)
		attempts[1].Links = links(t, "https://found.example/")
		tx, err := b.Pool().Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(t.Context()) //nolint:errcheck // it was committed
		_, err = tx.Exec(t.Context(), `INSERT INTO pages (url, domain, origin)
			VALUES ('https://found.example/', 'found.example', 'https://found.example')`)
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, o := range b.RecordTogether(t.Context(), nothing, attempts...) {
				require.NoError(t, o.Err)
			}
		}()
		eventually(t, "the others are recorded", func() bool {
			return one[int](t, b, "SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL") == 2
		})
		eventually(t, "the one waits", func() bool { return b.blocked(t) })
		require.NoError(t, tx.Commit(t.Context()))
		<-done
		require.Equal(t, report.Totals{Success: 3, RequestCount: 3}, b.progress(t).Totals)
	})

	t.Run("TwoOfADomainAreRecordedOneAfterTheOther", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/1", "https://a.example/2")
		var attempts []crawl.Attempt
		for _, id := range column[int64](t, b, "SELECT id FROM page_crawls ORDER BY id") {
			attempts = append(attempts, crawl.Attempt{
				ID: id, Domain: domainA, Outcome: crawl.OutcomeSkipped, Skipped: reasons.Trap, EndedAt: time.Now(),
			})
		}
		for _, o := range b.RecordTogether(t.Context(), nothing, attempts...) {
			require.NoError(t, o.Err)
			require.True(t, o.Closed)
		}
		require.EqualValues(t, 2, b.progress(t).Skipped)
	})

	t.Run("OneOfWhichTheCallerIsGoneIsLeftOut", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		attempts := b.begun(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		for _, o := range b.RecordTogether(ctx, cancel, attempts...) {
			require.ErrorIs(t, o.Err, context.Canceled)
		}
		require.Zero(t, one[int](t, b, "SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL"))
		for _, a := range attempts {
			require.True(t, b.recorded(t, a).Closed, "and may come again")
		}
	})
}

func (b *bundle) recorded(t *testing.T, a crawl.Attempt) crawl.RecordResult {
	t.Helper()
	rec, err := b.Record(t.Context(), a)
	require.NoError(t, err)
	return rec
}

// What is stored does not depend on whether attempts were recorded together.
func TestRecordInGroupsIsAsRecordedAlone(t *testing.T) {
	t.Parallel()
	alone, together := setup(t, settings.Settings{}), setup(t, settings.Settings{})
	for _, a := range mixed(t, alone) {
		alone.recorded(t, a)
	}
	for _, o := range together.RecordTogether(t.Context(), nothing, mixed(t, together)...) {
		require.NoError(t, o.Err)
		require.True(t, o.Closed)
	}
	want, got := alone.told(t), together.told(t)
	require.NotEmpty(t, want["links"])
	require.Equal(t, want, got)
}

// mixed begins attempts of many kinds.
func mixed(t *testing.T, b *bundle) []crawl.Attempt {
	t.Helper()
	attempts := b.begun(t, 8)
	shared := "https://s1.example/shared"
	charge := func(a *crawl.Attempt, content byte, patterns ...string) {
		a.Charge = &crawl.Charge{Patterns: patterns, Fingerprints: []byte{content}, Shared: []byte{content + 1}}
		a.Page.Visit.Content = crawl.ContentHash{content}
		a.Page.SimHash = new(int64(content))
	}
	a := attempts
	a[0].Links = links(t, "https://s0.example/a", shared, "https://s0.example/a", "https://other.example/x")
	a[0].Page.Signals.Title, a[0].Page.NoFollow, a[0].ContentType = "A title", true, "text/html"
	charge(&a[0], 1, "/N")
	a[1].Links = links(t, shared, "https://s1.example/trap", "https://s1.example/nofollow", "https://s0.example/a")
	a[1].Links[1].Trap, a[1].Links[1].TrapEvidence = crawl.TrapPattern, "seen too often"
	a[1].Links[2].NoFollow = true
	charge(&a[1], 1, "/N", "/N?q")
	a[2].Links, a[2].Redirect = links(t, "https://s2.example/to"), true
	a[2].Charge = &crawl.Charge{Patterns: []string{"/go"}, Redirect: true}
	a[3].Outcome, a[3].StatusCode, a[3].Page, a[3].RetryIn = crawl.OutcomeBlocked5xx, 503, nil, new(crawl.Millis(time.Hour))
	a[4].Outcome, a[4].Page, a[4].Error = crawl.OutcomeFailed, &crawl.PageUpdate{Failed: true}, "reset"
	a[4].AbandonStatus, a[4].AbandonReason, a[4].AbandonFor = crawl.DomainUnreachable, "gone", crawl.Millis(time.Hour)
	a[4].Health = &crawl.Health{Penalty: settings.Duration(time.Second)}
	a[5].Page = &crawl.PageUpdate{Visit: &crawl.VisitUpdate{ETag: `"1"`}, HasUsage: true, NoIndex: true}
	a[5].Unchanged = "same"
	a[6].Page.Trap, a[6].Page.TrapEvidence = crawl.TrapPattern, "of an earlier visit"
	a[6].Follow = nil
	a[6].Links = links(t, "https://s6.example/not-followed")
	a[7].Robots = &crawl.Robots{
		Origin: "https://s7.example", Domain: "s7.example", Verdict: crawl.RobotsRules, Rules: "User-agent: *\n",
		Lifetime: crawl.Millis(time.Hour),
	}
	for i := range a {
		a[i].IP, a[i].Bytes, a[i].Duration = "192.0.2.7", 1000, crawl.ElapsedMillis(20*time.Millisecond)
	}
	return a
}

// told returns the stored rows, without the values that depend on the time or on the order of
// storing.
func (b *bundle) told(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for name, sql := range map[string]string{
		"crawls": `SELECT concat_ws(' ', c.url, c.domain, c.priority, c.outcome, c.status_code, c.error_message, c.kind,
			c.depth, c.redirects, c.bytes, c.content_type, c.ip, c.unchanged_reason, c.delay_ms, c.delay_reason, c.duration_ms,
			p.url, c.locked_at IS NULL, c.scheduled_for > now() + interval '1 minute', c.previous_id IS NOT NULL)
			FROM page_crawls c JOIN pages p ON p.id = c.page_id ORDER BY 1`,
		"pages": `SELECT concat_ws(' ', url, domain, origin, kind, status, signals, noindex, nofollow, etag, content_hash,
			simhash, trap, trap_evidence, fetched_at IS NULL, failed_at IS NULL, duplicate) FROM pages ORDER BY 1`,
		"links": `SELECT concat_ws(' ', f.url, t.url, l.kind, l.nofollow) FROM page_links l
			JOIN pages f ON f.id = l.from_page_id JOIN pages t ON t.id = l.to_page_id ORDER BY 1`,
		"totals": `SELECT concat_ws(' ', domain, seed, next_due_at IS NULL, pages_started, success, failed, skipped,
			blocked_5xx, bytes, requests, skips, nofollow) FROM run_domains ORDER BY 1`,
		"domains":  `SELECT concat_ws(' ', domain, status, status_reason, next_crawl_after IS NULL) FROM domains ORDER BY 1`,
		"slots":    `SELECT concat_ws(' ', key, holder IS NULL, reason) FROM politeness_slots ORDER BY 1`,
		"health":   `SELECT concat_ws(' ', domain, health) FROM domain_health ORDER BY 1`,
		"patterns": `SELECT concat_ws(' ', domain, pattern, seen, duplicates, copies, shared_text, fingerprints) FROM url_patterns ORDER BY 1`,
		"robots":   `SELECT concat_ws(' ', origin, verdict, failures) FROM robots ORDER BY 1`,
	} {
		all[name] = column[string](t, b, sql)
	}
	return all
}
