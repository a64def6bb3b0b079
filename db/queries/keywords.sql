-- Takes terms that wait, in the order of their pages. Whoever takes them stores them in the same
-- transaction.
-- name: KeywordsTake :many
DELETE FROM keywords_waiting AS k WHERE k.page_id = ANY(ARRAY(
    SELECT w.page_id FROM keywords_waiting AS w WHERE w.page_id > @after
    ORDER BY w.page_id LIMIT @most FOR UPDATE SKIP LOCKED
))
RETURNING
    k.page_id, k.domain, coalesce(k.language, '')::text AS language, k.config,
    coalesce(k.title, '')::text AS title, coalesce(k.headings, '')::text AS headings,
    coalesce(k.description, '')::text AS description, coalesce(k.body, '')::text AS body;

-- Terms as the index has them, as tsvectors. Only this decides it, for keywords and for queries
-- alike: websearch_to_tsquery uses the same parser and dictionaries. A last lexeme '1' has the
-- place that a term after it would have.
-- name: KeywordsLexemes :many
SELECT to_tsvector(x.config::regconfig, x.term || ' 1')::text AS lexemes
FROM (SELECT unnest(@configs::text []) AS config, unnest(@terms::text []) AS term) AS x;

-- name: KeywordsStore :exec
SELECT keywords_store(@pages::bigint [], @domains::text [], @languages::text [], @configs::text [], @terms::tsvector []);

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
