-- The newest closed attempts of a domain.
-- name: HistoryOfDomain :many
SELECT
    c.id, c.domain, c.url, c.kind, r.name AS run, c.outcome, c.status_code, c.error_message, c.completed_at::timestamptz AS completed_at,
    c.depth, c.duration_ms, c.bytes, c.truncated, c.content_type, c.skipped, c.unchanged, coalesce(host(c.ip), '')::text AS ip
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE
    c.domain = @domain AND c.outcome IS NOT NULL
    AND (c.outcome = sqlc.narg(outcome)::crawl_outcome OR sqlc.narg(outcome)::crawl_outcome IS NULL)
    AND (c.completed_at >= sqlc.narg(since)::timestamptz OR sqlc.narg(since)::timestamptz IS NULL)
ORDER BY c.completed_at DESC LIMIT @max;

-- Those of all domains, in the order in which they were scheduled.
-- name: History :many
SELECT
    c.id, c.domain, c.url, c.kind, r.name AS run, c.outcome, c.status_code, c.error_message, c.completed_at::timestamptz AS completed_at,
    c.depth, c.duration_ms, c.bytes, c.truncated, c.content_type, c.skipped, c.unchanged, coalesce(host(c.ip), '')::text AS ip
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE
    c.outcome IS NOT NULL
    AND (c.outcome = sqlc.narg(outcome)::crawl_outcome OR sqlc.narg(outcome)::crawl_outcome IS NULL)
    AND (c.completed_at >= sqlc.narg(since)::timestamptz OR sqlc.narg(since)::timestamptz IS NULL)
ORDER BY c.id DESC LIMIT @max;
