-- Lists runs whose dispatcher may not know of its work: a due domain, a change of settings, the
-- end of a pause or of the run. It omits dispatchers that have checked within a span, and closed
-- windows.
-- name: RunsWithUnnoticedWork :many
SELECT r.name FROM crawl_runs AS r
WHERE
    r.status = 'paused' AND r.paused_until <= now()
    OR r.status = 'running' AND (r.last_poll_at IS NULL OR r.last_poll_at < now() - ms_interval(@grace_ms::bigint)) AND (
        r.widening IS NOT NULL
        OR (r.opens_at IS NULL OR r.opens_at <= now()) AND run_due_count(r.id, 1) > 0
        OR r.spent_budget = '' AND r.settings ->> 'when_done' = 'recrawl' AND (
            r.revisits_after_page_id IS NOT NULL OR EXISTS (SELECT 1 FROM revisits AS v WHERE v.run_id = r.id AND v.due_at <= now())
        )
        -- it has no work, and ends for lack of it
        OR (r.spent_budget <> '' OR r.settings ->> 'when_done' = 'end')
        AND run_due_count(r.id, 1) = 0 AND run_postponed_count(r.id, 1) = 0 AND (SELECT c.busy FROM run_claim_counts(r.id) AS c) = 0
    )
ORDER BY r.id;

-- Lists runs that are running or paused.
-- name: RunsUnfinished :many
SELECT name FROM crawl_runs WHERE status IN ('running', 'paused') ORDER BY id;

-- name: DomainsClaimed :many
SELECT domain FROM domains WHERE claimed_by IS NOT NULL
ORDER BY domain || ''; -- sorts them: for the order alone, Postgres would read all domains by name

-- name: ReconcileLock :one
SELECT pg_try_advisory_lock(@key::bigint) AS locked;
