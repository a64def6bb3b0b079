-- name: PageGet :one
SELECT * FROM pages WHERE domain = @domain AND url = @url;

-- name: PageCrawls :many
SELECT
    c.id, r.name AS run, c.kind, c.previous_id, c.scheduled_for, c.locked_at, c.completed_at, c.outcome,
    c.status_code, c.error_message, c.depth, c.redirects, c.duration_ms, c.bytes, c.truncated, c.content_type, c.skipped, c.unchanged_reason,
    coalesce(host(c.ip), '')::text AS ip, c.created_at,
    coalesce((SELECT w.identity FROM workers AS w WHERE w.id = c.worker), '')::text AS worker
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE c.page_id = @page_id ORDER BY c.created_at DESC, c.id DESC LIMIT @max;

-- Counts the links of a page and the links to it, up to a bound.
-- name: PageLinkCounts :one
SELECT o.outgoing, i.incoming, i.nofollow
FROM (
    SELECT count(*)::bigint AS outgoing FROM page_links AS l WHERE l.from_page_id = @id AND l.gone_at IS NULL
) AS o CROSS JOIN (
    SELECT count(*)::bigint AS incoming, (count(*) FILTER (WHERE t.nofollow))::bigint AS nofollow
    FROM (
        SELECT l.nofollow FROM page_links AS l WHERE l.to_page_id = @id AND l.gone_at IS NULL LIMIT @bound
    ) AS t
) AS i;

-- Lists the runs that have read a page with a link to this page, without nofollow.
-- name: PageLinkingRuns :many
SELECT
    r.name, r.settings, min(c.depth)::integer AS depth, bool_or(coalesce(rd.seed, false)) AS seeded,
    bool_or(rd.run_id IS NOT NULL) AS has_domain, (
        SELECT count(*) FROM run_domains AS x INNER JOIN registered_domains AS g ON x.registered = g.registered
        WHERE x.run_id = r.id AND g.domain = @domain
    )::bigint AS subdomains
FROM (
    SELECT l.from_page_id FROM page_links AS l WHERE l.to_page_id = @id AND NOT l.nofollow LIMIT @max
) AS f
CROSS JOIN LATERAL (
    SELECT x.run_id, x.depth FROM page_crawls AS x
    WHERE x.page_id = f.from_page_id AND x.outcome = 'success' OFFSET 0 -- for each page along its index
) AS c
INNER JOIN crawl_runs AS r ON c.run_id = r.id
LEFT JOIN run_domains AS rd ON r.id = rd.run_id AND rd.domain = @domain
GROUP BY r.id ORDER BY r.id DESC;

-- Counts the pages of a domain that is known from links alone, and returns the first one.
-- name: DomainPages :one
SELECT
    count(*)::bigint AS pages,
    coalesce(min(p.url), '')::text AS first
FROM (SELECT x.url FROM pages AS x WHERE x.domain = @domain LIMIT @bound) AS p;

-- name: PageRedirect :one
SELECT p.url FROM page_links AS l INNER JOIN pages AS p ON l.to_page_id = p.id
WHERE l.from_page_id = @id AND l.kind = 'redirect' AND l.gone_at IS NULL
ORDER BY l.created_at DESC LIMIT 1;
