-- Stores an outage, or that it goes on, or has ended.
-- name: OutageSave :exec
INSERT INTO outages (worker, began_at, ended_at, reason)
VALUES (@worker, @began_at, sqlc.narg(ended_at), @reason)
ON CONFLICT (worker, began_at) DO UPDATE SET
    seen_at = clock_timestamp(), ended_at = excluded.ended_at, reason = excluded.reason;

-- The outages that last, by what their workers said within the last two minutes.
-- name: OutageList :many
SELECT * FROM outages
WHERE ended_at IS NULL AND seen_at > now() - interval '2 minutes'
ORDER BY began_at LIMIT @max;
