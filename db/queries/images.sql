-- name: ImageContentFacts :one
SELECT (stored_at IS NOT NULL)::boolean AS stored, (thumbnail_at IS NOT NULL OR undecoded_reason IS NOT NULL)::boolean AS thumbnail
FROM image_contents WHERE sha256_hash = @sha256::text;

-- Lists images, the latest first. With a domain it lists the images that its pages name.
-- name: ImageList :many
SELECT i.page_id FROM images AS i
WHERE
    (
        sqlc.narg('domain')::text IS NULL
        OR i.id IN (SELECT p.image_id FROM provenance AS p WHERE p.source_domain = sqlc.narg('domain')::text AND p.gone_at IS NULL)
    )
    AND CASE
        WHEN @failed::boolean THEN NOT i.download_success
        WHEN @pending::boolean THEN i.download_success IS NULL
        ELSE i.download_success
    END
    AND coalesce(i.width, 0) >= @min_width::integer AND coalesce(i.height, 0) >= @min_height::integer
    AND (sqlc.narg('format')::text IS NULL OR i.format = sqlc.narg('format')::text)
    AND (sqlc.narg('problem')::text IS NULL OR i.problem = sqlc.narg('problem')::text)
ORDER BY i.id DESC LIMIT @max;

-- Returns images by the ids of their pages, with the data of the first pages that name them. It
-- counts these pages up to a bound.
-- name: ImagesGet :many
SELECT
    i.id::text AS id, i.page_id, i.url, i.domain, coalesce(i.sha256_hash, '')::text AS sha256_hash,
    coalesce(i.content_type, '')::text AS content_type,
    coalesce(i.width, 0)::integer AS width, coalesce(i.height, 0)::integer AS height, coalesce(i.format, '')::text AS format,
    coalesce(i.file_size_bytes, 0)::bigint AS file_size_bytes, i.phash, i.dhash,
    i.discovered_at, i.last_seen_at, i.download_success, coalesce(i.problem, '')::text AS problem,
    coalesce(c.frames, 0)::integer AS frames, coalesce(c.undecoded_reason, '')::text AS undecoded_reason,
    coalesce(c.low_detail, false)::boolean AS low_detail,
    coalesce(c.camera, '')::text AS camera, c.taken_at, coalesce(c.creator, '')::text AS creator,
    coalesce(c.credit, '')::text AS credit, coalesce(c.copyright, '')::text AS copyright,
    coalesce(c.license, '')::text AS license, c.stored_at, c.thumbnail_at,
    o.source_page_url, o.discovery_type, o.alt, o.caption, o.pages
FROM images AS i LEFT JOIN image_contents AS c ON i.sha256_hash = c.sha256_hash CROSS JOIN LATERAL (
    SELECT
        coalesce((array_agg(p.source_page_url ORDER BY p.id))[1], '')::text AS source_page_url,
        coalesce((array_agg(p.discovery_type ORDER BY p.id))[1], '')::text AS discovery_type,
        coalesce((array_agg(p.alt ORDER BY p.id) FILTER (WHERE p.alt <> ''))[1], '')::text AS alt,
        coalesce((array_agg(p.caption ORDER BY p.id) FILTER (WHERE p.caption <> ''))[1], '')::text AS caption,
        count(*)::bigint AS pages
    FROM (
        SELECT x.id, x.source_page_url, x.discovery_type, x.alt, x.caption FROM provenance AS x
        WHERE x.image_id = i.id AND x.gone_at IS NULL ORDER BY x.id LIMIT @bound
    ) AS p
) AS o
WHERE i.page_id = ANY(@pages::bigint []);

-- Returns the hash of a content, by its SHA-256 or by a URL that has it.
-- name: ImageHash :one
SELECT c.sha256_hash, c.phash, c.dhash, c.low_detail, coalesce(c.undecoded_reason, '')::text AS undecoded_reason FROM image_contents AS c
WHERE c.sha256_hash = coalesce(
    (SELECT i.sha256_hash FROM images AS i WHERE i.url = sqlc.narg('url')::text), sqlc.narg('sha256')::text
);

-- Lists contents that look similar, the most similar first, each with an image that has it.
-- name: ImagesSimilar :many
SELECT n.distance::integer AS distance, n.sha256_hash::text AS sha256_hash, i.page_id::bigint AS page_id, i.images::bigint AS images
FROM images_near(@phash::bigint, sqlc.narg('dhash')::bigint, @distance::integer) AS n CROSS JOIN LATERAL (
    SELECT min(x.page_id) AS page_id, count(*) AS images FROM (
        SELECT y.page_id FROM images AS y WHERE y.sha256_hash = n.sha256_hash ORDER BY y.id LIMIT @bound
    ) AS x
) AS i
WHERE i.images > 0
ORDER BY n.distance, n.sha256_hash LIMIT @max;

-- Lists contents that several URLs have, most URLs first.
-- name: ImageCopies :many
SELECT
    i.sha256_hash::text AS sha256_hash, count(*)::bigint AS images, count(DISTINCT i.domain)::bigint AS domains,
    (array_agg(i.url ORDER BY i.id))[1:@shown::integer]::text [] AS urls
FROM images AS i WHERE i.sha256_hash IS NOT NULL
GROUP BY i.sha256_hash HAVING count(*) > 1 ORDER BY images DESC, i.sha256_hash LIMIT @max;

-- Lists different contents that look the same, such as a picture in several sizes, most first.
-- name: ImageSimilarContents :many
SELECT
    c.phash::bigint AS phash, count(DISTINCT c.sha256_hash)::bigint AS contents, count(*)::bigint AS images,
    (array_agg(i.url ORDER BY c.width DESC, i.id))[1:@shown::integer]::text [] AS urls
FROM image_contents AS c INNER JOIN images AS i ON i.sha256_hash = c.sha256_hash
WHERE c.phash IS NOT NULL AND NOT c.low_detail
GROUP BY c.phash HAVING count(DISTINCT c.sha256_hash) > 1 ORDER BY images DESC, c.phash LIMIT @max;

-- Returns the given contents that an image has and that have data in the object store.
-- name: ImagesStored :many
SELECT c.sha256_hash FROM image_contents AS c
WHERE
    c.sha256_hash = ANY(@hashes::text []) AND (c.stored_at IS NOT NULL OR c.thumbnail_at IS NOT NULL)
    AND EXISTS (SELECT 1 FROM images AS i WHERE i.sha256_hash = c.sha256_hash);

-- Returns the next contents whose bytes should be in the store since before an instant.
-- name: ImagesStoredAfter :many
SELECT sha256_hash FROM image_contents
WHERE sha256_hash > @after::text AND stored_at < @before::timestamptz ORDER BY sha256_hash LIMIT @max;

-- Stores that the object store lacks the bytes of contents, so that they are fetched again.
-- name: ImagesMarkMissing :exec
UPDATE image_contents SET stored_at = NULL, thumbnail_at = CASE WHEN NOT @with_thumbnails::boolean THEN thumbnail_at END
WHERE sha256_hash = ANY(@hashes::text []) AND (stored_at IS NOT NULL OR thumbnail_at IS NOT NULL);

-- Does the same for the given contents that no image has, so that a worker that needs one stores
-- it.
-- name: ImagesMarkUnusedMissing :exec
UPDATE image_contents AS c SET stored_at = NULL, thumbnail_at = NULL
WHERE
    c.sha256_hash = ANY(@hashes::text []) AND (c.stored_at IS NOT NULL OR c.thumbnail_at IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM images AS i WHERE i.sha256_hash = c.sha256_hash);

-- Returns the time by the clock of stored_at.
-- name: DatabaseNow :one
SELECT clock_timestamp()::timestamptz AS now;

-- name: ExportImageKeys :many
SELECT page_id FROM images WHERE page_id > @after ORDER BY page_id LIMIT @max;

-- name: ExportImageKeysOfDomain :many
SELECT DISTINCT i.page_id FROM provenance AS p INNER JOIN images AS i ON i.id = p.image_id
WHERE p.source_domain = @domain AND p.gone_at IS NULL AND i.page_id > @after ORDER BY i.page_id LIMIT @max;

-- Returns the page of each of the next rows; a page with several rows repeats.
-- name: ExportProvenanceKeys :many
SELECT page_id FROM provenance WHERE page_id > @after ORDER BY page_id LIMIT @max;

-- name: ExportProvenance :many
SELECT
    p.id::text AS id, p.image_id::text AS image_id, i.url, p.page_id, p.source_page_url, p.source_domain, p.discovery_type,
    coalesce(p.alt, '')::text AS alt, coalesce(p.caption, '')::text AS caption, coalesce(p.width, 0)::integer AS width,
    coalesce(p.height, 0)::integer AS height, coalesce(p.variants, '{}')::text [] AS variants, p.discovered_at, p.gone_at
FROM provenance AS p INNER JOIN images AS i ON i.id = p.image_id
WHERE p.page_id = ANY(@pages::bigint [])
    AND (p.discovered_at >= sqlc.narg('since')::timestamptz OR p.gone_at >= sqlc.narg('since')::timestamptz OR sqlc.narg('since')::timestamptz IS NULL);
