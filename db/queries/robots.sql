-- name: RobotsGet :one
SELECT
    r.origin, r.domain, r.verdict, r.agent, convert_from(t.content, 'UTF8')::text AS rules, r.body_hash, r.crawl_delay_ms, r.visit_times, r.sitemaps, r.reason, r.status_code, r.failures, r.unanswered_count,
    r.fetched_at, r.expires_at, r.etag, r.last_modified, r.read_at, r.version,
    coalesce(r.tdm::text, '')::text AS tdm, coalesce(r.missing::text, '')::text AS missing,
    coalesce(ms_between(r.read_at, clock_timestamp()), -1)::bigint AS age_ms,
    coalesce(ms_between(r.failing_since, clock_timestamp()), 0)::bigint AS failing_ms,
    ms_between(clock_timestamp(), r.expires_at)::bigint AS fresh_ms
FROM robots AS r INNER JOIN robots_contents AS t ON r.rules_hash = t.hash WHERE r.origin = @origin;

-- name: RobotsOfDomain :many
SELECT
    origin, verdict, crawl_delay_ms, visit_times, sitemaps, reason, status_code, failures, read_at, failing_since,
    fetched_at, expires_at, coalesce(missing ? 'text', false)::boolean AS soft_not_found
FROM robots WHERE domain = @domain ORDER BY origin;

-- name: RobotsExpire :exec
UPDATE robots SET expires_at = clock_timestamp() WHERE origin = @origin AND expires_at > clock_timestamp();

-- name: RobotsSave :one
SELECT robots_save(@robots::jsonb)::integer AS failures;
