-- The erasure by mosey block --forget, and the operators who requested it.

-- A second request before the end resumes the erasure.
-- name: ErasureRequest :exec
INSERT INTO domain_erasures AS f (domain, requested_by, reason) VALUES (@domain, @requested_by, @reason)
ON CONFLICT (domain) DO UPDATE SET
    requested_at = CASE WHEN f.done_at IS NULL THEN f.requested_at ELSE now() END,
    requested_by = excluded.requested_by, reason = excluded.reason, done_at = NULL;

-- name: ErasureComplete :exec
UPDATE domain_erasures SET done_at = clock_timestamp() WHERE domain = @domain AND done_at IS NULL;

-- name: ErasureGet :one
SELECT * FROM domain_erasures WHERE domain = @domain;

-- Lists domains that may still have texts.
-- name: ErasuresPending :many
SELECT * FROM domain_erasures WHERE done_at IS NULL ORDER BY domain LIMIT @max;

-- Returns the end of the lease of a request to a domain, and of its claim; the epoch means no lease
-- or claim.
-- name: ForgetInFlight :one
SELECT
    coalesce((
        SELECT s.free_at FROM politeness_slots AS s WHERE s.key = 'domain:' || @domain::text AND s.holder IS NOT NULL
    ), 'epoch')::timestamptz AS lease,
    coalesce((
        SELECT d.claim_expires_at FROM domains AS d
        WHERE d.domain = @domain::text AND d.claimed_by IS NOT NULL AND d.claim_expires_at > clock_timestamp()
    ), 'epoch')::timestamptz AS claim;

-- Returns the next pages of a domain, in the order of their URLs.
-- name: ForgetNext :many
SELECT p.id, p.url FROM pages AS p WHERE p.domain = @domain AND p.url > @after ORDER BY p.domain, p.url LIMIT @max;

-- name: ForgetPages :one
SELECT pages_forget(@pages::bigint [])::bigint AS changed;

-- Returns the images on other hosts that pages name, by the ids of their own pages.
-- name: ForgetForeignImages :many
SELECT DISTINCT i.page_id FROM provenance AS o INNER JOIN images AS i ON o.image_id = i.id
WHERE o.page_id = ANY(@pages::bigint []) AND i.domain <> @domain;

-- Returns the given images that no page of another domain names now.
-- name: ForgetUnsharedImages :many
SELECT i.page_id FROM images AS i
WHERE
    i.page_id = ANY(@pages::bigint []) AND NOT EXISTS (
        SELECT 1 FROM provenance AS o WHERE o.image_id = i.id AND o.gone_at IS NULL AND o.source_domain <> @domain
    )
ORDER BY i.page_id;

-- Returns the contents that no other image has, their images, and whether their bytes are stored.
-- name: ForgetContents :many
SELECT
    c.sha256_hash, (c.stored_at IS NOT NULL OR c.thumbnail_at IS NOT NULL)::boolean AS stored, x.pages::bigint [] AS pages
FROM (
    SELECT i.sha256_hash, array_agg(i.page_id) AS pages FROM images AS i
    WHERE i.page_id = ANY(@pages::bigint []) AND i.sha256_hash IS NOT NULL GROUP BY i.sha256_hash
) AS x
CROSS JOIN LATERAL (
    SELECT y.sha256_hash, y.stored_at, y.thumbnail_at FROM image_contents AS y WHERE y.sha256_hash = x.sha256_hash LIMIT 1
) AS c
WHERE NOT EXISTS (
    SELECT 1 FROM images AS i WHERE i.sha256_hash = x.sha256_hash AND i.page_id <> ALL(@pages::bigint [])
)
ORDER BY c.sha256_hash;

-- name: ForgetImages :one
SELECT images_forget(@pages::bigint [])::bigint AS changed;

-- Returns contents after one, and whether an image has each of them.
-- name: ForgetContentsAfter :many
SELECT
    c.sha256_hash, (c.stored_at IS NOT NULL OR c.thumbnail_at IS NOT NULL)::boolean AS stored,
    EXISTS (SELECT 1 FROM images AS i WHERE i.sha256_hash = c.sha256_hash) AS is_used
FROM image_contents AS c WHERE c.sha256_hash > @after ORDER BY c.sha256_hash LIMIT @max;

-- name: ForgetContentsDrop :one
SELECT image_contents_drop(@hashes::text [])::bigint AS dropped;

-- Returns the open attempts at pages.
-- name: ForgetPending :many
SELECT
    c.id, c.domain, c.url, c.kind, (c.locked_at IS NOT NULL)::boolean AS in_flight,
    coalesce((SELECT r.name FROM crawl_runs AS r WHERE r.id = c.run_id), '')::text AS run
FROM unnest(@pages::bigint []) AS u (page_id) CROSS JOIN LATERAL (
    SELECT x.* FROM page_crawls AS x WHERE x.page_id = u.page_id AND x.completed_at IS NULL
) AS c
ORDER BY c.id;

-- Returns linked pages of other domains that a search finds by the texts of links.
-- name: ForgetAnchoredPages :many
SELECT DISTINCT k.page_id FROM page_links AS l INNER JOIN page_keywords AS k ON l.to_page_id = k.page_id
WHERE l.from_page_id = ANY(@pages::bigint []) AND k.domain <> @domain AND k.anchor_terms IS NOT NULL
ORDER BY k.page_id;

-- Returns the indexed pages of other domains that pages link to.
-- name: ForgetLinked :many
SELECT DISTINCT k.page_id FROM page_links AS l INNER JOIN page_keywords AS k ON l.to_page_id = k.page_id
WHERE l.from_page_id = ANY(@pages::bigint []) AND k.domain <> @domain
ORDER BY k.page_id;

-- Erases the stored robots.txt files of a domain, and the signs of its owner. Returns the number of
-- files.
-- name: ForgetRobots :one
WITH gone AS (
    DELETE FROM robots AS r WHERE r.domain = @domain RETURNING r.origin
), signs AS (
    UPDATE domains AS d SET owner = NULL WHERE d.domain = @domain AND d.owner IS NOT NULL
)
SELECT count(x.forgotten)::bigint AS changed FROM (SELECT robots_forget(g.origin, 0)::text AS forgotten FROM gone AS g) AS x;

-- Counts the given pages that belong to a domain.
-- name: ForgetCount :one
SELECT count(*)::bigint AS pages FROM unnest(@pages::bigint []) AS u (page_id)
WHERE (SELECT x.domain FROM pages AS x WHERE x.id = u.page_id LIMIT 1) = @domain::text;

-- Erases the counts and shared texts of the next patterns of a domain. Returns the last pattern,
-- and the number of changed patterns.
-- name: ForgetPatterns :one
WITH next AS (
    SELECT u.pattern FROM url_patterns AS u WHERE u.domain = @domain AND u.pattern > @after ORDER BY u.domain, u.pattern LIMIT @max
), forgotten AS (
    UPDATE url_patterns AS u SET
        seen = 0, duplicates = 0, copies = 0, shared_text = NULL, fingerprints = NULL, updated_at = clock_timestamp()
    WHERE
        u.domain = @domain AND u.pattern = ANY(ARRAY(SELECT n.pattern FROM next AS n))
        AND (u.seen > 0 OR u.duplicates > 0 OR u.copies > 0 OR num_nonnulls(u.shared_text, u.fingerprints) > 0)
    RETURNING u.pattern
)
SELECT coalesce((SELECT max(n.pattern) FROM next AS n), '')::text AS last, (SELECT count(*) FROM forgotten)::bigint AS changed;

-- Returns the archived responses of pages.
-- name: ForgetArchived :many
SELECT c.id, c.archived
FROM unnest(@pages::bigint []) AS u (page_id) CROSS JOIN LATERAL (
    SELECT x.id, x.archived FROM page_crawls AS x WHERE x.page_id = u.page_id AND x.archived IS NOT NULL
) AS c
ORDER BY c.id;

-- Stores that responses are no longer in the archive.
-- name: ForgetArchivedDone :exec
UPDATE page_crawls SET archived = NULL WHERE id = ANY(@ids::bigint []) AND archived IS NOT NULL;
