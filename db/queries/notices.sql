-- name: NoticesTake :one
SELECT notices_take(@notice::jsonb, @limits::jsonb)::jsonb AS taken;

-- name: NoticesAsk :one
SELECT notices_ask_all(ms_interval(@gap_ms::bigint), @most)::integer AS asked;

-- Domains of which notices of verified keys wait.
-- name: NoticesDomains :many
SELECT DISTINCT k.domain FROM notice_keys AS k WHERE k.state = 'verified' AND k.waiting > 0 ORDER BY k.domain LIMIT @most;

-- Such notices of a domain, with what is known of their pages. Pages that the run asks for again by
-- itself are named with the runs that do.
-- name: NoticesNext :many
SELECT
    n.key_id, n.url, n.told_at, n.told_by, coalesce(p.id, 0)::bigint AS page_id, coalesce(p.kind, 'page')::text AS kind,
    p.history::jsonb AS history, p.fetched_at, p.fresh_until, coalesce((
        SELECT array_agg(v.run_id) FROM revisits AS v WHERE v.page_id = p.id AND v.due_at IS NOT NULL
    ), '{}')::bigint [] AS runs
FROM (
    SELECT k.id FROM notice_keys AS k WHERE k.domain = @domain::text AND k.state = 'verified' AND k.waiting > 0 OFFSET 0
) AS k CROSS JOIN LATERAL (
    SELECT x.key_id, x.url, x.told_at, x.told_by FROM notices AS x WHERE x.key_id = k.id ORDER BY x.key_id, x.url LIMIT @most
) AS n LEFT JOIN LATERAL (
    SELECT y.id, y.kind, y.history, y.fetched_at, y.fresh_until FROM pages AS y
    WHERE y.domain = @domain::text AND y.url = n.url LIMIT 1
) AS p ON true
LIMIT @most;

-- The runs that go on and have a domain, how far it is from a seed there, and what is kept of its
-- pages together. It is as far as the nearest of its latest pages; depth -1 means: none was asked.
-- name: NoticesRuns :many
SELECT
    r.id, r.settings, rd.seed, coalesce(d.recrawl, '{}')::jsonb AS recrawl, coalesce(CASE WHEN rd.seed THEN 0 ELSE (
        SELECT min(c.depth) FROM (
            SELECT x.depth, x.run_id FROM page_crawls AS x
            WHERE x.domain = @domain::text AND x.outcome IS NOT NULL AND NOT x.prerequisite AND x.kind = ANY (kinds('document'))
            ORDER BY x.completed_at DESC LIMIT 1000
        ) AS c
        WHERE c.run_id = rd.run_id
    ) END, -1)::smallint AS depth
FROM domains AS d INNER JOIN run_domains AS rd ON d.domain = rd.domain
CROSS JOIN LATERAL (SELECT x.id, x.settings, x.status FROM crawl_runs AS x WHERE x.id = rd.run_id LIMIT 1) AS r
WHERE d.domain = @domain::text AND r.status IN ('running', 'paused')
ORDER BY r.id;

-- name: NoticesApply :one
SELECT notices_apply(@domain::text, @decided::jsonb)::integer AS changed;

-- What owners of a domain have told with which result, the latest first.
-- name: NoticesOf :many
SELECT host, state, why, waiting, told_at, told_by, asked_at, checked_at, until FROM notice_keys
WHERE domain = @domain ORDER BY told_at DESC LIMIT 20;
