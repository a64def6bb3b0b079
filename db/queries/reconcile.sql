-- Runs whose dispatcher has something to do that it may not know of. Something is due, a change of
-- settings is not carried out, a pause is over, or nothing is left. A dispatcher that has looked
-- within a span knows by itself. A run that waits for its window is left out.
-- name: RunsWanting :many
SELECT r.name FROM crawl_runs AS r
WHERE
    r.status = 'paused' AND r.paused_until <= now()
    OR r.status = 'running' AND (r.looked_at IS NULL OR r.looked_at < now() - ms_interval(@grace_ms::bigint)) AND (
        r.widening IS NOT NULL
        OR (r.opens_at IS NULL OR r.opens_at <= now()) AND run_due_count(r.id, 1) > 0
        OR r.spent = '' AND r.settings ->> 'when_done' = 'recrawl' AND (
            r.revisits_from IS NOT NULL OR EXISTS (SELECT 1 FROM revisits AS v WHERE v.run_id = r.id AND v.due_at <= now())
        )
        -- it has nothing to do, and does not stay for that
        OR (r.spent <> '' OR r.settings ->> 'when_done' = 'end')
        AND run_due_count(r.id, 1) = 0 AND run_held(r.id, 1) = 0 AND (SELECT c.busy FROM run_claims(r.id) AS c) = 0
    )
ORDER BY r.id;

-- Runs that go on, or are paused.
-- name: RunsLive :many
SELECT name FROM crawl_runs WHERE status IN ('running', 'paused') ORDER BY id;

-- name: DomainsClaimed :many
SELECT domain FROM domains WHERE claimed_by IS NOT NULL
ORDER BY domain || ''; -- they are sorted: for the order alone, all domains would be read by their names

-- name: ReconcileLock :one
SELECT pg_try_advisory_lock(@key::bigint) AS locked;
