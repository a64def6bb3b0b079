package plans

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// wholeCases are about whole tables, all at once or in batches.
func wholeCases(changing changes, reading reads) {
	reading["Audit"] = func(t *testing.T, s *db.Store) {
		_, err := s.AuditGaps(t.Context(), nil)
		require.NoError(t, err)
	}
	changing["Doctor"] = func(t *testing.T, c change) {
		ctx := t.Context()
		domains := []string{site(sitePlain), site(siteOther), site(siteClaimed), site(siteExpired)}
		c.ok(c.q.CheckLastIDs(ctx))
		c.ok(c.q.CheckMoved(ctx))
		c.ok(c.q.CheckDue(ctx, domains))
		c.ok(c.q.CheckTotals(ctx, domains))
		c.ok(c.q.CheckOpen(ctx, domains))
		c.ok(c.q.CheckBudgets(ctx))
		c.ok(c.q.CheckEnded(ctx))
		c.ok(c.q.CheckKeywords(ctx, dbsqlc.CheckKeywordsParams{After: 100_000, UpToID: 110_000, Extractor: crawl.ExtractorVersion}))
		c.ok(c.q.CheckReferences(ctx, dbsqlc.CheckReferencesParams{After: 100_000, UpToID: 110_000}))
		c.ok(c.q.CheckRevisits(ctx, dbsqlc.CheckRevisitsParams{After: 100_000, UpToID: 110_000}))
		c.ok(c.q.RepairRevisits(ctx, dbsqlc.RepairRevisitsParams{After: 100_000, UpToID: 110_000}))
		c.done(c.q.RepairDue(ctx, domains))
		c.ok(c.q.RunDomainsLock(ctx, site(sitePlain)))
		c.ok(c.q.RepairTotals(ctx, site(sitePlain)))
		c.ok(c.q.RunBudgetLock(ctx, runLarge))
		c.done(c.q.RepairBudgets(ctx, runLarge))
		c.ok(c.q.SlotLock(ctx, site(siteExpired)))
		c.done(c.q.RepairOpen(ctx, attemptID(siteExpired, 3)))
		c.done(c.q.SlotClearHolder(ctx, dbsqlc.SlotClearHolderParams{Domain: site(siteExpired), ID: attemptID(siteExpired, 3)}))
		c.ok(c.q.RepairKeywords(ctx, pageIDs(400_000, 1000)))
	}
	changing["Workers"] = func(t *testing.T, c change) {
		ctx := t.Context()
		id, err := c.q.WorkerStart(ctx, dbsqlc.WorkerStartParams{Identity: "mosey/1 1@here", Host: "here", Version: "1", Role: "all", MaxFetches: 256, MaxRequestMs: 35_000})
		c.ok(id, err)
		c.done(c.q.FleetLimitSet(ctx, dbsqlc.FleetLimitSetParams{MaxFetches: new(int32(100)), SetBy: "test"}))
		c.ok(c.q.WorkerRenew(ctx, dbsqlc.WorkerRenewParams{ID: id, RenewalCount: 1, Demand: 10}))
		// as if the clock had been put forward
		c.exec("UPDATE workers SET permits_held_until = now() - interval '1 second', seen_at = now() - interval '1 minute' WHERE id = $1", id)
		c.ok(c.q.WorkerRenew(ctx, dbsqlc.WorkerRenewParams{ID: id, RenewalCount: 2, PermitsHeld: 5, Demand: 10}))
		c.ok(c.q.WorkerList(ctx, dbsqlc.WorkerListParams{Max: 100}))
		c.ok(c.q.FleetLimit(ctx))
		c.ok(c.q.FleetUse(ctx))
		c.done(c.q.WorkerStop(ctx, id))
	}
	changing["AuditPages"] = func(t *testing.T, c change) {
		c.ok(c.q.AuditPages(t.Context(), dbsqlc.AuditPagesParams{After: 100_000, Max: 1000}))
		c.ok(c.q.AuditPages(t.Context(), dbsqlc.AuditPagesParams{After: 100_000, RunID: new(runLarge), Max: 1000}))
	}
	changing["Exports"] = func(t *testing.T, c change) {
		ctx := t.Context()
		ids := pageIDs(400_000, 1000)
		crawls := pageIDs(800_000, 1000)
		c.ok(c.q.ExportPageKeys(ctx, dbsqlc.ExportPageKeysParams{After: 400_000, Max: 1000}))
		c.ok(c.q.ExportPageKeysOfDomain(ctx, dbsqlc.ExportPageKeysOfDomainParams{Domain: site(0), After: "https://site-0.example/section-1", Max: 1000}))
		c.ok(c.q.ExportPages(ctx, dbsqlc.ExportPagesParams{Ids: ids}))
		c.ok(c.q.ExportPages(ctx, dbsqlc.ExportPagesParams{Ids: ids, Since: new(ago(365 * 24 * time.Hour)), Language: "en"}))
		c.ok(c.q.ExportPages(ctx, dbsqlc.ExportPagesParams{Ids: ids, RunID: new(runLarge), Outcome: new(dbsqlc.CrawlOutcomeSuccess)}))
		c.ok(c.q.ExportLinkKeys(ctx, dbsqlc.ExportLinkKeysParams{After: 400_000, Max: 1000}))
		c.ok(c.q.ExportLinks(ctx, dbsqlc.ExportLinksParams{Ids: ids}))
		c.ok(c.q.ExportCrawlKeys(ctx, dbsqlc.ExportCrawlKeysParams{After: 800_000, Max: 1000}))
		c.ok(c.q.ExportCrawlKeysOfDomain(ctx, dbsqlc.ExportCrawlKeysOfDomainParams{Domain: site(0), After: ago(365 * 24 * time.Hour), Max: 1000}))
		c.ok(c.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{Ids: crawls}))
		c.ok(c.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{Ids: crawls, RunID: new(runLarge), Outcome: new(dbsqlc.CrawlOutcomeSuccess)}))
		c.ok(c.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{Ids: crawls, Before: new(ago(0)), Movable: true}))
		c.exec(`INSERT INTO page_crawls (page_id, domain, run_id, previous_id, is_revisit, url, completed_at, outcome)
			SELECT page_id, domain, run_id, id, true, url, now(), outcome FROM page_crawls
			WHERE id = ANY ($1::bigint[]) AND previous_id IS NOT NULL AND outcome = 'success'`, crawls)
		old, err := c.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{Ids: crawls, Before: new(ago(0)), Movable: true})
		c.ok(old, err)
		require.NotEmpty(t, old)
		moved := dbsqlc.AttemptsDeleteMovedParams{}
		for _, row := range old {
			moved.Ids, moved.Ended = append(moved.Ids, row.ID), append(moved.Ended, row.CompletedAt)
		}
		c.done(c.q.MovedNote(ctx, ago(0)))
		c.exec("SELECT set_config('mosey.allow_delete', 'crawls', true)")
		c.ok(c.q.AttemptsDeleteMoved(ctx, moved))
		c.ok(c.q.AttemptsDeleteMoved(ctx, moved))
		c.ok(c.q.MovedGet(ctx, site(0)))
		c.ok(c.q.ExportDomainKeys(ctx, dbsqlc.ExportDomainKeysParams{After: 100, Max: 1000}))
		c.ok(c.q.ExportDomainKey(ctx, dbsqlc.ExportDomainKeyParams{Domain: site(sitePlain)}))
		c.ok(c.q.ExportDomains(ctx, dbsqlc.ExportDomainsParams{Ids: pageIDs(100, 1000)}))
		c.ok(c.q.ExportDomains(ctx, dbsqlc.ExportDomainsParams{Ids: pageIDs(100, 1000), RunID: new(runLarge)}))
		c.ok(c.q.ExportImageKeys(ctx, dbsqlc.ExportImageKeysParams{After: 400_000, Max: 1000}))
		c.ok(c.q.ExportImageKeysOfDomain(ctx, dbsqlc.ExportImageKeysOfDomainParams{Domain: site(sitePlain), Max: 1000}))
		c.ok(c.q.ExportImageKeysOfDomain(ctx, dbsqlc.ExportImageKeysOfDomainParams{Domain: site(0), After: 1000, Max: 1000}))
		c.ok(c.q.ExportProvenanceKeys(ctx, dbsqlc.ExportProvenanceKeysParams{After: 100_000, Max: 1000}))
		c.ok(c.q.ExportProvenance(ctx, dbsqlc.ExportProvenanceParams{Pages: ids}))
	}
	reading["Images"] = func(t *testing.T, s *db.Store) {
		ctx := t.Context()
		for _, domain := range []string{"", site(sitePlain)} {
			_, err := s.Images(ctx, report.ImageFilter{Domain: domain, Limit: 20})
			require.NoError(t, err)
		}
		for _, alike := range []bool{false, true} {
			_, err := s.ImageCopies(ctx, alike, 10)
			require.NoError(t, err)
		}
	}
	changing["Images"] = func(t *testing.T, c change) {
		ctx := t.Context()
		var hashes []string
		c.done(c.QueryRow(ctx, "SELECT array_agg(x.h) FROM (SELECT sha256_hash AS h FROM image_contents ORDER BY 1 LIMIT 20) x").Scan(&hashes))
		c.ok(c.q.ImageContentFacts(ctx, hashes[0]))
		c.ok(c.q.ImageHash(ctx, dbsqlc.ImageHashParams{Sha256: &hashes[0]}))
		c.ok(c.q.ImageHash(ctx, dbsqlc.ImageHashParams{Url: new(pageURL(0, 31))}))
		c.ok(c.q.ImagesSimilar(ctx, dbsqlc.ImagesSimilarParams{Phash: 42, Dhash: new(int64(42)), Distance: 8, Bound: 100, Max: 10}))
		c.ok(c.q.ImagesStored(ctx, hashes))
		c.ok(c.q.ImagesStoredAfter(ctx, dbsqlc.ImagesStoredAfterParams{After: hashes[3], Before: time.Now(), Max: 100}))
		c.done(c.q.ImagesMarkMissing(ctx, dbsqlc.ImagesMarkMissingParams{Hashes: hashes[:10]}))
		c.exec("UPDATE images SET sha256_hash = NULL WHERE sha256_hash = $1", hashes[11])
		c.done(c.q.ImagesMarkUnusedMissing(ctx, hashes[10:]))
		c.ok(c.q.DatabaseNow(ctx))
		c.ok(c.q.ImagesGet(ctx, dbsqlc.ImagesGetParams{Bound: 100, Pages: []int64{pageID(0, 31), pageID(sitePlain, 15)}}))
	}
	reading["Reprocess"] = func(t *testing.T, s *db.Store) {
		for _, domain := range []string{"", site(sitePlain)} {
			_, err := s.Outdated(t.Context(), domain)
			require.NoError(t, err)
		}
	}
	changing["Reprocess"] = func(t *testing.T, c change) {
		c.ok(c.q.ReprocessStage(t.Context(), dbsqlc.ReprocessStageParams{RunID: runLarge, Extractor: crawl.ExtractorVersion, Domain: new(site(sitePlain))}))
		c.ok(c.q.ReprocessStage(t.Context(), dbsqlc.ReprocessStageParams{RunID: runLarge, Extractor: crawl.ExtractorVersion}))
	}
	reading["Archive"] = func(t *testing.T, s *db.Store) {
		ctx := t.Context()
		_, err := s.ArchivedOrigins(ctx, new(runLarge))
		require.NoError(t, err)
		of, err := s.ArchivedOrigins(ctx, nil)
		require.NoError(t, err)
		require.NotEmpty(t, of)
		found, err := s.ArchivedResponses(ctx, of[0], nil)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		at, err := s.LastArchived(ctx, of[0].Domain, found[0].URL)
		require.NoError(t, err)
		require.NotNil(t, at)
		for _, after := range []string{"", strconv.FormatInt(pageID(500, 1), 10)} {
			pages, next, err := s.ArchivedPages(ctx, "", true, after, 50)
			require.NoError(t, err)
			require.NotEmpty(t, pages)
			require.NotEmpty(t, next)
		}
		_, _, err = s.ArchivedPages(ctx, of[0].Domain, true, "", 50)
		require.NoError(t, err)
	}
	changing["Archive"] = func(t *testing.T, c change) {
		doc := []byte(`[{"attempt_id": ` + strconv.FormatInt(2*pageID(10, 5), 10) + `, "ended_at": "2026-01-01T00:00:00Z", "page": {"signals": {}, "visit": {}}}]`)
		c.ok(c.q.PagesReread(t.Context(), doc))
	}
	changing["Ranks"] = func(t *testing.T, c change) {
		ctx := t.Context()
		sites := several(100)
		c.ok(c.q.RankDomains(ctx, dbsqlc.RankDomainsParams{Domains: names(sites), Inlinks: make([]int32, 100), Scores: make([]float32, 100)}))
		c.ok(c.q.RankDomainsDrop(ctx, names(sites)))
		c.ok(c.q.RankedDomains(ctx))
		pages := pageIDs(500_000, 100)
		c.ok(c.q.RankPages(ctx, dbsqlc.RankPagesParams{After: 500_000, UpToID: 501_000, Pages: pages, Inlinks: make([]int32, 100), Scores: make([]float32, 100)}))
		c.ok(c.q.RankRaisePages(ctx, pages))
		c.ok(c.q.RankAnchors(ctx, dbsqlc.RankAnchorsParams{After: 100_000, UpToID: 105_000, Pages: pageIDs(100_000, 1000)}))
		c.ok(c.q.DomainRank(ctx, site(3)))
		c.ok(c.q.PageRank(ctx, pageID(3, 4)))
		c.ok(c.q.BestDomains(ctx, 20))
	}
}
