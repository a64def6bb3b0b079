-- name: SeedsAdd :one
SELECT seeds_add(@run_id::bigint, @pages::jsonb)::integer AS added;

-- name: SeedsStaged :many
SELECT id, url FROM staged_seeds WHERE run_id = @run_id ORDER BY id LIMIT @max;

-- name: SeedsStage :copyfrom
INSERT INTO staged_seeds (run_id, url) VALUES (@run_id, @url);

-- name: SeedsUnstage :exec
DELETE FROM staged_seeds WHERE run_id = @run_id AND id <= @last_id;

-- Seeds that have not been tried yet, as crawl.CrawlFacts.
-- name: SeedsOpen :many
SELECT c.domain, crawl_facts(c.id)::jsonb AS facts
FROM pages AS p
INNER JOIN page_crawls AS c ON p.id = c.page_id AND c.run_id = @run_id
INNER JOIN domains AS d ON c.domain = d.domain
WHERE
    p.domain = ANY(@domains::text []) AND p.url = ANY(@urls::text [])
    AND c.outcome IS NULL AND c.locked_at IS NULL AND d.status <> 'blocked';
