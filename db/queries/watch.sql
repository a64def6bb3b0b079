-- What a monitor asks every few seconds: nothing here walks a table.

-- How many domains are served, by what they wait for, and until when the first and the last do;
-- empty is nothing.
-- name: WatchWaits :many
SELECT
    slot_waits(s.holder, s.free_at, s.reason)::text AS reason,
    count(*)::bigint AS domains, coalesce(min(s.free_at), now())::timestamptz AS first, coalesce(max(s.free_at), now())::timestamptz AS last
FROM domains AS d
LEFT JOIN politeness_slots AS s ON s.key = 'domain:' || d.domain
WHERE d.claimed_by IS NOT NULL
GROUP BY 1;

-- What is pending, and since when the oldest is due; the epoch is not at all. Open crawls are
-- counted up to a bound, and estimated beyond: the index of them is as large as they are many.
-- name: WatchFrontier :one
SELECT
    now()::timestamptz AS now,
    (CASE WHEN o.open < @bound::bigint THEN o.open ELSE greatest(o.open, rows_about('page_crawls_next')) END)::bigint AS open,
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

-- About how many domains there are.
-- name: WatchDomainsSize :one
SELECT rows_about('domains')::bigint AS domains;

-- How many have each status: counted, while they are few.
-- name: WatchDomains :many
SELECT d.status, count(*)::bigint AS domains FROM domains AS d GROUP BY d.status;

-- name: WatchGaps :many
SELECT
    g.kind::text AS kind, g.bucket::integer AS bucket, g.gaps::bigint AS gaps, g.violations::bigint AS violations,
    g.late_seconds::double precision AS late_seconds, g.latest_seconds::double precision AS latest_seconds
FROM gaps_ended(@since::timestamptz, @until::timestamptz, @bounds::double precision []) AS g
ORDER BY g.kind, g.bucket;

-- Adds up how attempts have ended.
-- name: OutcomesAddUp :exec
WITH taken AS (
    DELETE FROM run_outcomes_new RETURNING ended_at, run_id, outcome, attempts
)
INSERT INTO run_outcomes AS o (ended_at, run_id, outcome, attempts)
SELECT t.ended_at, t.run_id, t.outcome, sum(t.attempts) FROM taken AS t
GROUP BY t.ended_at, t.run_id, t.outcome ORDER BY t.ended_at, t.run_id, t.outcome
ON CONFLICT (ended_at, run_id, outcome) DO UPDATE SET attempts = o.attempts + excluded.attempts;

-- The same by hours instead of minutes, of a span in the past. Both of its ends are full hours.
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

-- How attempts have ended since an instant, of a run or of all, in spans of a length.
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
