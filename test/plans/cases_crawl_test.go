package plans

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// crawlCases adds the cases of statements that run during the request for a page.
func crawlCases(changing changes) {
	changing["FactsOfDomains"] = func(t *testing.T, c change) {
		ctx := t.Context()
		for _, s := range []int64{0, 1, sitePlain, siteHosted, siteClaimed} {
			c.ok(c.q.DomainNext(ctx, site(s)))
			c.ok(c.q.DomainFacts(ctx, site(s)))
			c.ok(c.q.PageFacts(ctx, dbsqlc.PageFactsParams{Domain: site(s), Url: pageURL(s, 4)}))
		}
		for _, o := range []int64{0, 1, 2, 6, 15, 20} {
			c.ok(c.q.PageFacts(ctx, dbsqlc.PageFactsParams{Domain: site(siteClaimed), Url: pageURL(siteClaimed, o)}))
		}
		c.ok(c.q.PageFacts(ctx, dbsqlc.PageFactsParams{Domain: site(1), Url: pageURL(1, 15)}))
	}
	changing["LeaseOfDeadWorker"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.exec("UPDATE politeness_slots SET free_at = now() - interval '1 minute' WHERE key = $1", "domain:"+site(siteClaimed))
		c.ok(c.q.DomainNext(ctx, site(siteClaimed)))
		// of an attempt that was the last
		c.exec("UPDATE page_crawls SET retry_priority = NULL WHERE id = $1", c.fly(siteOther, 31))
		c.exec("UPDATE politeness_slots SET free_at = now() - interval '1 minute' WHERE key = $1", "domain:"+site(siteOther))
		c.ok(c.q.DomainNext(ctx, site(siteOther)))
		endClaims(t, c)
		c.fly(siteHosted, 20)
		c.exec("UPDATE politeness_slots SET free_at = now() - interval '1 minute' WHERE key = $1", "domain:"+site(siteHosted))
		c.begin(siteHosted, 21, nil)
		c.exec("UPDATE politeness_slots SET free_at = now() - interval '1 minute' WHERE key = $1", "domain:"+site(siteHosted))
		c.begin(siteHosted, 22, object{"shared_slots": []object{{"key": "ip:198.18.0.1", "delay_ms": 100}}})
	}
	changing["AttemptBegin"] = func(t *testing.T, c change) {
		ctx := t.Context()
		shared := []object{{"key": "ip:198.18.0.1", "delay_ms": 100}, {"key": "subnet:198.18.0.0/24", "delay_ms": 50}}
		// domains that were never asked
		c.exec("DELETE FROM politeness_slots WHERE key = ANY ($1)", []string{"domain:" + site(sitePlain), "domain:" + site(52)})
		c.begin(sitePlain, 20, nil)
		c.begin(siteOther, 20, object{"shared_slots": shared, "run_budget": 1 << 40, "domain_budget": 1000, "registered_budget": 1 << 40})
		c.ok(c.q.AttemptBegin(ctx, doc(start(16, 20, object{"shared_slots": shared}))))
		c.begin(siteHosted+200, 20, object{"registered_budget": 1 << 40})
		c.ok(c.q.AttemptBegin(ctx, doc(start(siteHosted+400, 20, object{"registered_budget": 1}))))
		c.begin(20, 31, object{"kind": "image", "image_budget": 100})
		c.begin(36, 20, object{"kind": "sitemap", "run_budget": 1 << 40})
		c.begin(24, 0, object{"kind": "robots", "prerequisite": true, "attempt_id": 0})
		c.ok(c.q.AttemptBegin(ctx, doc(start(28, 20, object{"domain_budget": 1}))))
		c.ok(c.q.AttemptBegin(ctx, doc(start(32, 20, object{"run_budget": 0}))))
		c.done(c.q.AttemptExtendLease(ctx, dbsqlc.AttemptExtendLeaseParams{HoldMs: 1000, Domain: site(sitePlain), AttemptID: attemptID(sitePlain, 20)}))
		c.done(c.q.AttemptUndo(ctx, dbsqlc.AttemptUndoParams{
			AttemptID: attemptID(siteOther, 20), Domain: site(siteOther), Shared: []string{"ip:198.18.0.1", "subnet:198.18.0.0/24"}, Error: "test",
			SharedDelayMs: []int64{100, 50}, Unreachable: true,
		}))
		c.done(c.q.AttemptUndo(ctx, dbsqlc.AttemptUndoParams{
			AttemptID: attemptID(sitePlain, 20), Domain: site(sitePlain), Shared: []string{}, Error: "test", DelayMs: 1000,
			SharedDelayMs: []int64{}, RobotsVersion: new(int64(2)),
		}))
		c.done(c.q.AttemptUndo(ctx, dbsqlc.AttemptUndoParams{
			AttemptID: attemptID(20, 31), Domain: site(20), Shared: []string{}, Error: "test", SharedDelayMs: []int64{},
		}))
		c.ok(c.q.SlotsRelease(ctx, doc([]object{
			{"attempt_id": 1, "since_end_ms": 1, "shared_slots": []object{{"key": "ip:198.18.0.2", "delay_ms": 100}}},
		})))
		starts := []object{}
		for _, s := range several(20)[10:] {
			starts = append(starts, start(s, 20, nil))
		}
		onAddress := object{"shared_slots": []object{{"key": "ip:198.18.0.3", "delay_ms": 1000}}}
		starts = append(starts, start(siteOther, 12, onAddress), start(401+5, 20, onAddress),
			start(60, 0, object{"kind": "robots", "prerequisite": true, "attempt_id": 0}))
		begun, err := c.q.AttemptsBegin(ctx, doc(starts))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(begun, func(r dbsqlc.AttemptsBeginRow) bool { return int(r.N) == len(starts) && r.Granted }), "%+v", begun)
	}
	changing["AttemptsRecord"] = func(t *testing.T, c change) {
		attempts := []object{}
		for _, s := range claimedSites() {
			attempts = append(attempts, attempt(s, attemptID(s, 20), object{
				"links": linksOf(s, 20), "all_links": true, "follow": follow, "index": index, "charge": charge,
			}))
		}
		rows, err := c.q.AttemptsRecord(t.Context(), dbsqlc.AttemptsRecordParams{Attempts: doc(attempts), ShortLockTimeout: true})
		require.NoError(t, err)
		require.True(t, rows[0].Closed)
		// of a site with many pages pending
		rows2, err := c.q.AttemptsRecord(t.Context(), dbsqlc.AttemptsRecordParams{Attempts: doc([]object{attempt(1, attemptID(1, 60000), object{
			"links": linksOf(1, 60000), "follow": object{"depth": 2, "max_subdomains": 3}, "charge": charge, "index": index,
		})})})
		require.NoError(t, err)
		require.True(t, rows2[0].Closed)
	}
	changing["Keywords"] = func(t *testing.T, c change) {
		ctx := t.Context()
		pages, err := c.q.KeywordsLockPending(ctx, dbsqlc.KeywordsLockPendingParams{After: 100, Max: 250, Bytes: 4 << 20})
		require.NoError(t, err)
		require.Len(t, pages, 250)
		taken, err := c.q.KeywordsLockTerms(ctx, pages)
		require.NoError(t, err)
		require.Len(t, taken, 250)
		stems, err := c.q.Stems(ctx, dbsqlc.StemsParams{
			Dictionaries: []string{"english_stem", "english_stem", "simple"}, Terms: []string{"harbours", "the", "harbours"},
		})
		require.NoError(t, err)
		require.Equal(t, [][]string{{"harbour"}, {}, {"harbours"}}, stems)
		var domains []string
		for _, k := range taken {
			domains = append(domains, k.Domain)
		}
		c.ok(c.q.KeywordsScores(ctx, dbsqlc.KeywordsScoresParams{Pages: pages, Domains: domains}))
		c.done(c.q.KeywordsIndexed(ctx, dbsqlc.KeywordsIndexedParams{Pages: pages, Version: 2}))
		c.ok(c.q.KeywordsGetAnchors(ctx, pages))
		c.done(c.q.KeywordsSetAnchors(ctx, dbsqlc.KeywordsSetAnchorsParams{Pages: pages, Anchors: slices.Repeat([]string{"harbour:1"}, len(pages)), Version: 2}))
		given, err := c.q.KeywordsDropNext(ctx, 10_000)
		require.NoError(t, err)
		require.NotZero(t, given)
		c.ok(c.q.KeywordsCountPending(ctx, 50))
	}
	changing["AttemptsRecordAgain"] = func(t *testing.T, c change) {
		// pages that were read before
		record := func(docs ...object) {
			rows, err := c.q.AttemptsRecord(t.Context(), dbsqlc.AttemptsRecordParams{Attempts: doc(docs)})
			require.NoError(t, err)
			for _, r := range rows {
				require.True(t, r.Closed)
			}
		}
		record(attempt(sitePlain, c.again(sitePlain, 4), object{
			"links": linksOf(sitePlain, 4)[:8], "all_links": true, "all_sitemaps": true, "follow": follow, "index": index, "charge": charge,
			"recrawl":       object{"history": object{"visits": 4}, "in_ms": 86400000, "source": object{"feed": true}},
			"images":        []object{{"url": pageURL(sitePlain, 15), "domain": site(sitePlain), "origin": origin(sitePlain), "discovery": "img"}},
			"follow_images": object{"depth": 2}, "all_images": true,
		}), attempt(siteOther, c.again(siteOther, 1), object{
			"recrawl": object{"history": object{"visits": 9}},
			"page":    object{"visit": object{}, "headers_read": true}, "unchanged_reason": "it says so", "follow_known": object{
				"link": follow, "redirect": follow, "sitemap": follow, "image": follow,
			},
		}))
		record(attempt(sitePlain, c.again(sitePlain, 7), object{
			"page": object{"visit": object{"content": "00"}, "signals": object{}, "leaves_index": true}, "all_images": true, "images_forbidden": true,
			"links_forbidden": true,
		}), attempt(siteOther, c.again(siteOther, 14), object{
			"images": []object{
				{"url": origin(siteOther) + "/new.png", "domain": site(siteOther), "origin": origin(siteOther), "discovery": "img", "variants": []string{"x"}},
				{
					"url": "https://cdn.hosting.example/new.png", "domain": "cdn.hosting.example", "origin": "https://cdn.hosting.example",
					"registered_domain": "hosting.example", "discovery": "img",
				},
			}, "follow_images": follow,
		}))
	}
	changing["AttemptsRecordOther"] = func(t *testing.T, c change) {
		record := func(a object) {
			maps.DeleteFunc(a, func(_ string, v any) bool { return v == nil })
			rows, err := c.q.AttemptsRecord(t.Context(), dbsqlc.AttemptsRecordParams{Attempts: doc([]object{a})})
			require.NoError(t, err)
			require.True(t, rows[0].Closed, "%v", a)
		}
		record(attempt(16, c.fly(16, 20), object{"outcome": "timeout", "page": nil, "retry_in_ms": 60000, "error": "no answer"}))
		record(attempt(20, c.fly(20, 20), object{"outcome": "timeout", "page": nil, "retry_in_ms": 60000, "retry_next": true, "error": "no answer"}))
		record(attempt(24, c.fly(24, 20), object{
			"outcome": "failed", "page": object{"failed": true}, "abandon_status": "unreachable", "abandon_reason": "test", "abandon_ms": 3600000,
		}))
		record(attempt(28, c.fly(28, 20), object{
			"status_code": 301, "redirect": true, "links": linksOf(28, 20)[:1], "follow": follow,
			"charge": object{"patterns": []string{"/section-6/page-N"}, "redirect": true},
		}))
		record(attempt(32, attemptID(32, 20), object{"requested": nil, "outcome": "skipped", "skipped": "trap", "page": object{"trap": "pattern"}}))
		record(attempt(36, c.fly(36, 31), object{
			"page": object{"visit": object{}}, "image": object{"stored": true, "content": object{
				"sha256": "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789", "bytes": 1000, "format": "png",
				"width": 10, "height": 10, "phash": 1, "dhash": 2,
			}},
		}))
		record(attempt(40, c.fly(40, 31), object{
			"status_code": 301, "redirect": true, "image": object{}, "follow": follow,
			"links": []object{{"url": pageURL(40, 15), "domain": site(40), "origin": origin(40), "kind": "image"}},
		}))
		record(attempt(1, c.again(1, 47), object{"image": object{"forget": true, "problem": "not an image"}, "outcome": "failed", "page": object{"failed": true}}))
		record(attempt(56, c.again(56, 8), object{"charge": charge}))
		record(attempt(44, c.fly(44, 31), object{"image": object{"forget": true, "problem": "not an image"}, "outcome": "failed", "page": object{"failed": true}}))
		record(attempt(48, c.fly(48, 21), object{
			"robots": object{
				"origin": origin(48), "domain": site(48), "verdict": "allow_all", "agent": "mosey", "rules": "rules 60", "fresh_ms": 1000,
				"body": "AAAA", "sitemaps": []string{origin(48) + "/sitemap.xml"},
			},
			"next_facts_of": site(52),
		}))
		// what a list names, known and new
		record(attempt(52, c.fly(52, 20), object{
			"links": []object{
				{"url": pageURL(52, 25), "domain": site(52), "origin": origin(52), "priority": 2},
				{"url": origin(52) + "/more.xml", "domain": site(52), "origin": origin(52), "kind": "sitemap"},
			}, "follow": follow,
		}))
	}
	changing["Demotes"] = func(t *testing.T, c change) {
		c.exec("UPDATE url_patterns SET seen = 31, duplicates = 30 WHERE domain = $1", site(1))
		rows, err := c.q.AttemptsRecord(t.Context(), dbsqlc.AttemptsRecordParams{Attempts: doc([]object{attempt(1, attemptID(1, 60000), object{
			"charge": object{"patterns": []string{"/section-N/page-N", "/section-3/page-N"}, "duplicate": true},
		})})})
		require.NoError(t, err)
		require.True(t, rows[0].Closed)
	}
	changing["Robots"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.RobotsGet(ctx, origin(sitePlain)))
		c.ok(c.q.RobotsOfDomain(ctx, site(sitePlain)))
		robots := object{"origin": origin(0), "domain": site(0), "verdict": "unreachable", "agent": "mosey", "failed": true, "fresh_ms": 1000}
		c.ok(c.q.RobotsSave(ctx, doc(robots)))
		c.done(c.q.RobotsExpire(ctx, origin(sitePlain)))
		// a site wants visits at another time of the day than before
		c.exec("UPDATE domains SET opens_at = now() + interval '1 hour' WHERE domain = $1", site(40))
		c.ok(c.q.RobotsSave(ctx, doc(object{"origin": origin(40), "domain": site(40), "verdict": "rules", "rules": "rules 40", "fresh_ms": 1000})))
		c.ok(c.q.RobotsSave(ctx, doc(object{"origin": origin(99), "domain": site(99), "verdict": "rules", "rules": "rules 70", "fresh_ms": 1000})))
		c.exec("UPDATE domains SET status = 'pending', claimed_by = NULL WHERE domain = $1", site(4+89*4))
		c.ok(c.q.RobotsSave(ctx, doc(object{"origin": origin(4 + 89*4), "domain": site(4 + 89*4), "verdict": "allow_all", "fresh_ms": 1000})))
		for _, domain := range []string{site(0), site(sitePlain)} {
			c.ok(c.q.AttemptsPending(ctx, dbsqlc.AttemptsPendingParams{Domain: domain, Runs: []int64{runLarge, runSmall, runOver}, Max: 101}))
		}
		c.ok(c.q.OriginDefer(ctx, dbsqlc.OriginDeferParams{
			Until: time.Now().Add(2 * time.Hour), Origin: origin(sitePlain), Domain: site(sitePlain), Schemeless: true,
		}))
		c.ok(c.q.OriginsAnswering(ctx, 20))
		c.ok(c.q.SeedOriginsOverHTTP(ctx, dbsqlc.SeedOriginsOverHTTPParams{Origins: []string{origin(99), origin(196)}, Tries: 1, RecentMs: 86400000}))
		c.ok(c.q.RobotsText(ctx, dbsqlc.RobotsTextParams{Origin: origin(1), Version: 100}))
	}
	changing["Outages"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.done(c.q.OutageSave(ctx, dbsqlc.OutageSaveParams{Worker: "worker-1", BeganAt: time.Now(), Reason: "test"}))
		c.ok(c.q.OutageList(ctx, 10))
	}
	changing["Lists"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.AddressListed(ctx, dbsqlc.AddressListedParams{Domain: site(sitePlain), Ip: netip.MustParseAddr("172.16.0.17")}))
		c.ok(c.q.ListsHaveNetworks(ctx))
		c.ok(c.q.ListSizes(ctx))
		c.ok(c.q.ListEntries(ctx, dbsqlc.ListEntriesParams{List: "block", After: "bad-4.example", Max: 1000}))
		c.ok(c.q.ListAdd(ctx, dbsqlc.ListAddParams{
			List: "block", Entries: []string{site(sitePlain), "hosting.example"}, Kinds: []string{"host", "domain"}, Reason: "test", By: "test",
		}))
		c.done(c.q.ListUpdateForbidden(ctx, []string{site(sitePlain), "hosting.example"}))
		c.ok(c.q.ListRemove(ctx, dbsqlc.ListRemoveParams{List: "block", Entries: []string{site(sitePlain)}}))
		c.ok(c.q.ListAdd(ctx, dbsqlc.ListAddParams{List: "allow", Entries: []string{site(0), "10.1.0.0/16"}, Kinds: []string{"host", "network"}, By: "test"}))
		c.ok(c.q.AddressListed(ctx, dbsqlc.AddressListedParams{Domain: site(sitePlain), Ip: netip.MustParseAddr("198.51.100.1")}))
		c.ok(c.q.ListRemove(ctx, dbsqlc.ListRemoveParams{List: "allow"}))
		c.done(c.q.FinishesAwait(ctx, nil))
		c.done(c.q.ListsUpdateAllowed(ctx))
	}
	changing["AllowList"] = func(t *testing.T, c change) {
		c.exec("INSERT INTO list_entries (list, entry, kind, set_by) VALUES ('allow', $1, 'host', 'test')", site(0))
		c.ok(c.q.DomainFacts(t.Context(), site(sitePlain)))
	}
}
