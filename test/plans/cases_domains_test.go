package plans

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbsqlc"
	searchindex "github.com/mosey-web/mosey/search/index"
)

// domainCases are about domains: to claim and finish them, what people decide, and reports.
func domainCases(changing changes, reading reads) {
	changing["DomainsClaim"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, run := range []int64{runLarge, runSmall} {
			c.ok(c.q.DomainsClaim(ctx, dbsqlc.DomainsClaimParams{RunID: run, Max: 50, ClaimMs: 60000}))
			c.done(c.q.RunSetHasWaitingDomains(ctx, dbsqlc.RunSetHasWaitingDomainsParams{RunID: run, AtCapacity: true}))
		}
		// where many are due, they are looked up by whose turn it is
		c.exec("UPDATE run_domains SET next_due_at = now() - interval '1 minute', wait_reason = '' WHERE run_id = 1")
		c.exec(`INSERT INTO run_domains (run_id, domain, next_due_at) SELECT 1, 'more-' || i || '.example', now() FROM generate_series(1, 2000) i`)
		c.ok(c.q.DomainsClaim(ctx, dbsqlc.DomainsClaimParams{RunID: runLarge, Max: 50, ClaimMs: 60000}))
		// only images are left
		c.exec("UPDATE crawl_runs SET pages_started = 100000 WHERE id = 3")
		c.ok(c.q.DomainsClaim(ctx, dbsqlc.DomainsClaimParams{RunID: runSmall, Max: 50, ClaimMs: 60000}))
		c.ok(c.q.RunNextDue(ctx, runSmall))
		c.ok(c.q.RunActivity(ctx, dbsqlc.RunActivityParams{RunID: runSmall, Bound: 100, MaxActive: 1000}))
	}
	changing["DomainFinish"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, s := range []int64{1, siteClaimed, sitePlain, siteHosted} {
			c.ok(c.q.DomainLock(ctx, site(s)))
			c.done(c.q.DomainClaimRenew(ctx, dbsqlc.DomainClaimRenewParams{ClaimMs: 60000, Domain: site(s)}))
			c.done(c.q.DomainFinish(ctx, dbsqlc.DomainFinishParams{Domain: site(s), Deferred: new(time.Now().Add(time.Hour)), YieldingRunIds: []int64{runLarge}}))
			c.done(c.q.DomainsCount(ctx, dbsqlc.DomainsCountParams{Domains: []string{site(s)}, Placeholders: []string{"parked"}, SoftNotFound: "soft 404"}))
		}
		c.ok(c.q.DomainRuns(ctx, dbsqlc.DomainRunsParams{Domain: site(sitePlain), Max: 10}))
		c.ok(c.q.DomainsClaimed(ctx))
		c.done(c.q.DomainDeferRefused(ctx, dbsqlc.DomainDeferRefusedParams{Domain: site(siteOther), Ip: netip.MustParseAddr("10.0.0.1"), WaitMs: 60000}))
		c.ok(c.q.DomainFacts(ctx, site(siteOther)))
		c.ok(c.q.DomainsLiftRefusal(ctx, []string{"10.0.0.0/24"}))
		c.ok(c.q.DomainsRelease(ctx, names(claimedSites())))
	}
	changing["Controls"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, kind := range []string{"pause", "stop", "block"} {
			c.ok(c.q.ControlDecisionExists(ctx, dbsqlc.ControlDecisionExistsParams{Domain: site(sitePlain), Decision: "a" + kind}))
			c.done(c.q.ControlAdd(ctx, dbsqlc.ControlAddParams{Domain: site(sitePlain), Kind: kind, SetBy: "test", Decision: "a" + kind}))
		}
		c.done(c.q.DomainAdd(ctx, site(sitePlain)))
		c.done(c.q.DomainBlock(ctx, dbsqlc.DomainBlockParams{Domain: site(sitePlain), Reason: "test"}))
		c.done(c.q.DueUpdate(ctx, names([]int64{sitePlain, 1, 0})))
		c.ok(c.q.ControlsLift(ctx, dbsqlc.ControlsLiftParams{Domain: site(sitePlain), Kinds: []string{"pause", "stop", "block"}, By: "test"}))
		c.done(c.q.ControlAdd(ctx, dbsqlc.ControlAddParams{Domain: site(1), Kind: "delay", Value: doc(5000), SetBy: "test"}))
		c.done(c.q.ControlAdd(ctx, dbsqlc.ControlAddParams{Domain: site(0), Kind: "pause", SetBy: "test"}))
		for _, s := range []int64{sitePlain, 0, 211, 99} {
			c.ok(c.q.FailuresClear(ctx, []string{site(s)}))
			c.done(c.q.DomainsWake(ctx, []string{site(s)}))
		}
		c.done(c.q.DomainResetPatterns(ctx, site(sitePlain)))
		c.done(c.q.DomainResetPatterns(ctx, site(2)))
	}
	changing["DomainReports"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, s := range []int64{0, sitePlain, siteHosted} {
			c.ok(c.q.DomainGet(ctx, site(s)))
			c.ok(c.q.DomainPriority(ctx, site(s)))
			c.ok(c.q.DomainTotals(ctx, site(s)))
			c.ok(c.q.DomainOpen(ctx, dbsqlc.DomainOpenParams{Domain: site(s), Bound: 100}))
			c.ok(c.q.DomainPatterns(ctx, dbsqlc.DomainPatternsParams{Domain: site(s), Max: 10}))
			c.ok(c.q.DomainPages(ctx, dbsqlc.DomainPagesParams{Domain: site(s), Bound: 1000}))
			c.ok(c.q.HistoryOfDomain(ctx, dbsqlc.HistoryOfDomainParams{Domain: site(s), Max: 50}))
			c.ok(c.q.ControlsOfDomain(ctx, dbsqlc.ControlsOfDomainParams{Domain: site(s), Max: 50}))
			c.ok(c.q.RobotsHistoryOfDomain(ctx, dbsqlc.RobotsHistoryOfDomainParams{Domain: site(s), Max: 50}))
			c.ok(c.q.LinksOfDomain(ctx, dbsqlc.LinksOfDomainParams{Domain: site(s), Pages: 100, Max: 10}))
			c.ok(c.q.LinksToDomain(ctx, dbsqlc.LinksToDomainParams{Domain: site(s), Pages: 100, Max: 10}))
		}
		c.ok(c.q.HistoryOfDomain(ctx, dbsqlc.HistoryOfDomainParams{
			Domain: site(0), Outcome: new(dbsqlc.CrawlOutcomeTimeout), Since: new(ago(30 * 24 * time.Hour)), Max: 50,
		}))
		c.ok(c.q.History(ctx, dbsqlc.HistoryParams{Max: 50}))

		c.ok(c.q.History(ctx, dbsqlc.HistoryParams{Outcome: new(dbsqlc.CrawlOutcomeTimeout), Since: new(ago(30 * 24 * time.Hour)), Max: 50}))
	}
	changing["Feed"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.FeedLast(ctx))
		c.ok(c.q.FeedSince(ctx, dbsqlc.FeedSinceParams{Since: ago(time.Hour), Max: 10_000}))
		c.ok(c.q.FeedTransactions(ctx))
		c.ok(c.q.FeedAttempt(ctx, 5000))
		c.ok(c.q.FeedKeys(ctx, dbsqlc.FeedKeysParams{After: 5000, Last: 1_000_000, Max: 100}))
	}
	changing["CountDomains"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.DomainsMaxID(ctx))
		c.ok(c.q.DomainsAfter(ctx, dbsqlc.DomainsAfterParams{After: 500, Max: 100}))
		c.done(c.q.DomainsCount(ctx, dbsqlc.DomainsCountParams{Domains: names(several(50)), Placeholders: []string{"parked"}}))
		c.done(c.q.DomainsPrioritize(ctx, dbsqlc.DomainsPrioritizeParams{After: 500, UpToID: 600}))
		c.done(c.q.DomainsSetRegistered(ctx, dbsqlc.DomainsSetRegisteredParams{
			Domains: []string{site(sitePlain), site(siteHosted)}, Registered: []string{"other.example", site(siteHosted)},
		}))
	}
	changing["Owner"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.OwnerGet(ctx, site(sitePlain)))
		next, err := c.q.ForgetNext(ctx, dbsqlc.ForgetNextParams{Domain: site(sitePlain), Max: 500})
		c.ok(next, err)
		var pages []int64
		for _, p := range next {
			pages = append(pages, p.ID)
		}
		c.ok(c.q.OwnerPages(ctx, pages))
		c.done(c.q.OwnerDropRanks(ctx, pages))
		c.done(c.q.OwnerSet(ctx, dbsqlc.OwnerSetParams{Domain: site(sitePlain), Owner: []byte("{}"), IsNew: true}))
	}
	reading["Domains"] = func(t *testing.T, s *db.Store) {
		for _, sort := range []string{"priority", "domain"} {
			_, err := s.Domains(t.Context(), report.DomainQuery{Sort: sort, Limit: 20})
			require.NoError(t, err)
		}
		_, err := s.Domain(t.Context(), site(0))
		require.NoError(t, err)
	}
	changing["Pages"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, o := range []int64{1, 4, 9} {
			for _, s := range []int64{0, sitePlain} {
				id := pageID(s, o)
				c.ok(c.q.PageGet(ctx, dbsqlc.PageGetParams{Domain: site(s), Url: pageURL(s, o)}))
				c.ok(c.q.PageCrawls(ctx, dbsqlc.PageCrawlsParams{PageID: id, Max: 20}))
				c.ok(c.q.PageLinkCounts(ctx, dbsqlc.PageLinkCountsParams{ID: id, Bound: 10_000}))
				c.ok(c.q.PageLinkingRuns(ctx, dbsqlc.PageLinkingRunsParams{Domain: site(s), ID: id, Max: 100}))
				c.ok(c.q.LinksOfPage(ctx, dbsqlc.LinksOfPageParams{ID: id, Max: 20}))
				c.ok(c.q.LinksToPage(ctx, dbsqlc.LinksToPageParams{ID: id, Bound: 2_000, Max: 20}))
			}
		}
		c.ok(c.q.PageRedirect(ctx, pageID(sitePlain, 9)))
	}
	changing["Search"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.IndexSegments(ctx))
		keys := [][]byte{[]byte("wharbour"), []byte("wwords")}
		c.ok(c.q.IndexTerms(ctx, dbsqlc.IndexTermsParams{Segments: []int64{3, 4}, Keys: keys, Kind: int16(searchindex.KindTerms)}))
		c.ok(c.q.IndexChunks(ctx, dbsqlc.IndexChunksParams{Segments: []int64{3, 4}, Kinds: []int16{2, 2}, Keys: keys}))
		c.ok(c.q.IndexScan(ctx, dbsqlc.IndexScanParams{SegmentID: 3, Kind: 2, After: []byte("w"), Max: 64}))
		var pages, versions []int64 // some that are found
		for i := range int64(50) {
			pages, versions = append(pages, 100_004+20*i), append(versions, 3+4)
		}
		c.ok(c.q.SearchPages(ctx, dbsqlc.SearchPagesParams{Pages: pages, Versions: versions}))
		c.ok(c.q.SearchOutlines(ctx, pages))
		c.ok(c.q.IndexScores(ctx, pages))
	}
	changing["Merge"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.IndexNext(ctx))
		c.done(c.q.IndexMergeBegin(ctx, dbsqlc.IndexMergeBeginParams{SegmentID: 1_000_000, Large: true}))
		c.done(c.q.IndexAdd(ctx, dbsqlc.IndexAddParams{ID: 1_000_001, Languages: []string{}}))
		c.done(c.q.IndexNormsStore(ctx, dbsqlc.IndexNormsStoreParams{SegmentID: 3, Kind: 2, Key: []byte("wwords"), Data: []byte{1}}))
		c.done(c.q.IndexDrop(ctx, []int64{3}))
		c.done(c.q.IndexMergesDrop(ctx, true))
		c.done(c.q.IndexChecked(ctx, 3))
	}
}
