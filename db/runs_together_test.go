package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/settings"
)

// waits is when a domain is due for the run, and why it is not.
func (b *bundle) waits(t *testing.T, domain string) (due, reason string) {
	t.Helper()
	err := b.Pool().QueryRow(t.Context(), `
		SELECT CASE WHEN next_due_at <= now() THEN 'now' ELSE coalesce(next_due_at::text, 'nothing') END, wait_reason
		FROM run_domains WHERE run_id = $1 AND domain = $2`, b.run.ID, domain).Scan(&due, &reason)
	require.NoError(t, err)
	return due, reason
}

// A pause that replaces another holds for as long as the last one says, be it shorter.
func TestThePauseThatCounts(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string][]time.Duration{
		"WithoutEndThenWithOne": {0, time.Minute}, "ALongerThenAShorter": {time.Hour, time.Minute}, "AShorterThenALonger": {time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			domain := name + ".example"
			b := setupRun(t, name, settings.Settings{})
			b.seed(t, "https://"+domain+"/")
			for _, d := range ends {
				until := time.Time{}
				if d > 0 {
					until = time.Now().Add(d)
				}
				require.NoError(t, b.SetControl(t.Context(), parse(t, "https://"+domain+"/")[0].Domain(),
					crawl.Control{Type: crawl.ControlPause, SetBy: "tester", Until: until}))
			}
			domain = parse(t, "https://"+domain+"/")[0].Domain()
			_, reason := b.waits(t, domain)
			require.Equal(t, "paused", reason)
			require.WithinDuration(t, time.Now().Add(ends[1]), b.nextDue(t), 10*time.Second)
			activity, err := b.ActivityUpTo(t.Context(), b.run.ID, 0)
			require.NoError(t, err)
			require.Equal(t, crawl.Activity{Suspended: 1}, activity, "the run waits for it")
			b.pass(t, domain)
			require.Equal(t, []string{domain}, b.claim(t, 10))
		})
	}
}

// Two runs share a domain; what the one is done with, it does not wait for.
func TestRunsOnOneDomain(t *testing.T) {
	t.Parallel()

	t.Run("ASmallOneEndsBesideABigOne", func(t *testing.T) {
		t.Parallel()
		const domain = "both.example"
		small := setupRun(t, "small", settings.Settings{MaxPages: new(int64(1)), MinRefetch: new(settings.Duration(0))})
		big := small.in(t, "big", settings.Settings{MinRefetch: new(settings.Duration(0))})
		small.seed(t, "https://both.example/", "https://both.example/2")
		big.seed(t, "https://both.example/", "https://both.example/2", "https://both.example/3")
		require.Equal(t, []string{domain}, small.claim(t, 10))
		active := func(b *bundle) crawl.Activity {
			a, err := b.ActivityUpTo(t.Context(), b.run.ID, 0)
			require.NoError(t, err)
			return a
		}
		require.Equal(t, crawl.Activity{Active: 1, Busy: 1}, active(small))
		require.Equal(t, crawl.Activity{Busy: 1}, active(big), "it is served by the other's claim")
		n := small.next(t, domain)
		for n.picked.Name != "small" {
			small.fetch(t, domain)
			small.expire(t, "domain:"+domain)
			n = small.next(t, domain)
		}
		ended, err := small.EndRun(t.Context(), small.run.ID, "too early")
		require.NoError(t, err)
		require.False(t, ended, "it has a page to ask for")
		small.fetch(t, domain)
		require.Equal(t, crawl.Activity{}, active(small), "it has nothing to ask there, and takes no place for it")
		require.Equal(t, crawl.Activity{Busy: 1}, active(big))
		ended, err = small.EndRun(t.Context(), small.run.ID, "its budget is spent")
		require.NoError(t, err)
		require.True(t, ended, "though its claim is still served")
		ended, err = big.EndRun(t.Context(), big.run.ID, "no")
		require.NoError(t, err)
		require.False(t, ended)
	})

	t.Run("OneThatMakesRoomLeavesTheOtherItsTurn", func(t *testing.T) {
		t.Parallel()
		const domain = "turns.example"
		crowded := setupRun(t, "crowded", settings.Settings{YieldAfter: new(int64(1)), MaxDomains: new(1), MinRefetch: new(settings.Duration(0))})
		other := crowded.in(t, "other", settings.Settings{MinRefetch: new(settings.Duration(0))})
		crowded.seed(t, "https://turns.example/", "https://turns.example/2", "https://turns.example/3", "https://waits.example/")
		require.Equal(t, []string{domain}, crowded.claim(t, 1))
		require.NoError(t, crowded.MarkRunCrowded(t.Context(), crowded.run.ID, true))
		crowded.fetch(t, domain)
		other.seed(t, "https://turns.example/other")
		crowded.expire(t, "domain:"+domain)
		n := crowded.next(t, domain)
		require.Equal(t, "other", n.picked.Name, "the crowded one has had its turn")
		require.False(t, crowded.end(t, domain, ""), "the other has something due")
		crowded.fetch(t, domain)
		require.True(t, crowded.end(t, domain, "yielded"))
		turns := func() int {
			return one[int](t, crowded, "SELECT yield_count FROM run_domains WHERE domain = $1 AND run_id = $2", domain, crowded.run.ID)
		}
		require.Equal(t, 1, turns())

		// the other claims it again: the crowded one is not asked, nor is its turn counted once more
		other.seed(t, "https://turns.example/more")
		require.Equal(t, []string{domain}, other.claim(t, 1))
		crowded.expire(t, "domain:"+domain)
		require.Equal(t, "other", other.next(t, domain).picked.Name)
		other.fetch(t, domain)
		require.True(t, other.end(t, domain, "yielded"))
		require.Equal(t, 1, turns())
		require.Equal(t, []string{"waits.example"}, crowded.claim(t, 1), "who waits comes first")
		require.Equal(t, []string{domain}, crowded.claim(t, 1))
		crowded.expire(t, "domain:"+domain)
		require.Equal(t, "crowded", crowded.next(t, domain).picked.Name, "its turn has come")
	})

	t.Run("EachThatCrawlsAgainHasATimeOfItsOwn", func(t *testing.T) {
		t.Parallel()
		const domain = "again.example"
		set := settings.Settings{WhenDone: new(settings.WhenDoneRecrawl), MinRefetch: new(settings.Duration(0))}
		a := setupRun(t, "again-a", set)
		b := a.in(t, "again-b", set)
		for _, run := range []*bundle{a, b} {
			run.seed(t, "https://again.example/")
			require.Equal(t, []string{domain}, run.claim(t, 10))
			at := attempted(run.begin(t, domain), domain)
			at.Recrawl = &crawl.Recrawl{History: json.RawMessage("{}"), In: new(crawl.Millis(time.Hour))}
			run.finish(t, at)
			run.expire(t, "domain:"+domain)
			require.True(t, run.end(t, domain, ""))
		}
		b.change(t, crawl.RunChange{Action: crawl.ChangeStop, SetBy: "tester"})
		a.exec(t, "UPDATE revisits SET due_at = now() WHERE run_id = $1", a.run.ID)
		n, err := a.RecrawlDue(t.Context(), a.run.ID, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []string{domain}, a.claim(t, 10))
	})
}

// A run that begins to ask for pages again does so of those that it knows.
func TestRecrawlOfAFinishedRun(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/", "https://a.example/2", "https://a.example/3")
	require.Equal(t, []string{domainA}, b.claim(t, 10))
	b.fetch(t, domainA)
	b.expire(t, "domain:"+domainA)
	b.fetch(t, domainA)
	schedule := func() (dues int) {
		t.Helper()
		done := false
		for !done {
			var err error
			done, err = b.ScheduleRevisits(t.Context(), b.run.ID, decide.FirstRevisit)
			require.NoError(t, err)
		}
		return one[int](t, b, "SELECT count(*) FROM revisits WHERE run_id = $1 AND due_at > now()", b.run.ID)
	}
	require.Zero(t, schedule(), "it does not ask for pages again")
	b.set(t, settings.Settings{WhenDone: new(settings.WhenDoneRecrawl)})
	require.Equal(t, 2, schedule(), "but for the one that is pending")
	b.set(t, settings.Settings{WhenDone: new(settings.WhenDoneEnd)})
	b.exec(t, "UPDATE revisits SET due_at = NULL")
	b.set(t, settings.Settings{WhenDone: new(settings.WhenDoneRecrawl)})
	require.Equal(t, 2, schedule(), "also after it was turned off")
	due, _, err := b.NextDue(t.Context(), b.run.ID)
	require.NoError(t, err)
	require.False(t, due.IsZero())
}

// What belongs to a visit that comes again is kept by the crawls that try it once more.
func TestAnotherTryOfAVisitThatComesAgain(t *testing.T) {
	t.Parallel()
	again := func(t *testing.T, domain string, set settings.Settings) *bundle {
		t.Helper()
		set.WhenDone = new(settings.WhenDoneRecrawl)
		b := setupRun(t, domain, set)
		b.seed(t, "https://"+domain+"/")
		require.Equal(t, []string{domain}, b.claim(t, 10))
		at := attempted(b.begin(t, domain), domain)
		at.Recrawl = &crawl.Recrawl{History: json.RawMessage("{}"), In: new(crawl.Millis(time.Hour))}
		b.finish(t, at)
		b.exec(t, "UPDATE revisits SET due_at = now() WHERE run_id = $1", b.run.ID)
		n, err := b.RecrawlDue(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		b.expire(t, "domain:"+domain)
		require.True(t, b.next(t, domain).picked.Attempt.IsRevisit)
		return b
	}

	t.Run("AfterAFailure", func(t *testing.T) {
		t.Parallel()
		b := again(t, "trouble.example", settings.Settings{})
		at := attempted(b.begin(t, "trouble.example"), "trouble.example")
		at.Outcome, at.RetryIn = crawl.OutcomeBlocked5xx, new(crawl.Millis(0))
		b.finish(t, at)
		b.expire(t, "domain:trouble.example")
		c := b.next(t, "trouble.example").picked.Attempt
		require.True(t, c.IsRevisit, "else it would be skipped as fetched lately")
		require.Equal(t, 2, c.Number)
	})

	t.Run("AfterAWorkersDeath", func(t *testing.T) {
		t.Parallel()
		b := again(t, "death.example", settings.Settings{})
		b.begin(t, "death.example")
		b.expire(t, "domain:death.example")
		require.True(t, b.next(t, "death.example").picked.Attempt.IsRevisit)
	})

	t.Run("AfterTheDeathOfItsLastTry", func(t *testing.T) {
		t.Parallel()
		b := again(t, "last.example", settings.Settings{MaxAttempts: new(1)})
		b.begin(t, "last.example")
		b.expire(t, "domain:last.example")
		require.Nil(t, b.next(t, "last.example").picked)
		require.Equal(t, 1, one[int](t, b, "SELECT count(*) FROM revisits WHERE run_id = $1 AND due_at > now()", b.run.ID),
			"the page is asked for again another day")
	})

	t.Run("AfterItWasUndone", func(t *testing.T) {
		t.Parallel()
		b := again(t, "back.example", settings.Settings{})
		n := b.begin(t, "back.example")
		require.NoError(t, b.Withdraw(t.Context(), startOf(n, "back.example", ""), n.AttemptID, 0, false, "our fault", 0))
		b.expire(t, "domain:back.example")
		require.True(t, b.next(t, "back.example").picked.Attempt.IsRevisit)
	})
}

// An image is asked for where the budget of pages is spent, whichever was found first.
func TestAnImageFoundWhereTheBudgetOfPagesIsSpent(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]settings.Settings{
		"OfTheDomain": {MaxPagesPerDomain: new(int64(1))}, "OfTheRun": {MaxPages: new(int64(1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set.Images = new(settings.ImagesMetadata)
			b := setup(t, set)
			b.seed(t, "https://a.example/", "https://a.example/2")
			require.Equal(t, []string{domainA}, b.claim(t, 10))
			b.fetch(t, domainA)
			require.True(t, b.end(t, domainA, ""))
			require.Empty(t, b.claim(t, 10))
			_, err := b.Pool().Exec(t.Context(), `
				WITH p AS (SELECT x FROM unnest(pages_add('[{"url": "https://a.example/i.png", "domain": "a.example", "origin": "https://a.example", "kind": "image"}]')) x)
				SELECT attempts_add(ARRAY[($1, p.x, 'a.example', 'https://a.example/i.png', 'image', '', '{"depth": 1, "seed": true}', true, 0, kind_priority('image'))::found_page])
				FROM p`, b.run.ID)
			require.NoError(t, err)
			require.Equal(t, []string{domainA}, b.claim(t, 10))
			b.expire(t, "domain:"+domainA)
			require.Equal(t, kinds.Image, b.next(t, domainA).picked.Attempt.Kind)
			activity, err := b.ActivityUpTo(t.Context(), b.run.ID, 0)
			require.NoError(t, err)
			require.Equal(t, 1, activity.Busy, "the run waits for it")
		})
	}
}

// What lists pages costs no budget of pages.
func TestListsCostNoPages(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{MaxPages: new(int64(1))})
	b.seed(t, "https://a.example/")
	b.exec(t, "UPDATE pages SET kind = 'sitemap'")
	_, err := b.Pool().Exec(t.Context(), "SET session_replication_role = replica; UPDATE page_crawls SET kind = 'sitemap'; RESET session_replication_role")
	require.NoError(t, err)
	b.seed(t, "https://a.example/2")
	require.Equal(t, []string{domainA}, b.claim(t, 10))
	b.fetch(t, domainA)
	require.Zero(t, b.domain(t, domainA).Runs[0].Started)
	b.expire(t, "domain:"+domainA)
	b.fetch(t, domainA)
	require.EqualValues(t, 1, b.domain(t, domainA).Runs[0].Started)
}

// A block that is lifted leaves a domain paused or stopped that a person has paused or stopped
// beside it.
func TestTheStrictestControlCounts(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/")
	b.control(t, domainA, crawl.ControlPause, nil)
	b.stop(t, domainA, "for good")
	_, reason := b.waits(t, domainA)
	require.Equal(t, "stopped", reason)
	require.Equal(t, "stop", one[string](t, b, "SELECT domain_forbidden_by('a.example')"))
	_, err := b.Pool().Exec(t.Context(), "SELECT failures_clear(ARRAY['a.example'])")
	require.NoError(t, err)
	require.Equal(t, crawl.DomainBlocked, b.domain(t, domainA).Status, "a stopped domain is not revived for its pause")
	require.NoError(t, b.LiftControls(t.Context(), domainA, "tester", crawl.ControlStop))
	_, reason = b.waits(t, domainA)
	require.Equal(t, "paused", reason)
}
