-- name: PageGet :one
SELECT * FROM pages WHERE domain = @domain AND url = @url;

-- name: PageCrawls :many
SELECT
    c.id, r.name AS run, c.kind, c.previous_id, c.scheduled_for, c.locked_at, c.completed_at, c.outcome,
    c.status_code, c.error_message, c.depth, c.redirects, c.duration_ms, c.bytes, c.truncated, c.content_type, c.skipped, c.unchanged,
    coalesce(host(c.ip), '')::text AS ip, c.created_at
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE c.page_id = @page_id ORDER BY c.created_at DESC, c.id DESC LIMIT @max;

-- name: PageLinkCounts :one
SELECT
    (SELECT count(*) FROM page_links AS l WHERE l.from_page_id = @id)::bigint AS outgoing,
    (SELECT count(*) FROM page_links AS l WHERE l.to_page_id = @id)::bigint AS incoming;

-- name: PageRedirect :one
SELECT p.url FROM page_links AS l INNER JOIN pages AS p ON l.to_page_id = p.id
WHERE l.from_page_id = @id AND l.kind = 'redirect'
ORDER BY l.created_at DESC LIMIT 1;
