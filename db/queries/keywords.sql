-- Takes terms that wait, in the order of their pages: at most so many pages, and no more once
-- they have so many bytes. The same transaction stores them.
-- name: KeywordsTake :many
DELETE FROM keywords_waiting AS k WHERE k.page_id = ANY(ARRAY(
    SELECT s.page_id FROM (
        SELECT t.page_id, coalesce(sum(t.size) OVER (ORDER BY t.page_id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS before
        FROM (
            SELECT w.page_id, coalesce(octet_length(w.body), 0) AS size FROM keywords_waiting AS w WHERE w.page_id > @after
            ORDER BY w.page_id LIMIT @most FOR UPDATE SKIP LOCKED
        ) AS t
    ) AS s WHERE s.before < @bytes::bigint
))
RETURNING
    k.page_id, k.domain, coalesce(k.language, '')::text AS language, k.configs, coalesce(k.second, '')::text AS second,
    coalesce(k.title, '')::text AS title, coalesce(k.headings, '')::text AS headings,
    coalesce(k.description, '')::text AS description, coalesce(k.address, '')::text AS address,
    coalesce(k.body, '')::text AS body, k.sections;

-- What the dictionaries of Postgres make of terms: {} of a stop word.
-- name: Stems :many
SELECT coalesce(ts_lexize(x.dictionary::regdictionary, x.term), ARRAY[x.term])::text [] AS stems
FROM (SELECT unnest(@dictionaries::text []) AS dictionary, unnest(@terms::text []) AS term) AS x;

-- What others call pages that are found already. Their rows are locked until the transaction ends.
-- name: KeywordsAnchors :many
SELECT k.page_id, coalesce(k.anchors, '')::text AS anchors FROM page_keywords AS k
WHERE k.page_id = ANY(@pages::bigint []) ORDER BY k.page_id FOR NO KEY UPDATE;

-- What pages are worth, and their dates: as they say themselves, else when they were fetched last.
-- name: KeywordsFacts :many
SELECT u.page_id::bigint AS page_id, w.worth::real AS worth, d.day::timestamptz AS day
FROM (SELECT unnest(@pages::bigint []) AS page_id, unnest(@domains::text []) AS domain) AS u
CROSS JOIN LATERAL page_worths(u.page_id, u.domain) AS w (worth)
CROSS JOIN LATERAL (
    SELECT coalesce((p.signals ->> 'published')::timestamptz, (p.signals ->> 'modified')::timestamptz, p.fetched_at, 'epoch') AS day
    FROM pages AS p WHERE p.id = u.page_id LIMIT 1
) AS d;

-- name: KeywordsStore :exec
INSERT INTO page_keywords AS k
    (page_id, domain, language, version, configs, second, title, headings, description, address, body, sections)
SELECT
    x.page_id, x.domain, nullif(x.language, ''), @version::bigint, string_to_array(x.configs, ' '), nullif(x.second, ''), nullif(x.title, ''),
    nullif(x.headings, ''), nullif(x.description, ''), nullif(x.address, ''), nullif(x.body, ''), nullif(x.sections, '')::jsonb
FROM (
    SELECT
        unnest(@pages::bigint []) AS page_id, unnest(@domains::text []) AS domain, unnest(@languages::text []) AS language,
        unnest(@configs::text []) AS configs, unnest(@seconds::text []) AS second, unnest(@titles::text []) AS title,
        unnest(@headings::text []) AS headings, unnest(@descriptions::text []) AS description,
        unnest(@addresses::text []) AS address, unnest(@bodies::text []) AS body, unnest(@sections::text []) AS sections
) AS x
ORDER BY x.page_id
ON CONFLICT (page_id) DO UPDATE SET
    language = excluded.language, version = excluded.version, configs = excluded.configs, second = excluded.second,
    title = excluded.title, headings = excluded.headings, description = excluded.description, address = excluded.address,
    body = excluded.body, sections = excluded.sections;

-- Gives up the terms of the first page that waits after one, which cannot be stored: the page
-- counts as one that must be read anew. Returns the page, 0 where none waits.
-- name: KeywordsGiveUp :one
WITH taken AS (
    DELETE FROM keywords_waiting AS k WHERE k.page_id = ANY(ARRAY(
        SELECT w.page_id FROM keywords_waiting AS w WHERE w.page_id > @after ORDER BY w.page_id LIMIT 1 FOR UPDATE SKIP LOCKED
    ))
    RETURNING k.page_id
), outdated AS (
    UPDATE pages AS p SET extractor = NULL WHERE p.id = ANY(ARRAY(SELECT t.page_id FROM taken AS t))
)
SELECT coalesce(max(t.page_id), 0)::bigint AS page_id FROM taken AS t;

-- How many pages wait for their keywords, counted as far as some.
-- name: KeywordsWaiting :one
SELECT count(*)::integer AS pages FROM (SELECT k.page_id FROM keywords_waiting AS k LIMIT @most::integer) AS w;

-- What others call pages.
-- name: KeywordsSaid :many
SELECT k.page_id, coalesce(k.anchors, '')::text AS anchors FROM page_keywords AS k WHERE k.page_id = ANY(@pages::bigint []);

-- The terms of pages, to be indexed anew. Their rows are locked until the transaction ends.
-- name: KeywordsAgain :many
SELECT
    k.page_id, k.domain, coalesce(k.language, '')::text AS language, k.configs, coalesce(k.second, '')::text AS second,
    coalesce(k.title, '')::text AS title, coalesce(k.headings, '')::text AS headings,
    coalesce(k.description, '')::text AS description, coalesce(k.address, '')::text AS address,
    coalesce(k.body, '')::text AS body, coalesce(k.anchors, '')::text AS anchors
FROM page_keywords AS k WHERE k.page_id = ANY(@pages::bigint []) ORDER BY k.page_id FOR NO KEY UPDATE;

-- name: KeywordsCalled :exec
UPDATE page_keywords AS k SET version = @version::bigint, anchors = nullif(x.anchors, '')
FROM (SELECT unnest(@pages::bigint []) AS page_id, unnest(@anchors::text []) AS anchors) AS x
WHERE k.page_id = x.page_id;
