-- name: SeedsAdd :one
SELECT seeds_add(@run_id::bigint, @urls::text [], @domains::text [], @origins::text [])::integer AS added;

-- name: SeedsStaged :many
SELECT id, url FROM staged_seeds WHERE run_id = @run_id ORDER BY id LIMIT @max;

-- name: SeedsStage :copyfrom
INSERT INTO staged_seeds (run_id, url) VALUES (@run_id, @url);

-- name: SeedsUnstage :exec
DELETE FROM staged_seeds WHERE run_id = @run_id AND id <= @last_id;

-- Seeds that have not been tried yet, with what their robots.txt says.
-- name: SeedsOpen :many
SELECT
    c.id, c.url, c.domain, p.origin,
    coalesce(ro.verdict::text, '')::text AS robots_verdict,
    coalesce((extract(EPOCH FROM ro.fetched_at) * 1e6)::bigint, 0)::bigint AS robots_version,
    coalesce(ms_between(clock_timestamp(), ro.expires_at), 0)::bigint AS robots_fresh_ms,
    coalesce(ro.reason, '')::text AS robots_reason,
    (ro.tdm IS NOT NULL)::boolean AS tdm_known
FROM unnest(@urls::text []) AS u (url)
INNER JOIN pages AS p ON u.url = p.url
INNER JOIN page_crawls AS c ON p.id = c.page_id AND c.run_id = @run_id
INNER JOIN domains AS d ON c.domain = d.domain
LEFT JOIN robots AS ro ON p.origin = ro.origin
WHERE c.outcome IS NULL AND c.locked_at IS NULL AND NOT d.banned;
