-- Returns the signs of a domain's owner (crawl.Owner), or an empty text.
-- name: OwnerGet :one
SELECT coalesce(owner::text, '')::text AS owner FROM domains WHERE domain = @domain;

-- Stores the signs of a domain's owner. It begins the time of another owner if is_new is set.
-- name: OwnerSet :exec
UPDATE domains SET
    owner = @owner::jsonb, owner_since = CASE WHEN @is_new::boolean THEN clock_timestamp() ELSE owner_since END
WHERE domain = @domain;

-- Lists pages that were read, with their last successful attempts.
-- name: OwnerPages :many
SELECT c.id, p.domain, p.fetched_at::timestamptz AS fetched_at
FROM unnest(@pages::bigint []) AS u (page_id) INNER JOIN pages AS p ON u.page_id = p.id CROSS JOIN LATERAL (
    SELECT x.id FROM page_crawls AS x WHERE x.page_id = p.id AND x.outcome = 'success' ORDER BY x.id DESC LIMIT 1
) AS c
WHERE p.fetched_at IS NOT NULL AND p.kind = ANY (kinds('document'));

-- Drops the ranks of pages.
-- name: OwnerDropRanks :exec
DELETE FROM page_ranks WHERE page_id = ANY(@pages::bigint []);
