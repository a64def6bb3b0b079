-- name: SeedsAdd :one
SELECT s.added::integer AS added, s.listed::integer AS listed FROM seeds_add(@run_id::bigint, @source::text, @seeds::jsonb) AS s;

-- name: SeedsStaged :many
SELECT id, url FROM staged_seeds WHERE run_id = @run_id ORDER BY id LIMIT @max;

-- name: SeedsStage :copyfrom
INSERT INTO staged_seeds (run_id, url) VALUES (@run_id, @url);

-- name: SeedsUnstage :exec
DELETE FROM staged_seeds WHERE run_id = @run_id AND id <= @last_id;

-- Returns the seeds of a run without an attempt, as crawl.AttemptFacts, on domains without a
-- workflow.
-- name: SeedsUnattempted :many
SELECT c.id, c.domain, now()::timestamptz AS now, (attempt_facts(ARRAY[c.id]))[1]::jsonb AS facts
FROM page_crawls AS c INNER JOIN domains AS d ON c.domain = d.domain
WHERE
    c.run_id = @run_id AND c.id > @after AND c.outcome IS NULL AND c.locked_at IS NULL
    AND c.depth = 0 AND c.previous_id IS NULL AND NOT c.prerequisite AND d.status <> 'blocked'
    AND (d.claim_expires_at IS NULL OR d.claim_expires_at < now())
ORDER BY c.id LIMIT @max;

-- Returns the https origins that failed recently and were never read, while their http origin was.
-- name: SeedOriginsOverHTTP :many
SELECT b.origin::text AS origin FROM unnest(@origins::text []) AS b (origin)
WHERE
    EXISTS (SELECT 1 FROM robots AS r WHERE r.origin = 'http' || substr(b.origin, 6) AND r.read_at IS NOT NULL)
    AND EXISTS (
        SELECT 1 FROM robots AS r
        WHERE r.origin = b.origin AND r.read_at IS NULL AND r.unanswered_count >= @tries::integer AND r.fetched_at > now() - ms_interval(@recent_ms::bigint)
    );

-- name: SeedFileStored :one
SELECT entries FROM seed_files WHERE run_id = @run_id AND file = @file AND version = @version;

-- name: SeedFileNote :exec
INSERT INTO seed_files AS l (run_id, file, version, entries) VALUES (@run_id, @file, @version, @entries)
ON CONFLICT (run_id, file) DO UPDATE SET
    version = excluded.version, updated_at = now(),
    entries = CASE WHEN l.version = excluded.version THEN greatest(l.entries, excluded.entries) ELSE excluded.entries END;

-- name: SeedFileForget :exec
DELETE FROM seed_files WHERE run_id = @run_id AND file = @file;
