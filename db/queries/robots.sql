-- name: RobotsGet :one
SELECT
    origin, domain, verdict, agent, rules, crawl_delay_ms, sitemaps, reason, status_code, failures,
    fetched_at, expires_at, etag, last_modified, read_at,
    coalesce(tdm::text, '')::text AS tdm,
    coalesce(ms_between(read_at, clock_timestamp()), -1)::bigint AS age_ms,
    coalesce(ms_between(failing_since, clock_timestamp()), 0)::bigint AS failing_ms,
    (extract(EPOCH FROM fetched_at) * 1e6)::bigint AS version,
    ms_between(clock_timestamp(), expires_at)::bigint AS fresh_ms
FROM robots WHERE origin = @origin;

-- name: RobotsOfDomain :many
SELECT
    origin, verdict, crawl_delay_ms, sitemaps, reason, status_code, failures, read_at, failing_since,
    fetched_at, expires_at
FROM robots WHERE domain = @domain ORDER BY origin;

-- name: RobotsSave :one
SELECT robots_save(
    @origin::text, @domain::text, @verdict::robots_verdict, @agent::text, @rules::text,
    sqlc.narg('crawl_delay_ms')::bigint, @sitemaps::text [], @reason::text, @status_code::integer, @fresh_ms::bigint,
    sqlc.narg('etag')::text, sqlc.narg('last_modified')::timestamptz, @failed::boolean, @tdm::text
)::integer AS failures;
