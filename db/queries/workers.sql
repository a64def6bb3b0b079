-- Stores the start of a worker, and closes the rows of dead workers, which have no share.
-- name: WorkerStart :one
WITH lost AS (
    UPDATE workers SET stopped_at = seen_at, lost = true, permits_held = 0
    WHERE stopped_at IS NULL AND coalesce(permits_held_until, seen_at) < now() - interval '1 hour'
)
INSERT INTO workers (identity, host, version, build_id, role, max_fetches, max_request_time)
VALUES (@identity, @host, @version, @build_id, @role, @max_fetches, ms_interval(@max_request_ms::bigint))
RETURNING id;

-- name: WorkerRenew :one
SELECT
    coalesce(share, -1)::integer AS share, coalesce(lease_ms, 0)::bigint AS lease_ms, coalesce(max_fetches, 0)::integer AS max_fetches
FROM worker_renew(@id, @renewal_count, @in_flight, @permits_held, @demand);

-- name: WorkerStop :exec
UPDATE workers SET stopped_at = clock_timestamp(), seen_at = clock_timestamp(), in_flight = 0, demand = 0, share = 0, permits_held = 0
WHERE id = @id;

-- Lists running workers, and with include_stopped also the others, the latest first.
-- name: WorkerList :many
SELECT
    w.id, w.identity, w.host, w.version, w.build_id, w.role, w.max_fetches, w.started_at, w.seen_at, w.stopped_at, w.lost,
    w.in_flight, w.demand, w.share, w.permits_held, coalesce(w.share_until > now(), false)::boolean AS leased,
    coalesce(w.permits_held_until > now(), false)::boolean AS counts_against_limit, now()::timestamptz AS now
FROM workers AS w WHERE w.stopped_at IS NULL OR @include_stopped::boolean ORDER BY w.id DESC LIMIT @max;

-- name: FleetLimit :one
SELECT max_fetches, reason, set_by, set_at FROM fleet_limit;

-- name: FleetLimitSet :exec
INSERT INTO fleet_limit (max_fetches, reason, set_by, set_at) VALUES (sqlc.narg(max_fetches), @reason, @set_by, clock_timestamp())
ON CONFLICT (only_row) DO UPDATE SET
    max_fetches = excluded.max_fetches, reason = excluded.reason, set_by = excluded.set_by, set_at = excluded.set_at;

-- Returns the limit and its use. The column running counts the workers with a recent report. The
-- last report was at seen_at; the epoch means never.
-- name: FleetUse :one
SELECT
    coalesce(l.max_fetches, 0)::integer AS max_fetches, l.reason, l.set_by, coalesce(sum(w.in_flight), 0)::bigint AS in_flight,
    coalesce(sum(greatest(w.demand - greatest(w.share, w.in_flight), 0)), 0)::bigint AS waiting,
    count(w.id)::bigint AS running, coalesce((SELECT max(x.seen_at) FROM workers AS x), 'epoch')::timestamptz AS seen_at
FROM fleet_limit AS l
LEFT JOIN workers AS w ON w.stopped_at IS NULL AND coalesce(w.share_until, w.started_at + interval '30 seconds') > now()
GROUP BY l.only_row;
