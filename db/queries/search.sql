-- Lists the segments of the index, with the seconds since their start and since the last count.
-- name: IndexSegments :many
SELECT
    s.id, s.pages, s.words, s.bytes, s.languages,
    extract(EPOCH FROM now() - s.created_at)::float8 AS age, extract(EPOCH FROM now() - s.checked_at)::float8 AS unchecked
FROM index_segments AS s WHERE s.id > 0 AND s.merging IS NULL ORDER BY s.id;

-- Returns the chunk of the dictionary, for each segment and key, that may contain the key.
-- name: IndexTerms :many
SELECT x.n::bigint AS n, c.data
FROM (
    SELECT
        unnest(@segments::bigint []) AS segment_id, unnest(@keys::bytea []) AS key,
        generate_subscripts(@segments::bigint [], 1) AS n
) AS x
CROSS JOIN LATERAL (
    SELECT y.data FROM index_chunks AS y WHERE y.segment_id = x.segment_id AND y.kind = @kind AND y.key <= x.key
    ORDER BY y.segment_id DESC, y.kind DESC, y.key DESC LIMIT 1
) AS c;

-- name: IndexChunks :many
SELECT x.n::bigint AS n, c.data
FROM (
    SELECT
        unnest(@segments::bigint []) AS segment_id, unnest(@kinds::smallint []) AS kind, unnest(@keys::bytea []) AS key,
        generate_subscripts(@segments::bigint [], 1) AS n
) AS x
CROSS JOIN LATERAL (
    SELECT y.data FROM index_chunks AS y WHERE y.segment_id = x.segment_id AND y.kind = x.kind AND y.key = x.key LIMIT 1
) AS c;

-- Returns the chunks of a kind that follow a key.
-- name: IndexScan :many
SELECT y.key, y.data FROM index_chunks AS y
WHERE y.segment_id = @segment_id AND y.kind = @kind AND y.key > @after
ORDER BY y.segment_id, y.kind, y.key LIMIT @max;

-- Returns the number of the next segment, which is also the version of its pages.
-- name: IndexNext :one
SELECT nextval(pg_get_serial_sequence('index_segments', 'id'))::bigint AS id;

-- name: IndexAdd :exec
INSERT INTO index_segments (id, pages, words, bytes, languages) VALUES (@id, @pages, @words, @bytes, @languages)
ON CONFLICT (id) DO UPDATE SET
    pages = excluded.pages, words = excluded.words, bytes = excluded.bytes, languages = excluded.languages,
    created_at = excluded.created_at, checked_at = excluded.checked_at, merging = NULL;

-- name: IndexDrop :exec
WITH chunks AS (DELETE FROM index_chunks AS c WHERE c.segment_id = ANY(@segments::bigint []))
DELETE FROM index_segments AS s WHERE s.id = ANY(@segments::bigint []);

-- name: IndexMergeBegin :exec
INSERT INTO index_segments (id, pages, words, bytes, languages, merging) VALUES (@segment_id, 0, 0, 0, '{}', @large::boolean);

-- Drops incomplete segments that merges of small or of large segments have left.
-- name: IndexMergesDrop :exec
WITH begun AS (DELETE FROM index_segments AS s WHERE s.id > 0 AND s.merging = @large::boolean RETURNING s.id)
DELETE FROM index_chunks AS c WHERE c.segment_id = ANY(ARRAY(SELECT b.id FROM begun AS b));

-- name: IndexChecked :exec
UPDATE index_segments AS s SET checked_at = now() WHERE s.id = @id;

-- Returns the score and the current version of pages; 0 means not indexed.
-- name: IndexScores :many
SELECT coalesce(k.version, 0)::bigint AS version, coalesce(k.score, 0)::real AS score
FROM unnest(@pages::bigint []) WITH ORDINALITY AS x (page_id, n)
LEFT JOIN LATERAL (
    SELECT y.version, w.score FROM page_keywords AS y CROSS JOIN LATERAL page_scores(y.page_id, y.domain) AS w (score)
    WHERE y.page_id = x.page_id LIMIT 1
) AS k ON true
ORDER BY x.n;

-- name: IndexNormsStore :exec
UPDATE index_chunks AS c SET data = @data WHERE c.segment_id = @segment_id AND c.kind = @kind AND c.key = @key;

-- Returns the pages of hits as report.SearchHit, unless their version differs or they must not be
-- shown.
-- name: SearchPages :many
SELECT x.n::bigint AS n, jsonb_strip_nulls(jsonb_build_object(
    'page', p.id, 'url', p.url, 'domain', p.domain, 'language', p.language, 'second_language', k.second_language, 'title', p.signals ->> 'title',
    'description', CASE WHEN NOT coalesce(p.usage ? 'nosnippet', false) THEN p.signals ->> 'description' END,
    'no_snippet', CASE WHEN p.usage ? 'nosnippet' THEN true END,
    'canonical_url', p.signals ->> 'canonical_url', 'published', p.signals ->> 'published',
    'modified', p.signals ->> 'modified', 'fetched_at', p.fetched_at,
    'content', encode(p.content_hash, 'hex'), 'simhash', p.simhash
))::jsonb AS hit
FROM (
    SELECT
        unnest(@pages::bigint []) AS page_id, unnest(@versions::bigint []) AS version,
        generate_subscripts(@pages::bigint [], 1) AS n
) AS x
CROSS JOIN LATERAL (
    SELECT y.version, y.second_language FROM page_keywords AS y WHERE y.page_id = x.page_id LIMIT 1
) AS k
CROSS JOIN LATERAL (SELECT y.* FROM pages AS y WHERE y.id = x.page_id LIMIT 1) AS p
WHERE
    k.version = x.version AND NOT p.noindex
    AND coalesce((p.usage ->> 'unavailable_after')::timestamptz > now(), true)
    AND p.usage #>> '{content_signals,search,answer}' IS DISTINCT FROM 'no'
ORDER BY x.n;

-- Returns the terms and the headings of pages, for snippets.
-- name: SearchOutlines :many
SELECT k.page_id, coalesce(k.body, '')::text AS body, coalesce(k.outline, '{}')::text [] AS outline
FROM page_keywords AS k WHERE k.page_id = ANY(@pages::bigint []) ORDER BY k.page_id;
