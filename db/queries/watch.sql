-- Queries that a monitor runs every few seconds. They do not read whole tables.

-- Counts the served domains by the reason of their wait, with the first and the last end of the
-- waits.
-- name: WatchWaits :many
SELECT
    slot_wait_reason(s.holder, s.free_at, s.reason)::text AS reason,
    count(*)::bigint AS domains, coalesce(min(s.free_at), now())::timestamptz AS first, coalesce(max(s.free_at), now())::timestamptz AS last
FROM domains AS d
LEFT JOIN politeness_slots AS s ON s.key = 'domain:' || d.domain
WHERE d.claimed_by IS NOT NULL
GROUP BY 1;

-- Counts the pending attempts, and returns since when the oldest is due; the epoch means never.
-- Beyond a bound it estimates, because their index grows with their number.
-- name: WatchFrontier :one
SELECT
    now()::timestamptz AS now,
    (CASE WHEN o.open < @bound::bigint THEN o.open ELSE greatest(o.open, rows_estimate('page_crawls_next')) END)::bigint AS open,
    coalesce((
        SELECT sum(run_due_count(r.id, @bound::integer)) FROM crawl_runs AS r WHERE r.status = 'running'
    ), 0)::bigint AS due,
    coalesce((
        SELECT min(f.next_due_at)
        FROM crawl_runs AS r
        CROSS JOIN LATERAL (
            SELECT rd.next_due_at FROM run_domains AS rd
            WHERE rd.run_id = r.id AND rd.next_due_at IS NOT NULL ORDER BY rd.next_due_at LIMIT 1
        ) AS f
        WHERE r.status = 'running'
    ), 'epoch')::timestamptz AS oldest
FROM (
    SELECT count(*) AS open FROM (SELECT c.id FROM page_crawls AS c WHERE c.outcome IS NULL LIMIT @bound::bigint) AS x
) AS o;

-- Returns the approximate number of domains, by the statistics of the planner.
-- name: WatchDomainsSize :one
SELECT rows_estimate('domains')::bigint AS domains;

-- name: WatchDomains :many
SELECT d.status, count(*)::bigint AS domains FROM domains AS d GROUP BY d.status;

-- Counts the gaps that ended in a span. kind is domain, address, subnet or registered. The
-- lateness of a gap is the time from when the next request was allowed and its page due until the
-- request. bounds are the buckets of lateness in seconds. An early request is a violation. Only
-- requests to served domains count: the last 50 of each, from at most ten minutes before.
-- name: WatchGaps :many
WITH requests AS MATERIALIZED (
    SELECT
        r.id, r.domain, r.ip, r.subnet, r.registered, r.lost, r.completed_at, r.started_at, r.due_at, r.delay_ms, r.ip_delay_ms,
        r.subnet_delay_ms, r.registered_delay_ms
    FROM domains AS d
    CROSS JOIN LATERAL (
        SELECT
            c.id, c.domain, c.ip, c.subnet, c.registered, c.lost, c.completed_at,
            c.completed_at - ms_interval(c.duration_ms::bigint) AS started_at, c.scheduled_for AS due_at,
            greatest(c.delay_ms, coalesce(c.retry_after_ms, 0)) AS delay_ms,
            c.ip_delay_ms, c.subnet_delay_ms, c.registered_delay_ms
        FROM page_crawls AS c
        WHERE c.domain = d.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL
            AND c.completed_at > sqlc.arg(since)::timestamptz - interval '10 minutes' AND c.completed_at <= sqlc.arg(until)::timestamptz
        ORDER BY c.completed_at DESC LIMIT 50
    ) AS r
    WHERE d.claimed_by IS NOT NULL
), pairs AS (
    SELECT k.kind, r.lost, k.delay_ms, r.completed_at AS ended_at,
        lead(r.started_at) OVER w AS next_at, lead(r.due_at) OVER w AS next_due, lead(r.completed_at) OVER w AS next_ended
    FROM requests AS r
    CROSS JOIN LATERAL (
        SELECT
            unnest(ARRAY['domain', 'address', 'subnet', 'registered']) AS kind,
            unnest(ARRAY[r.domain, host(r.ip), r.subnet::text, r.registered]) AS key,
            unnest(ARRAY[r.delay_ms, r.ip_delay_ms, r.subnet_delay_ms, r.registered_delay_ms]) AS delay_ms
    ) AS k
    WHERE k.key IS NOT NULL AND k.delay_ms IS NOT NULL AND (k.kind = 'domain' OR k.delay_ms > 0 AND NOT r.lost)
    WINDOW w AS (PARTITION BY k.kind, k.key ORDER BY r.started_at, r.id)
), late AS (
    SELECT p.kind, CASE
        WHEN f.past < 0 THEN f.past
        ELSE least(f.past, greatest(extract(EPOCH FROM p.next_at - p.next_due)::double precision, 0))
    END AS late
    FROM pairs AS p CROSS JOIN LATERAL (
        SELECT extract(EPOCH FROM p.next_at - p.ended_at)::double precision - p.delay_ms / 1000.0::double precision AS past
    ) AS f
    WHERE NOT p.lost AND p.next_ended > sqlc.arg(since)::timestamptz
)
SELECT
    l.kind::text AS kind, width_bucket(l.late, sqlc.arg(bounds)::double precision [])::integer AS bucket,
    count(*)::bigint AS gaps, (count(*) FILTER (WHERE l.late < 0))::bigint AS violations,
    coalesce(sum(greatest(l.late, 0)), 0)::double precision AS late_seconds, greatest(max(l.late), 0)::double precision AS max_late_seconds
FROM late AS l GROUP BY 1, 2 ORDER BY 1, 2;

-- name: OutcomesAddUp :exec
WITH taken AS (
    DELETE FROM run_outcomes_new RETURNING ended_at, run_id, outcome, attempts
)
INSERT INTO run_outcomes AS o (ended_at, run_id, outcome, attempts)
SELECT t.ended_at, t.run_id, t.outcome, sum(t.attempts) FROM taken AS t
GROUP BY t.ended_at, t.run_id, t.outcome ORDER BY t.ended_at, t.run_id, t.outcome
ON CONFLICT (ended_at, run_id, outcome) DO UPDATE SET attempts = o.attempts + excluded.attempts;

-- Adds up the minutes of a past span by the hour. The span begins and ends on full hours.
-- name: OutcomesAddUpHours :exec
WITH taken AS (
    DELETE FROM run_outcomes AS r
    WHERE r.ended_at >= @since::timestamptz AND r.ended_at < @until::timestamptz AND r.ended_at <> date_trunc('hour', r.ended_at)
    RETURNING r.ended_at, r.run_id, r.outcome, r.attempts
)
INSERT INTO run_outcomes AS o (ended_at, run_id, outcome, attempts)
SELECT date_trunc('hour', t.ended_at) AS hour, t.run_id, t.outcome, sum(t.attempts) FROM taken AS t
GROUP BY hour, t.run_id, t.outcome ORDER BY hour, t.run_id, t.outcome
ON CONFLICT (ended_at, run_id, outcome) DO UPDATE SET attempts = o.attempts + excluded.attempts;

-- Counts attempts by outcome since an instant, of one run or of all, in spans of a length.
-- name: Outcomes :many
SELECT
    date_bin(ms_interval(@step_ms::bigint), x.ended_at, @since::timestamptz)::timestamptz AS began_at,
    x.outcome, sum(x.attempts)::bigint AS attempts
FROM (
    SELECT a.ended_at, a.run_id, a.outcome, a.attempts FROM run_outcomes AS a WHERE a.ended_at >= @since::timestamptz
    UNION ALL
    SELECT b.ended_at, b.run_id, b.outcome, b.attempts FROM run_outcomes_new AS b WHERE b.ended_at >= @since::timestamptz
) AS x
WHERE sqlc.narg('run_id')::bigint IS NULL OR x.run_id = sqlc.narg('run_id')::bigint
GROUP BY began_at, x.outcome ORDER BY began_at, x.outcome;
