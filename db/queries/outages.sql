-- Stores the start, the continuation or the end of an outage.
-- name: OutageSave :exec
INSERT INTO outages (worker, began_at, ended_at, reason)
VALUES (@worker, @began_at, sqlc.narg(ended_at), @reason)
ON CONFLICT (worker, began_at) DO UPDATE SET
    seen_at = clock_timestamp(), ended_at = excluded.ended_at, reason = excluded.reason;

-- Lists the current outages that workers have reported within the last two minutes.
-- name: OutageList :many
SELECT * FROM outages
WHERE ended_at IS NULL AND seen_at > now() - interval '2 minutes'
ORDER BY began_at LIMIT @max;

-- Lists origins that responded to their last request for robots.txt: the latest of any 200.
-- name: OriginsAnswering :many
SELECT o.origin FROM (SELECT origin, failures, read_at FROM robots ORDER BY origin LIMIT 200) AS o
WHERE o.failures = 0 AND o.read_at IS NOT NULL ORDER BY o.read_at DESC LIMIT @max;
