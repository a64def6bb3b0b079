-- Runs whose dispatcher has something to do that it does not know of.
-- name: RunsWanting :many
SELECT w.name::text AS name FROM runs_wanting(ms_interval(@grace_ms::bigint)) AS w (name);

-- Runs that go on, or are paused.
-- name: RunsLive :many
SELECT name FROM crawl_runs WHERE status IN ('running', 'paused') ORDER BY id;

-- name: DomainsClaimed :many
SELECT domain FROM domains WHERE claimed_by IS NOT NULL
ORDER BY domain || ''; -- they are sorted: for the order alone, all domains would be read by their names

-- name: ReconcileLock :one
SELECT pg_try_advisory_lock(@key::bigint) AS locked;
