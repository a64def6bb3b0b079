-- name: ListenerHere :one
SELECT coalesce(listener_here(@url), '')::text AS url;

-- What a hub is to be asked for by a crawl.
-- name: WebsubSubscription :one
SELECT s.topic, s.callback, s.token, s.secret
FROM page_crawls AS c CROSS JOIN LATERAL (
    SELECT x.topic, x.callback, x.token, x.secret FROM websub_subscriptions AS x
    WHERE x.hub_page_id = c.page_id AND x.run_id = c.run_id LIMIT 1
) AS s
WHERE c.id = @crawl_id;

-- name: WebsubLook :one
SELECT websub_look(@most)::integer [] AS looked;

-- name: WebsubVerify :one
SELECT websub_verify(@token, @topic, @lease_s)::boolean AS wanted;

-- name: WebsubDeny :one
SELECT websub_deny(@token, @topic, @why)::boolean AS known;

-- name: WebsubOfToken :one
SELECT id, secret FROM websub_subscriptions WHERE token = @token AND state <> 'ended';

-- name: WebsubPushed :exec
UPDATE websub_subscriptions SET pushed_at = clock_timestamp(), told_at = clock_timestamp() WHERE id = @id AND state <> 'ended';

-- What hubs have told and is not looked at yet, with what is known of the feeds. The runs are those that ask
-- for a feed again by themselves.
-- name: WebsubTold :many
SELECT
    s.id, s.told_at, s.feed_page_id, p.kind, p.history::jsonb AS history, p.fetched_at, p.fresh_until, coalesce((
        SELECT jsonb_agg(jsonb_build_object('run', r.id, 'settings', r.settings)) FROM (
            SELECT v.run_id FROM revisits AS v WHERE v.page_id = s.feed_page_id AND v.due_at IS NOT NULL
        ) AS w CROSS JOIN LATERAL (
            SELECT x.id, x.settings FROM crawl_runs AS x WHERE x.id = w.run_id AND x.status IN ('running', 'paused') LIMIT 1
        ) AS r
    ), '[]')::jsonb AS runs
FROM (
    SELECT x.id, x.told_at, x.feed_page_id FROM websub_subscriptions AS x
    -- A request for the feed that is in flight comes first: what was told meanwhile may not be in its answer.
    WHERE x.told_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM page_crawls AS c WHERE c.page_id = x.feed_page_id AND c.locked_at IS NOT NULL
    )
    ORDER BY x.id LIMIT @most
) AS s CROSS JOIN LATERAL (
    SELECT y.kind, y.history, y.fetched_at, y.fresh_until FROM pages AS y WHERE y.id = s.feed_page_id LIMIT 1
) AS p;

-- name: WebsubApply :one
SELECT websub_apply(@decided::jsonb)::integer AS changed;

-- The hubs that feeds of a domain have, those first that told last.
-- name: WebsubOfDomain :many
SELECT topic, hub, state, why, asked_at, lease_until, pushed_at, next_at FROM websub_subscriptions
WHERE domain = @domain ORDER BY pushed_at DESC NULLS LAST, id LIMIT 20;
