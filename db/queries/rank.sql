-- Stores the scores of domains, and updates their priorities for the dispatcher.
-- name: RankDomains :one
WITH changed AS (
    INSERT INTO domain_ranks AS r (domain, inlinks, score)
    SELECT u.domain, u.inlinks, u.score
    FROM (
        SELECT unnest(@domains::text []) AS domain, unnest(@inlinks::integer []) AS inlinks, unnest(@scores::real []) AS score
    ) AS u
    ORDER BY u.domain
    ON CONFLICT (domain) DO UPDATE SET inlinks = excluded.inlinks, score = excluded.score
    WHERE r.inlinks <> excluded.inlinks OR abs(r.score - excluded.score) > 0.001
    RETURNING r.domain
)
SELECT count(*)::integer AS changed, domains_prioritize(coalesce(array_agg(c.domain), '{}'))::integer AS moved FROM changed AS c;

-- Drops the ranks of domains without incoming links.
-- name: RankDomainsDrop :one
WITH gone AS (DELETE FROM domain_ranks AS r WHERE r.domain = ANY(@domains::text []) RETURNING r.domain)
SELECT domains_prioritize(coalesce(array_agg(g.domain), '{}'))::integer AS moved FROM gone AS g;

-- name: RankedDomains :many
SELECT domain FROM domain_ranks;

-- Stores the scores of the pages with ids after one and up to another. Other pages there lose their
-- rank and their raised priority.
-- name: RankPages :one
WITH gone AS (
    -- EXCEPT is hashed, whatever the planner assumes about the tables
    DELETE FROM page_ranks AS r WHERE r.page_id = ANY(ARRAY(
        SELECT x.page_id FROM page_ranks AS x WHERE x.page_id > @after::bigint AND x.page_id <= @up_to_id::bigint
        EXCEPT SELECT unnest(@pages::bigint [])
    ))
    RETURNING r.page_id
), lowered AS (
    UPDATE page_crawls AS c SET priority = page_priority(c.depth, 0, 0)
    WHERE
        c.page_id = ANY(ARRAY(SELECT g.page_id FROM gone AS g)) AND c.completed_at IS NULL AND c.locked_at IS NULL
        AND c.previous_id IS NULL AND NOT c.prerequisite AND c.kind = ANY (kinds('document')) AND c.priority > -c.depth AND c.priority <= 0
), stored AS (
    INSERT INTO page_ranks AS r (page_id, inlinks, score)
    SELECT u.page_id, u.inlinks, u.score
    FROM (
        SELECT unnest(@pages::bigint []) AS page_id, unnest(@inlinks::integer []) AS inlinks, unnest(@scores::real []) AS score
    ) AS u
    ON CONFLICT (page_id) DO UPDATE SET inlinks = excluded.inlinks, score = excluded.score
    WHERE r.inlinks <> excluded.inlinks OR abs(r.score - excluded.score) > 0.001
    RETURNING r.page_id
)
SELECT ((SELECT count(*) FROM gone) + (SELECT count(*) FROM stored))::integer AS changed;

-- Orders pending pages by their new scores. Retries, pages that a feed has named, and pages that a
-- pattern delays keep their priority.
-- name: RankRaisePages :execrows
UPDATE page_crawls AS c SET priority = x.priority
FROM (
    SELECT y.id, page_priority(y.depth, r.score, 0) AS priority
    FROM unnest(@pages::bigint []) AS u (page_id) CROSS JOIN LATERAL (
        SELECT s.page_id, s.score FROM page_ranks AS s WHERE s.page_id = u.page_id LIMIT 1
    ) AS r CROSS JOIN LATERAL (
        SELECT z.id, z.depth, z.priority FROM page_crawls AS z
        WHERE
            z.page_id = r.page_id AND z.completed_at IS NULL AND z.locked_at IS NULL AND z.previous_id IS NULL
            AND NOT z.prerequisite AND z.kind = ANY (kinds('document')) AND z.priority BETWEEN -z.depth AND 0
    ) AS y
    WHERE y.priority <> page_priority(y.depth, r.score, 0)
    ORDER BY y.id
) AS x
WHERE c.id = x.id AND c.completed_at IS NULL AND c.locked_at IS NULL;

-- Returns the texts of links from other domains to the given pages, and to pages in a range of ids
-- that had such texts. A page whose original is on another domain has the links of its original,
-- and does not count. The column usage is about the linking page.
-- name: RankAnchors :many
SELECT
    k.page_id, k.domain, coalesce(k.language, '')::text AS language, coalesce(a.from_domain, '')::text AS from_domain,
    coalesce(a.anchor, '')::text AS anchor, a.usage
FROM page_keywords AS k LEFT JOIN LATERAL (
    SELECT f.domain AS from_domain, f.usage, l.anchor
    FROM (
        SELECT x.from_page_id, x.anchor FROM page_links AS x
        WHERE
            x.to_page_id = k.page_id AND x.kind = 'link' AND x.gone_at IS NULL AND NOT x.nofollow
            AND x.anchor IS NOT NULL AND coalesce(x.rel, 0) & @rel::integer = 0
            AND x.created_at >= coalesce((SELECT d.owner_since FROM domains AS d WHERE d.domain = k.domain), '-infinity')
        LIMIT 100000
    ) AS l INNER JOIN pages AS f ON l.from_page_id = f.id
    WHERE
        f.domain <> k.domain AND NOT f.nofollow
        AND coalesce(
            strpos(f.signals ->> 'canonical_url', '//' || f.domain) + strpos(f.signals ->> 'canonical_url', '//www.' || f.domain) > 0, true
        )
    LIMIT 500
) AS a ON true
WHERE
    k.page_id > @after::bigint AND k.page_id <= @up_to_id::bigint
    AND (k.page_id = ANY(@pages::bigint []) OR k.anchor_terms IS NOT NULL)
ORDER BY k.page_id;

-- name: DomainRank :one
SELECT inlinks, score FROM domain_ranks WHERE domain = @domain;

-- name: PageRank :one
SELECT inlinks, score FROM page_ranks WHERE page_id = @page_id;

-- name: BestDomains :many
SELECT domain, inlinks, score FROM domain_ranks WHERE score > 0 ORDER BY score DESC, domain LIMIT @max;
