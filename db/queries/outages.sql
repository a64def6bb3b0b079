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

-- Origins whose robots.txt was read when it was last asked for, the latest of any 200: their
-- names were found.
-- name: OriginsReached :many
SELECT o.origin FROM (SELECT origin, failures, read_at FROM robots ORDER BY origin LIMIT 200) AS o
WHERE o.failures = 0 AND o.read_at IS NOT NULL ORDER BY o.read_at DESC LIMIT @max;
