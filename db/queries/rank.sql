-- name: RankDomains :one
SELECT domain_ranks_store(@domains::text [], @inlinks::integer [], @scores::real [])::integer AS changed;

-- name: RankDomainsGone :exec
SELECT domain_ranks_drop(@domains::text []);

-- name: RankedDomains :many
SELECT domain FROM domain_ranks;

-- The ranks of all pages with ids after one and up to another.
-- name: RankPages :one
SELECT page_ranks_store(@after::bigint, @upto::bigint, @pages::bigint [], @inlinks::integer [], @scores::real [])::integer AS changed;

-- name: RankRaisePages :one
SELECT page_ranks_raise(@pages::bigint [])::integer AS changed;

-- Gives pages that are found their worth; returns the last of them that was looked at, 0
-- at the end.
-- name: RankKeywords :one
SELECT coalesce(keywords_rank(@after::bigint, @most::integer), 0)::bigint AS last;

-- What other domains call pages: those given, and those with ids after one and up to
-- another that were called something.
-- name: RankAnchors :many
SELECT
    k.page_id, k.domain, coalesce(k.language, '')::text AS language, coalesce(a.from_domain, '')::text AS from_domain,
    coalesce(a.anchor, '')::text AS anchor
FROM page_keywords AS k LEFT JOIN LATERAL (
    SELECT f.domain AS from_domain, l.anchor
    FROM (
        SELECT x.from_page_id, x.anchor FROM page_links AS x
        WHERE
            x.to_page_id = k.page_id AND x.kind = 'link' AND x.gone_at IS NULL AND NOT x.nofollow
            AND x.anchor IS NOT NULL AND coalesce(x.rel, 0) & @rel::integer = 0
        LIMIT 100000
    ) AS l INNER JOIN pages AS f ON l.from_page_id = f.id
    WHERE f.domain <> k.domain LIMIT 500
) AS a ON true
WHERE
    k.page_id > @after::bigint AND k.page_id <= @upto::bigint
    AND (k.page_id = ANY(@pages::bigint []) OR k.own_positions IS NOT NULL)
ORDER BY k.page_id;

-- name: RankFold :one
SELECT anchors_fold(@terms::jsonb)::integer AS changed;

-- name: DomainRank :one
SELECT inlinks, score FROM domain_ranks WHERE domain = @domain;

-- name: PageRank :one
SELECT inlinks, score FROM page_ranks WHERE page_id = @page_id;

-- name: BestDomains :many
SELECT domain, inlinks, score FROM domain_ranks WHERE score > 0 ORDER BY score DESC, domain LIMIT @max;
