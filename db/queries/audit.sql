-- Compare the gaps between requests to the same key with the required delays. A lost request ended
-- at an unknown instant and is only counted.

-- name: AuditDomainGaps :one
WITH requests AS (
    SELECT
        r.delay_ms, r.retry_after_ms, r.lost,
        (extract(EPOCH FROM lead(r.started_at) OVER (PARTITION BY r.domain ORDER BY r.started_at, r.id) - r.ended_at)
            * 1000)::double precision AS gap_ms
    FROM audit_requests AS r
    WHERE sqlc.narg('run_id')::bigint IS NULL
        OR r.domain IN (SELECT rd.domain FROM run_domains AS rd WHERE rd.run_id = sqlc.narg('run_id')::bigint)
)
SELECT
    count(*)::bigint AS requests,
    (count(*) FILTER (WHERE lost))::bigint AS lost,
    (count(gap_ms) FILTER (WHERE NOT lost))::bigint AS gaps,
    (count(*) FILTER (WHERE NOT lost AND gap_ms < delay_ms))::bigint AS violations,
    (count(retry_after_ms) FILTER (WHERE gap_ms IS NOT NULL))::bigint AS retry_afters,
    (count(*) FILTER (WHERE gap_ms < retry_after_ms))::bigint AS retry_after_violations,
    coalesce(min(gap_ms) FILTER (WHERE NOT lost), 0)::double precision AS gap_min,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY gap_ms) FILTER (WHERE NOT lost), 0)::double precision AS gap_p50,
    coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY gap_ms) FILTER (WHERE NOT lost), 0)::double precision AS gap_p99,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY gap_ms - delay_ms) FILTER (WHERE NOT lost), 0)::double precision AS over_p50,
    coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY gap_ms - delay_ms) FILTER (WHERE NOT lost), 0)::double precision AS over_p99
FROM requests;

-- name: AuditDomainViolations :many
WITH requests AS (
    SELECT
        r.domain, r.lost, r.ended_at, coalesce(r.delay_reason, '')::text AS delay_reason,
        greatest(r.delay_ms, coalesce(r.retry_after_ms, 0))::bigint AS delay_ms,
        lead(r.started_at) OVER (PARTITION BY r.domain ORDER BY r.started_at, r.id) AS next_at
    FROM audit_requests AS r
    WHERE sqlc.narg('run_id')::bigint IS NULL
        OR r.domain IN (SELECT rd.domain FROM run_domains AS rd WHERE rd.run_id = sqlc.narg('run_id')::bigint)
)
SELECT
    domain, delay_ms, delay_reason, coalesce(next_at, 'epoch')::timestamptz AS next_at,
    (extract(EPOCH FROM next_at - ended_at) * 1000)::double precision AS gap_ms
FROM requests
WHERE NOT lost AND extract(EPOCH FROM next_at - ended_at) * 1000 < delay_ms
ORDER BY next_at LIMIT @max;

-- Does the same for keys that domains share. kind is ip, subnet or registered.
-- name: AuditSharedGaps :one
WITH requests AS (
    SELECT
        d.delay_ms,
        (extract(EPOCH FROM lead(r.started_at) OVER (PARTITION BY d.key ORDER BY r.started_at, r.id) - r.ended_at)
            * 1000)::double precision AS gap_ms
    FROM audit_requests AS r
    CROSS JOIN LATERAL (
        SELECT
            CASE @kind::text WHEN 'ip' THEN host(r.ip) WHEN 'subnet' THEN r.subnet::text ELSE r.registered END AS key,
            CASE @kind::text
                WHEN 'ip' THEN r.ip_delay_ms WHEN 'subnet' THEN r.subnet_delay_ms ELSE r.registered_delay_ms
            END AS delay_ms
    ) AS d
    WHERE d.key IS NOT NULL AND d.delay_ms > 0 AND NOT r.lost
)
SELECT
    count(*)::bigint AS requests,
    count(gap_ms)::bigint AS gaps,
    (count(*) FILTER (WHERE gap_ms < delay_ms))::bigint AS violations,
    coalesce(min(gap_ms), 0)::double precision AS gap_min,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY gap_ms), 0)::double precision AS gap_p50,
    coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY gap_ms), 0)::double precision AS gap_p99,
    coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY gap_ms - delay_ms), 0)::double precision AS over_p50,
    coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY gap_ms - delay_ms), 0)::double precision AS over_p99
FROM requests;

-- name: AuditSharedViolations :many
WITH requests AS (
    SELECT
        d.key, r.ended_at, d.delay_ms,
        lead(r.started_at) OVER (PARTITION BY d.key ORDER BY r.started_at, r.id) AS next_at
    FROM audit_requests AS r
    CROSS JOIN LATERAL (
        SELECT
            CASE @kind::text WHEN 'ip' THEN host(r.ip) WHEN 'subnet' THEN r.subnet::text ELSE r.registered END AS key,
            CASE @kind::text
                WHEN 'ip' THEN r.ip_delay_ms WHEN 'subnet' THEN r.subnet_delay_ms ELSE r.registered_delay_ms
            END AS delay_ms
    ) AS d
    WHERE d.key IS NOT NULL AND d.delay_ms > 0 AND NOT r.lost
)
SELECT
    coalesce(key, '')::text AS key, coalesce(delay_ms, 0)::bigint AS delay_ms,
    coalesce(next_at, 'epoch')::timestamptz AS next_at,
    (extract(EPOCH FROM next_at - ended_at) * 1000)::double precision AS gap_ms
FROM requests
WHERE extract(EPOCH FROM next_at - ended_at) * 1000 < delay_ms
ORDER BY next_at LIMIT @max;

-- Lists page requests with the robots.txt that allowed them, in batches.
-- name: AuditPages :many
SELECT
    c.id, (c.completed_at - ms_interval(c.duration_ms::bigint))::timestamptz AS started_at, c.url, p.origin,
    coalesce(c.robots_version, 0)::bigint AS robots_version, coalesce(h.version, 0)::bigint AS version,
    coalesce(h.agent, '')::text AS agent, coalesce(h.verdict::text, '')::text AS verdict
FROM page_crawls AS c
INNER JOIN pages AS p ON c.page_id = p.id
LEFT JOIN LATERAL (
    SELECT x.version, x.agent, x.verdict FROM robots_history AS x
    WHERE x.origin = p.origin AND x.version <= c.robots_version ORDER BY x.version DESC LIMIT 1
) AS h ON true
WHERE c.delay_ms IS NOT NULL AND NOT c.lost AND (NOT c.prerequisite OR c.kind = ANY (kinds('document'))) AND c.id > @after::bigint
    AND (sqlc.narg('run_id')::bigint IS NULL OR c.run_id = sqlc.narg('run_id')::bigint)
ORDER BY c.id LIMIT @max;

-- name: RobotsText :one
SELECT b.content AS body, convert_from(t.content, 'UTF8')::text AS rules
FROM robots_history AS h
INNER JOIN robots_contents AS t ON h.rules_hash = t.hash
LEFT JOIN robots_contents AS b ON h.body_hash = b.hash
WHERE h.origin = @origin AND h.version <= @version ORDER BY h.version DESC LIMIT 1;
