-- name: RobotsGet :one
SELECT
    origin, domain, verdict, agent, rules, crawl_delay_ms, sitemaps, reason, status_code, failures,
    fetched_at, expires_at,
    (extract(EPOCH FROM fetched_at) * 1e6)::bigint AS version,
    ms_between(clock_timestamp(), expires_at)::bigint AS fresh_ms
FROM robots WHERE origin = @origin;

-- name: RobotsOfDomain :many
SELECT
    origin, verdict, crawl_delay_ms, sitemaps, reason, status_code, failures, fetched_at, expires_at
FROM robots WHERE domain = @domain ORDER BY origin;

-- Records what a fetch of robots.txt found. An unreachable one keeps the last
-- known Crawl-delay: a host in trouble is not to be asked faster. Returns the
-- number of failures in a row.
-- name: RobotsSave :one
WITH saved AS (
INSERT INTO robots AS r
(origin, domain, verdict, agent, rules, crawl_delay_ms, sitemaps, reason, status_code, failures,
    fetched_at, expires_at)
VALUES (
    @origin, @domain, sqlc.arg('verdict')::robots_verdict, @agent, @rules, sqlc.narg('crawl_delay_ms'), @sitemaps::text [], @reason,
    sqlc.narg('status_code'), (sqlc.arg('verdict')::robots_verdict = 'unreachable')::integer,
    clock_timestamp(), clock_timestamp() + ms_interval(@fresh_ms)
)
ON CONFLICT (origin) DO UPDATE SET
    verdict = excluded.verdict, agent = excluded.agent, rules = excluded.rules,
    crawl_delay_ms = CASE
        WHEN excluded.verdict = 'unreachable' THEN r.crawl_delay_ms
        ELSE excluded.crawl_delay_ms
    END,
    sitemaps = excluded.sitemaps, reason = excluded.reason, status_code = excluded.status_code,
    failures = CASE WHEN excluded.verdict = 'unreachable' THEN r.failures + 1 ELSE 0 END,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
RETURNING *
), kept AS (
INSERT INTO robots_history (origin, version, verdict, agent, rules, fetched_at, expires_at)
SELECT
    origin, (extract(EPOCH FROM fetched_at) * 1e6)::bigint, verdict, agent, rules, fetched_at, expires_at
FROM saved
ON CONFLICT DO NOTHING
)
SELECT failures FROM saved;
