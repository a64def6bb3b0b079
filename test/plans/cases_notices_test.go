package plans

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// noticeCases are what owners of domains tell, and what becomes of it.
func noticeCases(changing changes) {
	changing["Notices"] = func(t *testing.T, c change) {
		ctx := t.Context()
		limits := doc(object{
			"lock": 1, "urls": 10_000, "urls_of_all": 200_000, "keys_of_all": 10_000, "keys_of_domain": 4, "ask_every_ms": 600_000, "kept_ms": 600_000,
		})
		// of other domains
		c.exec(`INSERT INTO notice_keys (url, key, domain, host, origin, waiting, until, asked_at)
			SELECT 'https://' || n || '.example/k', 'k', n || '.example', n || '.example', 'https://' || n || '.example', 10,
				now() + interval '1 hour', now() FROM generate_series(1, 3000) n`)
		c.exec(`INSERT INTO notices (key_id, url, told_by)
			SELECT k.id, 'https://' || k.domain || '/' || n, 'indexnow' FROM notice_keys k, generate_series(1, 10) n`)
		for _, s := range []int64{0, sitePlain} {
			urls := make([]string, 0, 200)
			for o := range int64(100) {
				urls = append(urls, pageURL(s, 3+o%40), fmt.Sprintf("%s/told/%d", origin(s), o))
			}
			notice := doc(object{
				"host": site(s), "domain": site(s), "key": "12345678", "key_url": origin(s) + "/12345678.txt", "key_origin": origin(s),
				"by": "indexnow", "urls": urls,
			})
			c.ok(c.q.NoticesTake(ctx, dbsqlc.NoticesTakeParams{Notice: notice, Limits: limits}))
			c.exec("UPDATE notice_keys SET asked_at = NULL, page_id = NULL WHERE domain = $1", site(s))
			c.ok(c.q.NoticesAsk(ctx, dbsqlc.NoticesAskParams{GapMs: 600_000, Most: 200}))
			// what is too much is dropped
			few := doc(object{
				"lock": 1, "urls": 100, "urls_of_all": 20_000, "keys_of_all": 10_000, "keys_of_domain": 4, "ask_every_ms": 600_000, "kept_ms": 600_000,
			})
			c.ok(c.q.NoticesTake(ctx, dbsqlc.NoticesTakeParams{Notice: notice, Limits: few}))
			c.exec("UPDATE notice_keys SET state = 'verified', checked_at = now() WHERE domain = $1", site(s))
			c.ok(c.q.NoticesTake(ctx, dbsqlc.NoticesTakeParams{Notice: notice, Limits: limits}))
			c.ok(c.q.NoticesDomains(ctx, 200))
			c.ok(c.q.NoticesOf(ctx, site(s)))
			c.ok(c.q.NoticesRuns(ctx, site(s)))
			rows, err := c.q.NoticesNext(ctx, dbsqlc.NoticesNextParams{Domain: site(s), Most: 1000})
			require.NoError(t, err)
			require.NotEmpty(t, rows)
			c.exec(`INSERT INTO revisits (page_id, run_id, due_at, every)
				SELECT p.id, $1, now(), interval '1 day' FROM pages p WHERE p.domain = $2 AND p.url = ANY ($3)
				ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = now()`, runLarge, site(s), urls)
			decided := make([]object, len(rows))
			for i, r := range rows {
				decided[i] = object{
					"key_id": r.KeyID, "url": r.Url, "told_at": r.ToldAt, "origin": origin(s), "patterns": []string{}, "history": json.RawMessage(`{}`),
					"due":   []object{{"run": runLarge, "at": "2020-01-01T00:00:00Z"}},
					"found": []object{{"run": runLarge, "follow": object{"depth": 1, "seeds_only": true}}},
				}
				if r.PageID != 0 {
					decided[i]["page"], decided[i]["fetched_at"] = r.PageID, r.FetchedAt
				}
			}
			changed, err := c.q.NoticesApply(ctx, dbsqlc.NoticesApplyParams{Domain: site(s), Decided: doc(decided)})
			require.NoError(t, err)
			require.Positive(t, changed)
		}
	}
	changing["NoticesProve"] = func(t *testing.T, c change) {
		var id int64
		c.done(c.QueryRow(t.Context(), `INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind, depth, again, locked_at)
			VALUES ($1, $2, 1, $3, $4, 'key', 1, true, now()) RETURNING id`,
			pageID(sitePlain, 20), site(sitePlain), crawlID(sitePlain, 20), pageURL(sitePlain, 20)).Scan(&id))
		c.exec("UPDATE politeness_slots SET holder = 'crawl:' || $1::bigint, free_at = now() + interval '1 hour' WHERE key = $2",
			id, "domain:"+site(sitePlain))
		c.exec(`INSERT INTO notice_keys (url, key, domain, host, origin, page_id, until)
			SELECT 'https://a.example/k', 'k' || n, 'a.example', 'a.example', 'https://a.example', $1, now() + interval '1 hour'
			FROM generate_series(1, 4) n`, pageID(sitePlain, 20))
		a := attempt(sitePlain, id, object{"proof": object{"keys": []string{"k1"}, "verified_ms": 1000, "refused_ms": 1000}})
		delete(a, "page")
		c.ok(c.q.AttemptsRecord(t.Context(), dbsqlc.AttemptsRecordParams{Attempts: doc([]object{a}), Depths: 50}))
		var verified int
		c.done(c.QueryRow(t.Context(), "SELECT count(*) FROM notice_keys WHERE state = 'verified'").Scan(&verified))
		require.Equal(t, 1, verified)
	}
}
