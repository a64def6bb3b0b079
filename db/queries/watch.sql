-- What a monitor asks every few seconds: nothing here walks a table.

-- How many domains are served, by what they wait for; empty is nothing.
-- name: WatchWaits :many
SELECT
    (CASE WHEN s.holder IS NOT NULL THEN 'in flight' WHEN s.free_at > now() THEN s.reason ELSE '' END)::text AS reason,
    count(*)::bigint AS domains
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
    g.late_seconds::double precision AS late_seconds
FROM gaps_ended(@since::timestamptz, @until::timestamptz, @bounds::double precision []) AS g
ORDER BY g.kind, g.bucket;
