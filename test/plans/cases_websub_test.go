package plans

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db/dbsqlc"
)

// websubCases are what becomes of hubs of feeds.
func websubCases(changing changes) {
	changing["WebSub"] = func(t *testing.T, c change) {
		ctx := t.Context()
		c.ok(c.q.ListenerHere(ctx, "https://crawler.example"))
		c.ok(c.q.ListenerHere(ctx, "https://crawler.example"))
		// of other feeds: 100 domains with 50 each, of 50 hubs
		c.exec(`INSERT INTO websub_subscriptions (feed_page_id, domain, topic, named, hub, hub_domain, hub_origin, state, lease_until, next_at)
			SELECT 1000000 + n, (n % 100) || '.feeds.example', 'https://' || n || '.example/feed', 'h', 'https://' || (n % 50) || '.hubs.example/',
				(n % 50) || '.hubs.example', 'https://' || (n % 50) || '.hubs.example', 'active', now() + interval '1 day', now() + interval '1 day'
			FROM generate_series(1, 5000) n`)
		c.exec("ANALYZE websub_subscriptions")

		feed := pageID(sitePlain, 20)
		c.exec("INSERT INTO revisits (page_id, run_id, due_at, every) VALUES ($1, $2, now(), '1 day') ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = now()",
			feed, runLarge)
		found := func(address object) {
			var id int64
			c.done(c.QueryRow(ctx, `INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind, depth, again, locked_at)
				VALUES ($1, $2, 1, (SELECT max(x.id) FROM page_crawls x WHERE x.page_id = $1 AND x.run_id = 1), $3, 'feed', 1, true, now())
				RETURNING id`, feed, site(sitePlain), pageURL(sitePlain, 20)).Scan(&id))
			a := attempt(sitePlain, id, object{"hub": object{"topic": "https://a.example/feed", "address": address}})
			c.ok(c.q.AttemptsRecord(ctx, dbsqlc.AttemptsRecordParams{Attempts: doc([]object{a}), Depths: 50}))
		}
		asked := func() int64 {
			c.exec("UPDATE websub_subscriptions SET next_at = now() WHERE feed_page_id = $1", feed)
			looked, err := c.q.WebsubLook(ctx, 200)
			require.NoError(t, err)
			require.Equal(t, []int32{1, 1}, looked)
			var id int64
			c.done(c.QueryRow(ctx, "SELECT id FROM page_crawls WHERE kind = 'hub' AND outcome IS NULL").Scan(&id))
			c.ok(c.q.WebsubSubscription(ctx, id))
			return id
		}
		// another feed has the same hub, which is being asked
		waits := func() {
			other := pageID(sitePlain, 22)
			c.exec("INSERT INTO revisits (page_id, run_id, due_at, every) VALUES ($1, $2, now(), '1 day') ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = now()",
				other, runLarge)
			c.exec("UPDATE websub_subscriptions SET lease_until = now() + interval '1 hour' WHERE feed_page_id = $1", feed)
			c.exec(`INSERT INTO websub_subscriptions (feed_page_id, domain, topic, named, hub, hub_domain, hub_origin)
				SELECT $2, domain, topic, named, hub, hub_domain, hub_origin FROM websub_subscriptions WHERE feed_page_id = $1`, feed, other)
			looked, err := c.q.WebsubLook(ctx, 200)
			require.NoError(t, err)
			require.Equal(t, []int32{1, 0}, looked)
			c.exec("DELETE FROM websub_subscriptions WHERE feed_page_id = $1", other)
		}
		// the hub is on a host that the run does not have
		found(object{"url": "https://hub.example/", "domain": "hub.example", "origin": "https://hub.example", "registered": "hub.example"})
		asked()
		c.ok(c.q.WebsubLook(ctx, 200))
		c.exec("UPDATE websub_subscriptions SET next_at = now() WHERE feed_page_id = $1", feed)
		c.ok(c.q.WebsubLook(ctx, 200)) // it is pending
		c.exec("UPDATE websub_subscriptions SET state = 'ended', next_at = now() WHERE feed_page_id = $1", feed)
		c.ok(c.q.WebsubLook(ctx, 200))
		c.exec("UPDATE page_crawls SET completed_at = now(), outcome = 'skipped', skipped = 'unneeded' WHERE kind = 'hub' AND outcome IS NULL")

		// it is on one that the run has
		own := object{"url": origin(sitePlain) + "/hub", "domain": site(sitePlain), "origin": origin(sitePlain)}
		for _, answer := range []object{
			{"subscribed": object{"moved": own}, "error": "it sends us elsewhere"}, {"error": "it refuses"}, {"subscribed": object{"accepted": true}},
		} {
			c.exec("DELETE FROM websub_subscriptions WHERE feed_page_id = $1", feed)
			found(own)
			id := asked()
			waits()
			c.exec("UPDATE page_crawls SET locked_at = now() WHERE id = $1", id)
			a := attempt(sitePlain, id, answer)
			delete(a, "page")
			c.ok(c.q.AttemptsRecord(ctx, dbsqlc.AttemptsRecordParams{Attempts: doc([]object{a}), Depths: 50}))
		}
		c.exec("UPDATE websub_subscriptions SET next_at = now() WHERE feed_page_id = $1 AND state = 'asked'", feed)
		c.ok(c.q.WebsubLook(ctx, 200)) // it was not confirmed
		c.exec("UPDATE websub_subscriptions SET token = 'ours', state = 'asked' WHERE feed_page_id = $1", feed)
		c.ok(c.q.WebsubVerify(ctx, dbsqlc.WebsubVerifyParams{Token: "ours", Topic: "https://a.example/feed", LeaseS: 3600}))
		c.ok(c.q.WebsubOfDomain(ctx, site(sitePlain)))
		c.ok(c.q.DomainFacts(ctx, site(sitePlain)))
		row, err := c.q.WebsubOfToken(ctx, "ours")
		require.NoError(t, err)
		c.done(c.q.WebsubPushed(ctx, row.ID))
		told, err := c.q.WebsubTold(ctx, 500)
		require.NoError(t, err)
		require.Len(t, told, 1)
		changed, err := c.q.WebsubApply(ctx, doc([]object{{
			"id": told[0].ID, "told_at": told[0].ToldAt, "page": told[0].FeedPageID, "fetched_at": told[0].FetchedAt,
			"history": json.RawMessage(`{}`), "due": []object{{"run": runLarge, "at": "2020-01-01T00:00:00Z"}},
		}}))
		require.NoError(t, err)
		require.EqualValues(t, 1, changed)
		c.ok(c.q.WebsubDeny(ctx, dbsqlc.WebsubDenyParams{Token: "ours", Topic: "https://a.example/feed", Why: "no"}))
		// the whole table is looked at, and few rows change: none of them is left behind for the next session
		c.exec("UPDATE websub_subscriptions SET state = 'ended' WHERE feed_page_id > 1000010")
		c.exec("UPDATE listener SET seen_at = seen_at - interval '1 hour'")
		c.ok(c.q.ListenerHere(ctx, "https://other.example"))
	}
}
