-- Locks waiting pages in their order until the transaction ends, up to a number of pages and of
-- bytes of terms.
-- name: KeywordsLockPending :many
SELECT s.page_id::bigint AS page_id FROM (
    SELECT t.page_id, coalesce(sum(t.size) OVER (ORDER BY t.page_id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS before
    FROM (
        SELECT w.page_id, coalesce(octet_length(w.body), 0) AS size FROM page_keywords AS w WHERE w.index_pending AND w.page_id > @after
        ORDER BY w.page_id LIMIT @max FOR UPDATE SKIP LOCKED
    ) AS t
) AS s
WHERE s.before < @bytes::bigint ORDER BY s.page_id;

-- Returns the stems of terms by the dictionaries of Postgres; {} for a stop word.
-- name: Stems :many
SELECT coalesce(ts_lexize(x.dictionary::regdictionary, x.term), ARRAY[x.term])::text [] AS stems
FROM (SELECT unnest(@dictionaries::text []) AS dictionary, unnest(@terms::text []) AS term) AS x;

-- Returns the score and the date of pages: their own date, or else that of the last fetch.
-- name: KeywordsScores :many
SELECT u.page_id::bigint AS page_id, w.score::real AS score, d.day::timestamptz AS day
FROM (SELECT unnest(@pages::bigint []) AS page_id, unnest(@domains::text []) AS domain) AS u
CROSS JOIN LATERAL page_scores(u.page_id, u.domain) AS w (score)
CROSS JOIN LATERAL (
    SELECT coalesce((p.signals ->> 'published')::timestamptz, (p.signals ->> 'modified')::timestamptz, p.fetched_at, 'epoch') AS day
    FROM pages AS p WHERE p.id = u.page_id LIMIT 1
) AS d;

-- Marks the terms of pages as indexed, with their version.
-- name: KeywordsIndexed :exec
UPDATE page_keywords AS k SET version = @version::bigint, index_pending = false WHERE k.page_id = ANY(@pages::bigint []);

-- Drops the terms of the next waiting page, which cannot be stored, so that it is read anew.
-- Returns the page, 0 if no page waits.
-- name: KeywordsDropNext :one
WITH taken AS (
    DELETE FROM page_keywords AS k WHERE k.page_id = ANY(ARRAY(
        SELECT w.page_id FROM page_keywords AS w WHERE w.index_pending AND w.page_id > @after ORDER BY w.page_id LIMIT 1 FOR UPDATE SKIP LOCKED
    ))
    RETURNING k.page_id
), outdated AS (
    UPDATE pages AS p SET extractor = NULL WHERE p.id = ANY(ARRAY(SELECT t.page_id FROM taken AS t))
)
SELECT coalesce(max(t.page_id), 0)::bigint AS page_id FROM taken AS t;

-- Counts the pages that wait for their keywords, up to a bound.
-- name: KeywordsCountPending :one
SELECT count(*)::integer AS pages FROM (SELECT k.page_id FROM page_keywords AS k WHERE k.index_pending LIMIT @max::integer) AS w;

-- Returns the terms that other domains use for pages.
-- name: KeywordsGetAnchors :many
SELECT k.page_id, coalesce(k.anchor_terms, '')::text AS anchor_terms FROM page_keywords AS k WHERE k.page_id = ANY(@pages::bigint []);

-- Returns the terms of pages, to be indexed. It locks their rows until the transaction ends.
-- name: KeywordsLockTerms :many
SELECT
    k.page_id, k.domain, coalesce(k.language, '')::text AS language, k.configs, coalesce(k.second_language, '')::text AS second_language,
    coalesce(k.title, '')::text AS title, coalesce(k.headings, '')::text AS headings,
    coalesce(k.description, '')::text AS description, coalesce(k.address, '')::text AS address,
    coalesce(k.body, '')::text AS body, k.words, k.title_words, coalesce(k.anchor_terms, '')::text AS anchor_terms
FROM page_keywords AS k WHERE k.page_id = ANY(@pages::bigint []) ORDER BY k.page_id FOR NO KEY UPDATE;

-- name: KeywordsSetAnchors :exec
UPDATE page_keywords AS k SET version = @version::bigint, anchor_terms = nullif(x.anchor_terms, '')
FROM (SELECT unnest(@pages::bigint []) AS page_id, unnest(@anchors::text []) AS anchor_terms) AS x
WHERE k.page_id = x.page_id;
