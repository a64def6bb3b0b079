-- Returns the last archived record of a page that has its complete payload.
-- name: ArchivedLast :many
SELECT c.archived
FROM pages AS p CROSS JOIN LATERAL (
    SELECT x.archived FROM page_crawls AS x
    WHERE x.page_id = p.id AND x.archived IS NOT NULL AND NOT x.archived ?| '{revisit,truncated}' ORDER BY x.id DESC LIMIT 1
) AS c
WHERE p.domain = @domain AND p.url = @url;

-- Lists the origins of archived responses, of a run or of all.
-- name: ArchivedOrigins :many
SELECT DISTINCT p.domain, p.origin
FROM page_crawls AS c INNER JOIN pages AS p ON c.page_id = p.id
WHERE c.archived IS NOT NULL AND (c.run_id = sqlc.narg(run_id)::bigint OR sqlc.narg(run_id)::bigint IS NULL);

-- Lists the archived responses of an origin, of a run or of all.
-- name: ArchivedOfOrigin :many
SELECT
    c.url, coalesce(c.status_code, 0)::smallint AS status_code, coalesce(c.content_type, '')::text AS content_type,
    c.kind, coalesce(p.signals ->> 'title', '')::text AS title, c.archived
FROM pages AS p INNER JOIN page_crawls AS c ON p.id = c.page_id
WHERE
    p.domain = @domain AND p.origin = @origin AND c.archived IS NOT NULL
    AND (c.run_id = sqlc.narg(run_id)::bigint OR sqlc.narg(run_id)::bigint IS NULL)
ORDER BY c.id;

-- Lists the pages after an id with archived responses, by id.
-- name: ArchivedPageIDs :many
SELECT DISTINCT c.page_id FROM page_crawls AS c WHERE c.archived IS NOT NULL AND c.page_id > @after ORDER BY c.page_id LIMIT @max;

-- Lists the given pages if their stored version is archived, with the record of its payload and the
-- facts for reading it.
-- name: ArchivedPages :many
SELECT
    p.url, p.fetched_at::timestamptz AS fetched_at, c.archived, r.name AS run, r.settings, (attempt_facts(ARRAY[c.id]))[1]::jsonb AS facts
FROM unnest(@pages::bigint []) AS u (page_id) INNER JOIN pages AS p ON u.page_id = p.id CROSS JOIN LATERAL (
    SELECT y.id, y.run_id, y.archived, y.status_code FROM page_crawls AS y
    WHERE y.page_id = u.page_id AND y.archived IS NOT NULL AND NOT y.archived ?| '{revisit,truncated}' ORDER BY y.id DESC LIMIT 1
) AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE
    c.status_code BETWEEN 200 AND 299 AND p.kind = ANY (kinds('document')) AND p.status = 'fetched'
    AND (coalesce(p.extractor, 0) < @extractor::integer OR @every_page::boolean)
    AND EXISTS (
        SELECT 1 FROM page_crawls AS y WHERE y.page_id = u.page_id AND y.archived IS NOT NULL AND y.completed_at = p.fetched_at
    );

-- Stores the findings of pages that were read again from the archive (crawl.Attempt), unless a page
-- has been requested since. It adds nothing to a run. It returns the number of pages.
-- name: PagesReread :one
WITH locked AS MATERIALIZED (
    SELECT p.id, p.fetched_at, p.duplicate, e.n, e.doc
    FROM jsonb_array_elements(@attempts::jsonb) WITH ORDINALITY AS e (doc, n)
    INNER JOIN page_crawls AS c ON (e.doc ->> 'attempt_id')::bigint = c.id INNER JOIN pages AS p ON c.page_id = p.id
    WHERE p.fetched_at = (e.doc ->> 'ended_at')::timestamptz
    ORDER BY p.domain, p.url FOR UPDATE OF p
), closed AS MATERIALIZED (
    SELECT coalesce(array_agg((
        l.n, l.doc - 'index', c.domain, c.id, l.fetched_at, false, c.run_id, c.page_id, c.url, c.kind, c.priority, c.depth, c.redirects,
        c.prerequisite, l.fetched_at, l.duplicate
    )::closed_attempt ORDER BY c.domain), '{}') AS attempts
    FROM locked AS l INNER JOIN page_crawls AS c ON (l.doc ->> 'attempt_id')::bigint = c.id
), stored AS MATERIALIZED (
    SELECT
        pages_update(v.attempts, '{}'), keywords_record(@attempts::jsonb, v.attempts), links_record(@attempts::jsonb, v.attempts),
        cardinality(v.attempts) AS pages
    FROM closed AS v
)
SELECT s.pages::bigint FROM stored AS s;
