-- Lists the links of a page, removed links last.
-- name: LinksOfPage :many
SELECT
    o.url, o.domain, l.kind, l.nofollow, coalesce(l.rel, 0)::smallint AS rel, coalesce(l.anchor, '')::text AS anchor,
    l.created_at, coalesce(l.last_seen, f.fetched_at) AS last_seen, l.gone_at
FROM page_links AS l INNER JOIN pages AS o ON l.to_page_id = o.id INNER JOIN pages AS f ON l.from_page_id = f.id
WHERE l.from_page_id = @id
ORDER BY (l.gone_at IS NOT NULL), o.domain, o.url LIMIT @max;

-- Lists the links to a page, removed links last. It reads at most bound of them.
-- name: LinksToPage :many
SELECT
    o.url, o.domain, l.kind, l.nofollow, coalesce(l.rel, 0)::smallint AS rel, coalesce(l.anchor, '')::text AS anchor,
    l.created_at, coalesce(l.last_seen, o.fetched_at) AS last_seen, l.gone_at
FROM (SELECT x.* FROM page_links AS x WHERE x.to_page_id = @id LIMIT @bound) AS l INNER JOIN pages AS o ON l.from_page_id = o.id
ORDER BY (l.gone_at IS NOT NULL), o.domain, o.url LIMIT @max;

-- Lists the domains that some pages of a domain link to, by the number of links.
-- name: LinksOfDomain :many
SELECT
    o.domain, count(*)::bigint AS links, count(*) FILTER (WHERE l.nofollow)::bigint AS nofollow,
    coalesce((array_agg(DISTINCT l.anchor) FILTER (WHERE l.anchor IS NOT NULL)) [1:3], '{}')::text [] AS anchors
FROM (SELECT x.id FROM pages AS x WHERE x.domain = @domain LIMIT @pages) AS p
CROSS JOIN LATERAL (
    SELECT x.to_page_id, x.nofollow, x.anchor FROM page_links AS x
    WHERE x.from_page_id = p.id AND x.gone_at IS NULL OFFSET 0 -- for each page along its index
) AS l CROSS JOIN LATERAL (SELECT x.domain FROM pages AS x WHERE x.id = l.to_page_id LIMIT 1) AS o
WHERE o.domain <> @domain
GROUP BY o.domain ORDER BY links DESC, o.domain LIMIT @max;

-- Lists the domains that link to the pages of a domain, in the same way.
-- name: LinksToDomain :many
SELECT
    o.domain, count(*)::bigint AS links, count(*) FILTER (WHERE l.nofollow)::bigint AS nofollow,
    coalesce((array_agg(DISTINCT l.anchor) FILTER (WHERE l.anchor IS NOT NULL)) [1:3], '{}')::text [] AS anchors
FROM (SELECT x.id FROM pages AS x WHERE x.domain = @domain LIMIT @pages) AS p
CROSS JOIN LATERAL (
    SELECT x.from_page_id, x.nofollow, x.anchor FROM page_links AS x
    WHERE x.to_page_id = p.id AND x.gone_at IS NULL OFFSET 0 -- for each page along its index
) AS l CROSS JOIN LATERAL (SELECT x.domain FROM pages AS x WHERE x.id = l.from_page_id LIMIT 1) AS o
WHERE o.domain <> @domain
GROUP BY o.domain ORDER BY links DESC, o.domain LIMIT @max;
