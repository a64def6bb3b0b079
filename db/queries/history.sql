-- name: HistoryOfDomain :many
SELECT
    c.id, c.domain, c.url, c.kind, r.name AS run, c.outcome, c.status_code, c.error_message, c.completed_at::timestamptz AS completed_at,
    c.depth, c.duration_ms, c.bytes, c.truncated, c.content_type, c.skipped, c.unchanged_reason, coalesce(host(c.ip), '')::text AS ip,
    c.delay_ms, c.delay_reason, c.retry_after_ms,
    coalesce((SELECT w.identity FROM workers AS w WHERE w.id = c.worker), '')::text AS worker
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE
    c.domain = @domain AND c.outcome IS NOT NULL
    AND (c.outcome = sqlc.narg(outcome)::crawl_outcome OR sqlc.narg(outcome)::crawl_outcome IS NULL)
    AND (c.completed_at >= sqlc.narg(since)::timestamptz OR sqlc.narg(since)::timestamptz IS NULL)
ORDER BY c.completed_at DESC LIMIT @max;

-- name: History :many
SELECT
    c.id, c.domain, c.url, c.kind, r.name AS run, c.outcome, c.status_code, c.error_message, c.completed_at::timestamptz AS completed_at,
    c.depth, c.duration_ms, c.bytes, c.truncated, c.content_type, c.skipped, c.unchanged_reason, coalesce(host(c.ip), '')::text AS ip,
    c.delay_ms, c.delay_reason, c.retry_after_ms,
    coalesce((SELECT w.identity FROM workers AS w WHERE w.id = c.worker), '')::text AS worker
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE
    c.outcome IS NOT NULL
    AND (c.outcome = sqlc.narg(outcome)::crawl_outcome OR sqlc.narg(outcome)::crawl_outcome IS NULL)
    AND (c.completed_at >= sqlc.narg(since)::timestamptz OR sqlc.narg(since)::timestamptz IS NULL)
ORDER BY c.completed_at DESC LIMIT @max;

-- Lists the latest requests of a run for pages and other files, the newest first, with the first
-- heading of a page. It looks at the newest 200 attempts of all runs.
-- name: RunLatestRequests :many
WITH latest AS (
    SELECT c.url, c.run_id, c.outcome, c.status_code, c.completed_at, c.page_id
    FROM page_crawls AS c WHERE c.outcome IS NOT NULL
    ORDER BY c.completed_at DESC LIMIT 200
)

SELECT
    l.url, l.outcome::crawl_outcome AS outcome, l.status_code, l.completed_at::timestamptz AS completed_at,
    coalesce(p.signals ->> 'title', k.outline[1], '')::text AS title
FROM latest AS l
LEFT JOIN pages AS p ON l.page_id = p.id
LEFT JOIN page_keywords AS k ON l.page_id = k.page_id
WHERE l.run_id = @run_id::bigint AND l.outcome NOT IN ('skipped', 'blocked_robots')
ORDER BY l.completed_at DESC LIMIT @max;

-- Lists the decisions of operators about a domain, including lifted ones, the latest first.
-- name: ControlsOfDomain :many
SELECT
    c.kind, c.value, c.reason, c.set_by, c.set_at, c.until, c.lifted_at, c.lifted_by
FROM domain_controls AS c WHERE c.domain = @domain ORDER BY c.set_at DESC, c.id DESC LIMIT @max;

-- Lists the fetches of the robots.txt files of a domain, the latest first, of each origin.
-- name: RobotsHistoryOfDomain :many
SELECT
    h.origin, h.version, h.verdict, h.fetched_at, h.rules_hash
FROM robots AS r CROSS JOIN LATERAL (
    SELECT v.origin, v.version, v.verdict, v.fetched_at, v.rules_hash
    FROM robots_history AS v WHERE v.origin = r.origin ORDER BY v.version DESC LIMIT @max
) AS h
WHERE r.domain = @domain ORDER BY h.origin, h.version DESC;
