-- Rows in batches: first the keys of a batch, by a few steps along an index, then its rows. A
-- filter removes rows of a batch and never extends the search, so that no statement takes longer.

-- name: ExportPageKeys :many
SELECT id FROM pages WHERE id > @after ORDER BY id LIMIT @max;

-- name: ExportPageKeysOfDomain :many
SELECT id, url FROM pages WHERE domain = @domain AND url > @after ORDER BY url LIMIT @max;

-- name: ExportPages :many
SELECT
    p.id, p.url, p.domain, p.origin, p.kind, p.status, p.language, p.signals, p.noindex, p.nofollow, p.usage,
    p.duplicate, p.trap, p.content_hash, p.simhash, p.extractor, p.last_modified, p.fresh_until, p.created_at,
    p.fetched_at, p.failed_at, c.outcome, c.status_code, c.content_type
FROM pages AS p
LEFT JOIN LATERAL (
    SELECT y.outcome, y.status_code, y.content_type FROM (
        SELECT x.id, x.completed_at, x.outcome, x.status_code, x.content_type FROM page_crawls AS x
        WHERE x.page_id = p.id AND x.outcome <> 'skipped' AND coalesce(x.run_id = sqlc.narg(run_id)::bigint, true)
        OFFSET 0 -- reads the attempts at the page instead of all attempts by time
    ) AS y
    ORDER BY y.completed_at DESC, y.id DESC LIMIT 1
) AS c ON true
WHERE
    p.id = ANY(@ids::bigint []) AND coalesce(c.outcome = sqlc.narg(outcome)::crawl_outcome, sqlc.narg(outcome)::crawl_outcome IS NULL)
    AND (sqlc.narg(run_id)::bigint IS NULL OR EXISTS (
        SELECT 1 FROM page_crawls AS x WHERE x.page_id = p.id AND x.run_id = sqlc.narg(run_id)::bigint
    ))
    AND (p.fetched_at >= sqlc.narg(since)::timestamptz OR sqlc.narg(since)::timestamptz IS NULL)
    AND (
        p.language = @language::text OR starts_with(p.language, @language::text || '-') OR @language::text = ''
    );

-- Returns the page of each of the next links; a page with several links repeats.
-- name: ExportLinkKeys :many
SELECT from_page_id FROM page_links WHERE from_page_id > @after ORDER BY from_page_id LIMIT @max;

-- name: ExportLinks :many
SELECT
    f.id AS from_id, f.url AS from_url, f.domain AS from_domain, o.id AS to_id, o.url, o.domain, l.kind, l.nofollow,
    coalesce(l.rel, 0)::smallint AS rel, coalesce(l.anchor, '')::text AS anchor,
    l.created_at, coalesce(l.last_seen, f.fetched_at) AS last_seen, l.gone_at
FROM page_links AS l INNER JOIN pages AS f ON l.from_page_id = f.id INNER JOIN pages AS o ON l.to_page_id = o.id
WHERE
    l.from_page_id = ANY(@ids::bigint [])
    AND (
        l.created_at >= sqlc.narg(since)::timestamptz OR l.gone_at >= sqlc.narg(since)::timestamptz
        OR sqlc.narg(since)::timestamptz IS NULL
    );

-- name: ExportCrawlKeys :many
SELECT id, created_at FROM page_crawls WHERE id > @after ORDER BY id LIMIT @max;

-- Uses the order of the index alone: sorting by id would read all rows of the domain.
-- name: ExportCrawlKeysOfDomain :many
SELECT id, completed_at::timestamptz AS completed_at FROM page_crawls
WHERE domain = @domain AND outcome IS NOT NULL AND completed_at > @after::timestamptz
ORDER BY completed_at FETCH FIRST (@max::bigint) ROWS WITH TIES;

-- name: ExportCrawls :many
SELECT
    c.id, c.page_id, c.previous_id, (SELECT r.name FROM crawl_runs AS r WHERE r.id = c.run_id)::text AS run, c.domain, c.url, c.kind, c.prerequisite, c.outcome, c.status_code,
    c.error_message, c.skipped, c.unchanged_reason, c.content_type, c.bytes, c.truncated, coalesce(host(c.ip), '')::text AS ip,
    c.depth, c.redirects, c.scheduled_for, c.completed_at::timestamptz AS completed_at, c.duration_ms, c.delay_ms,
    c.delay_reason, c.retry_after_ms, c.lost,
    coalesce((SELECT w.identity FROM workers AS w WHERE w.id = c.worker), '')::text AS worker, c.attempt, c.is_revisit,
    c.robots_version, c.ip_delay_ms, coalesce(c.subnet::text, '')::text AS subnet, c.subnet_delay_ms, c.registered, c.registered_delay_ms,
    c.archived
FROM page_crawls AS c
WHERE
    c.id = ANY(@ids::bigint []) AND c.outcome IS NOT NULL AND coalesce(c.run_id = sqlc.narg(run_id)::bigint, true)
    AND coalesce(c.outcome = sqlc.narg(outcome)::crawl_outcome, true)
    AND (c.completed_at >= sqlc.narg(since)::timestamptz OR sqlc.narg(since)::timestamptz IS NULL)
    AND (c.completed_at < sqlc.narg(before)::timestamptz OR sqlc.narg(before)::timestamptz IS NULL)
    AND (NOT @movable::boolean OR (SELECT x.movable FROM counted_attempts AS x WHERE x.id = c.id));

-- Deletes attempts that a file contains, and counts them with their domains. Attempts that
-- something needs again stay, for example after a restore. The caller sets mosey.allow_delete.
-- name: AttemptsDeleteMoved :one
WITH gone AS (
    DELETE FROM page_crawls AS c
    WHERE
        c.id = ANY(@ids::bigint []) AND c.completed_at = (@ended::timestamptz [])[array_position(@ids::bigint [], c.id)]
        AND (SELECT x.movable FROM counted_attempts AS x WHERE x.id = c.id)
    RETURNING c.id
), counted AS (
    UPDATE run_domains AS rd SET moved_totals = ARRAY(SELECT coalesce(rd.moved_totals[i], 0) + t.counts[i] FROM generate_series(1, 9) AS i)
    FROM (
        SELECT
            x.run_id, x.domain, ARRAY[
                count(*) FILTER (WHERE x.total = 'success'), count(*) FILTER (WHERE x.total = 'failed'),
                count(*) FILTER (WHERE x.total = 'timeout'), count(*) FILTER (WHERE x.total = 'blocked_robots'),
                count(*) FILTER (WHERE x.total = 'blocked_4xx'), count(*) FILTER (WHERE x.total = 'blocked_5xx'),
                count(*) FILTER (WHERE x.total = 'skipped'), coalesce(sum(x.total_bytes), 0)::bigint, count(*)
            ] AS counts
        FROM gone AS g CROSS JOIN LATERAL (
            SELECT y.run_id, y.domain, y.total, y.total_bytes FROM counted_attempts AS y WHERE y.id = g.id OFFSET 0
        ) AS x
        GROUP BY x.run_id, x.domain ORDER BY x.domain, x.run_id
    ) AS t
    WHERE rd.run_id = t.run_id AND rd.domain = t.domain
)
SELECT count(*)::bigint AS moved FROM gone;

-- Stores the instant before which attempts may have been moved.
-- name: MovedNote :exec
UPDATE installation SET moved_before = greatest(moved_before, @before::timestamptz);

-- Returns that instant, and the number of moved attempts of a domain.
-- name: MovedGet :one
SELECT i.moved_before, (
    SELECT coalesce(sum(rd.moved_totals[9]), 0) FROM run_domains AS rd WHERE rd.domain = @domain::text AND i.moved_before IS NOT NULL
)::bigint AS attempts
FROM installation AS i;

-- name: ExportDomainKeys :many
SELECT id FROM domains WHERE id > @after ORDER BY id LIMIT @max;

-- name: ExportDomainKey :many
SELECT id FROM domains WHERE domain = @domain AND id > @after;

-- name: ExportDomains :many
SELECT
    sqlc.embed(d), o.crawl_delay_ms,
    ARRAY(
        SELECT x.kind FROM domain_controls AS x
        WHERE x.domain = d.domain AND x.lifted_at IS NULL AND coalesce(x.until > now(), true) ORDER BY x.kind
    )::text [] AS controls,
    ARRAY(
        SELECT DISTINCT s.url FROM robots AS x CROSS JOIN unnest(x.sitemaps) AS s (url)
        WHERE x.domain = d.domain ORDER BY s.url
    )::text [] AS sitemaps,
    t.runs, t.seed, t.requests, t.success, t.failed, t.skipped, t.timeout, t.blocked_robots, t.blocked_4xx, t.blocked_5xx,
    t.nofollow, t.bytes, t.images_found, t.images_started, t.images_stored
FROM domains AS d
CROSS JOIN LATERAL (
    SELECT coalesce(max(x.crawl_delay_ms), 0)::bigint AS crawl_delay_ms FROM robots AS x WHERE x.domain = d.domain
) AS o
CROSS JOIN LATERAL (
    SELECT
        count(*)::bigint AS runs, coalesce(bool_or(x.seed), false)::boolean AS seed,
        coalesce(sum(x.requests), 0)::bigint AS requests, coalesce(sum(x.success), 0)::bigint AS success,
        coalesce(sum(x.failed), 0)::bigint AS failed, coalesce(sum(x.skipped), 0)::bigint AS skipped,
        coalesce(sum(x.timeout), 0)::bigint AS timeout, coalesce(sum(x.blocked_robots), 0)::bigint AS blocked_robots,
        coalesce(sum(x.blocked_4xx), 0)::bigint AS blocked_4xx, coalesce(sum(x.blocked_5xx), 0)::bigint AS blocked_5xx,
        coalesce(sum(x.nofollow), 0)::bigint AS nofollow, coalesce(sum(x.bytes), 0)::bigint AS bytes,
        coalesce(sum(x.images_found), 0)::bigint AS images_found, coalesce(sum(x.images_started), 0)::bigint AS images_started,
        coalesce(sum(x.images_stored), 0)::bigint AS images_stored
    FROM run_domains AS x WHERE x.domain = d.domain AND coalesce(x.run_id = sqlc.narg(run_id)::bigint, true)
) AS t
WHERE d.id = ANY(@ids::bigint []) AND (t.runs > 0 OR sqlc.narg(run_id)::bigint IS NULL);
