package plans

import (
	"maps"
	"testing"
	"time"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// runCases are about runs: what their dispatchers ask, reports, seeds and what is asked for again.
func runCases(changing changes) {
	changing["RunLooks"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.RunsWithUnnoticedWork(ctx, 0))
		c.ok(c.q.RunsUnfinished(ctx))
		c.ok(c.q.ReconcileLock(ctx, 1))
		for _, run := range []int64{runLarge, runSmall} {
			c.ok(c.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: run, Bound: 1000, MaxActive: 10}))
			c.ok(c.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: run, Bound: 1000}))
			c.ok(c.q.RunNextDue(ctx, run))
			c.ok(c.q.RunDueCount(ctx, dbsqlc.RunDueCountParams{RunID: run, Bound: 1}))
			c.done(c.q.RunRecordPoll(ctx, dbsqlc.RunRecordPollParams{ID: run}))
			c.ok(c.q.RunSpend(ctx, dbsqlc.RunSpendParams{RunID: run, MaxTimeMs: 1 << 40}))
			c.ok(c.q.RunRemainingWork(ctx, dbsqlc.RunRemainingWorkParams{Bound: 100, ID: run}))
			c.done(c.q.RunLockByID(ctx, run))
			c.ok(c.q.RunEnd(ctx, dbsqlc.RunEndParams{ID: run, Reason: "test"}))
			c.ok(c.q.RunByName(ctx, "run-1"))
		}
		c.ok(c.q.DatabaseIdentity(ctx))
		c.ok(c.q.SlotsCloseAfterRestore(ctx, 1000))
		endClaims(t, c)
	}
	changing["Watch"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.WatchWaits(ctx))
		c.ok(c.q.WatchFrontier(ctx, 1000))
		c.ok(c.q.WatchDomainsSize(ctx))
		c.ok(c.q.WatchDomains(ctx))
		since := ago(time.Hour).Truncate(time.Minute)
		for _, run := range []*int64{nil, new(runLarge)} {
			c.ok(c.q.Outcomes(ctx, dbsqlc.OutcomesParams{StepMs: 60_000, Since: since, RunID: run}))
		}
		c.done(c.q.OutcomesAddUp(ctx))
		c.done(c.q.OutcomesAddUpHours(ctx, dbsqlc.OutcomesAddUpHoursParams{Since: ago(96 * time.Hour), Until: ago(72 * time.Hour)}))
		c.ok(c.q.WatchGaps(ctx, dbsqlc.WatchGapsParams{Since: ago(time.Minute), Until: ago(0), Bounds: []float64{0, 1, 10}}))
	}
	changing["RunEnds"] = func(t *testing.T, c change) {
		c.exec("UPDATE run_domains SET next_due_at = NULL, images_due_at = NULL, wait_reason = '' WHERE run_id = 3")
		c.exec("UPDATE domains d SET claimed_by = NULL, claim_expires_at = NULL WHERE EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = 3 AND rd.domain = d.domain)")
		c.ok(c.q.RunsWithUnnoticedWork(t.Context(), 0))
		c.ok(c.q.RunEnd(t.Context(), dbsqlc.RunEndParams{ID: runSmall, Reason: "test"}))
	}
	changing["RunReports"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.RunList(ctx))
		for _, run := range []int64{runLarge, runSmall} {
			c.ok(c.q.RunTotals(ctx, run))
			c.ok(c.q.RunSkips(ctx, run))
			c.ok(c.q.RunSkipExamples(ctx, dbsqlc.RunSkipExamplesParams{
				Reasons: []string{"excluded", "trap", "blocked_robots"}, RunID: run, Max: 3,
			}))
			c.ok(c.q.RunRate(ctx, dbsqlc.RunRateParams{SpanMs: 60000, RunID: run}))
			c.ok(c.q.RunLatestRequests(ctx, dbsqlc.RunLatestRequestsParams{RunID: run, Max: 5}))
			c.ok(c.q.RunWorstDomains(ctx, dbsqlc.RunWorstDomainsParams{RunID: run, Max: 10}))
			c.ok(c.q.RunWorstDomains(ctx, dbsqlc.RunWorstDomainsParams{RunID: run, Slowest: true, Max: 10}))
			c.ok(c.q.RunSubdomains(ctx, dbsqlc.RunSubdomainsParams{RunID: run, MinDomains: 2, Max: 10}))
			c.ok(c.q.RunClaimed(ctx, dbsqlc.RunClaimedParams{RunID: run, Max: 1000}))
			c.ok(c.q.RunForbiddenDomains(ctx, dbsqlc.RunForbiddenDomainsParams{RunID: run, Max: 10}))
			c.ok(c.q.RunNoFollow(ctx, dbsqlc.RunNoFollowParams{RunID: run, Max: 10}))
			c.ok(c.q.RunFrontier(ctx, dbsqlc.RunFrontierParams{RunID: run, Bound: 1000}))
			c.ok(c.q.RunDomainsNotDue(ctx, dbsqlc.RunDomainsNotDueParams{RunID: run, Bound: 1000}))
			c.ok(c.q.RunDomainWaits(ctx, dbsqlc.RunDomainWaitsParams{RunID: &run, Max: 10}))
			c.ok(c.q.RunFailures(ctx, dbsqlc.RunFailuresParams{RunID: run, Max: 10}))
			c.ok(c.q.RunChanges(ctx, dbsqlc.RunChangesParams{RunID: run, Max: 10}))
			c.ok(c.q.Queue(ctx, dbsqlc.QueueParams{RunID: &run, Max: 10}))
		}
		c.ok(c.q.Queue(ctx, dbsqlc.QueueParams{Max: 10}))
	}
	changing["RunChanges"] = func(t *testing.T, c change) {
		ctx := t.Context()
		set := doc(object{"max_pages": 1000, "max_bytes": 1 << 40, "recrawl": true})
		c.ok(c.q.RunUpsert(ctx, dbsqlc.RunUpsertParams{Name: "run-3", Settings: set, Changes: set}))
		c.ok(c.q.RunUpsert(ctx, dbsqlc.RunUpsertParams{Name: "run-1", Settings: set, Changes: set}))
		c.ok(c.q.RunSettings(ctx, "run-3"))
		c.exec(`UPDATE crawl_runs SET settings = settings || jsonb_build_object('purpose', CASE id WHEN $1 THEN 'archive' ELSE 'search' END)`, runSmall)
		c.ok(c.q.RunOfOtherPurpose(ctx, runSmall))
		c.ok(c.q.RunLock(ctx, "run-3"))
		c.ok(c.q.RunDecisionExists(ctx, dbsqlc.RunDecisionExistsParams{RunID: runSmall, Decision: "d20"}))
		c.done(c.q.RunChangeAdd(ctx, dbsqlc.RunChangeAddParams{RunID: runSmall, Kind: "pause", SetBy: "test", Decision: "x"}))
		c.done(c.q.RunRegisteredForget(ctx, runSmall))
		c.done(c.q.RunRequeueSkipped(ctx, runSmall))
		c.done(c.q.FinishesAwait(ctx, new(runSmall)))
		c.ok(c.q.RunDueUpdate(ctx, dbsqlc.RunDueUpdateParams{RunID: runSmall}))
		c.exec(`UPDATE crawl_runs SET settings = settings || '{"window": "02:00-03:00"}' WHERE id = $1`, runSmall)
		c.done(c.q.RunSetStatus(ctx, dbsqlc.RunSetStatusParams{Status: "paused", Until: new(ago(time.Minute)), ID: runSmall}))
		c.done(c.q.RunWindows(ctx, dbsqlc.RunWindowsParams{ID: runSmall, Old: "22:00-06:00"}))
		c.ok(c.q.RunStop(ctx, dbsqlc.RunStopParams{ID: runSmall, Reason: "test"}))
		c.done(c.q.RunStart(ctx, runSmall))
		c.ok(c.q.RunNextSeeding(ctx, runSmall))
	}
	changing["RunWidens"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.done(c.q.RunWiden(ctx, runLarge))
		c.ok(c.q.RunWidening(ctx, runLarge))
		c.ok(c.q.RunCrawledPages(ctx, dbsqlc.RunCrawledPagesParams{Domain: site(sitePlain), PageID: 0, Max: 100, RunID: runLarge}))
		c.ok(c.q.RunCrawledPages(ctx, dbsqlc.RunCrawledPagesParams{Domain: site(0), PageID: 100000, Max: 100, RunID: runLarge}))
		links := doc(object{"link": follow, "sitemap": follow, "redirect": follow})
		ids := []int64{}
		for o := range int64(20) {
			ids = append(ids, pageID(sitePlain, o), pageID(siteOther, o))
		}
		c.ok(c.q.RunAddLinkedPages(ctx, dbsqlc.RunAddLinkedPagesParams{RunID: runSmall, Pages: ids, Links: links}))
		c.done(c.q.RunWidened(ctx, dbsqlc.RunWidenedParams{ID: runLarge, Old: doc(object{}), Next: nil}))
	}
	changing["Seeds"] = func(t *testing.T, c change) {
		ctx := t.Context()
		seed := func(url, domain string, more object) object {
			s := object{"url": url, "domain": domain, "origin": "https://" + domain, "rank": 5, "patterns": []string{"/page-N"}}
			maps.Copy(s, more)
			return s
		}
		seeds := []object{
			seed("https://brand-new.example/", "brand-new.example", object{"schemeless": true}),
			seed("https://x.brand-new.example/", "x.brand-new.example", object{"registered_domain": "brand-new.example"}),
		}
		for _, s := range append(several(4), 211, 311, 13, 503+9, 401+5) {
			seeds = append(seeds, seed(pageURL(s, 6), site(s), nil), seed(pageURL(s, 8), site(s), object{"schemeless": true}))
		}
		c.ok(c.q.SeedsAdd(ctx, dbsqlc.SeedsAddParams{RunID: runLarge, Source: "list", Seeds: doc(seeds)}))
		c.ok(c.q.SeedsAdd(ctx, dbsqlc.SeedsAddParams{RunID: runOver, Source: "list", Seeds: doc(seeds)}))
		// a list that is stored once more
		again := []object{}
		for s := range int64(300) {
			again = append(again, seed(pageURL(s, 6), site(s), object{"schemeless": true}))
		}
		for range 2 {
			c.ok(c.q.SeedsAdd(ctx, dbsqlc.SeedsAddParams{RunID: runLarge, Source: "list", Seeds: doc(again)}))
		}
		c.ok(c.q.SeedsStage(ctx, []dbsqlc.SeedsStageParams{{RunID: runLarge, Url: "https://x.example/"}}))
		c.ok(c.q.SeedsStaged(ctx, dbsqlc.SeedsStagedParams{RunID: runLarge, Max: 1000}))
		c.done(c.q.SeedsUnstage(ctx, dbsqlc.SeedsUnstageParams{RunID: runLarge, LastID: 1000}))
		c.exec("UPDATE page_crawls SET schemeless = true WHERE id = $1", attemptID(sitePlain, 20))
		c.ok(c.q.SeedsUnattempted(ctx, dbsqlc.SeedsUnattemptedParams{RunID: runLarge, After: 0, Max: 100}))
		c.ok(c.q.SeedFileStored(ctx, dbsqlc.SeedFileStoredParams{RunID: runLarge, File: "list-50", Version: "1"}))
		c.done(c.q.SeedFileNote(ctx, dbsqlc.SeedFileNoteParams{RunID: runLarge, File: "list-50", Version: "2", Entries: 5}))
		c.done(c.q.SeedFileForget(ctx, dbsqlc.SeedFileForgetParams{RunID: runLarge, File: "list-50"}))
	}
	changing["RecrawlsInto"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.exec("UPDATE crawl_runs SET status = 'done', finished_at = now() WHERE id = 3")
		p := dbsqlc.RecrawlsOlderParams{Pages: true, RunID: runLarge, IntoID: runSmall, Domain: new(site(1000)), Before: time.Now(), Max: 100}
		c.ok(c.q.RecrawlsOlder(ctx, p))
	}
	changing["RecrawlsPrioritize"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.exec("UPDATE crawl_runs SET status = 'done', finished_at = now() WHERE id = 3")
		var named []object
		var pages []int64
		for o := range int64(20) {
			named, pages = append(named, object{"domain": site(5), "url": pageURL(5, o)}), append(pages, pageID(5, o))
		}
		c.ok(c.q.PagesByURL(ctx, dbsqlc.PagesByURLParams{RunID: runSmall, Named: doc(named)}))
		c.ok(c.q.RecrawlsPrioritize(ctx, dbsqlc.RecrawlsPrioritizeParams{RunID: runSmall, Pages: pages}))
		c.exec("UPDATE crawl_runs SET status = 'done', finished_at = now() WHERE id = 3")
		c.ok(c.q.RecrawlsPrioritize(ctx, dbsqlc.RecrawlsPrioritizeParams{RunID: runSmall, Pages: pages}))
	}
	changing["Recrawls"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.RecrawlsDue(ctx, dbsqlc.RecrawlsDueParams{RunID: runLarge, Max: 100}))
		c.ok(c.q.RecrawlsOlder(ctx, dbsqlc.RecrawlsOlderParams{Pages: true, Images: true, RunID: runLarge, IntoID: runLarge, Domain: new(site(sitePlain)), Before: time.Now(), Max: 1000}))
		c.ok(c.q.RecrawlsOlder(ctx, dbsqlc.RecrawlsOlderParams{Pages: true, Images: true, RunID: runLarge, IntoID: runLarge, Domain: new(site(0)), Before: time.Now(), After: 500_000, Max: 1000}))
		c.ok(c.q.RecrawlsOlder(ctx, dbsqlc.RecrawlsOlderParams{Pages: true, Images: true, RunID: runLarge, IntoID: runLarge, Before: time.Now(), After: 1000, Max: 1000}))
		c.ok(c.q.RecrawlsOlder(ctx, dbsqlc.RecrawlsOlderParams{Pages: true, RunID: runOver, IntoID: runOver, Domain: new(site(siteOther)), Before: time.Now(), Max: 1000}))
		c.ok(c.q.RecrawlPlanDue(ctx, dbsqlc.RecrawlPlanDueParams{Domain: site(sitePlain), SpanMs: 1000}))
		c.ok(c.q.RecrawlHistories(ctx, dbsqlc.RecrawlHistoriesParams{Domain: site(sitePlain), Max: 1000}))
		c.ok(c.q.RecrawlHistories(ctx, dbsqlc.RecrawlHistoriesParams{Domain: site(0), Max: 1000}))
		c.done(c.q.RecrawlPlan(ctx, dbsqlc.RecrawlPlanParams{Plan: doc(object{}), Domain: site(sitePlain)}))
		told, hints := []object{}, []object{}
		for o := range int64(20) {
			told = append(told, object{"domain": site(5), "url": pageURL(5, o), "changed": time.Now()})
			hints = append(hints, object{"id": pageID(5, o), "history": object{}, "due": time.Now()})
		}
		c.ok(c.q.RecrawlChangedPages(ctx, dbsqlc.RecrawlChangedPagesParams{Announced: doc(told), RunID: runLarge}))
		c.done(c.q.RecrawlStoreHints(ctx, dbsqlc.RecrawlStoreHintsParams{RunID: runLarge, Hints: doc(hints)}))
		c.ok(c.q.RevisitsGetProgress(ctx, runLarge))
		c.ok(c.q.RevisitsUnscheduledPages(ctx, dbsqlc.RevisitsUnscheduledPagesParams{RunID: runLarge, After: 100_000, Max: 1000}))
		c.ok(c.q.RevisitsUnscheduledPages(ctx, dbsqlc.RevisitsUnscheduledPagesParams{RunID: runSmall, After: 100_000, Max: 1000}))
		pages := []object{}
		for o := range int64(20) {
			pages = append(pages, object{"id": pageID(sitePlain, o), "due": time.Now(), "every_ms": 1000})
		}
		c.done(c.q.RevisitsAdd(ctx, dbsqlc.RevisitsAddParams{RunID: runLarge, Pages: doc(pages), Old: 0, Next: new(int64(1000))}))
	}
}

// endClaims is what ExpireClaims does.
func endClaims(t *testing.T, c change) {
	t.Helper()
	expired, err := c.q.ClaimsExpired(t.Context(), 1000)
	c.ok(expired, err)
	c.done(c.q.DomainsReap(t.Context(), expired))
	c.ok(c.q.ClaimsEnd(t.Context(), expired))
}
