-- name: KeywordsTake :many
SELECT
    w.page_id::bigint AS page_id, w.domain::text AS domain, coalesce(w.language, '')::text AS language, w.config::text AS config,
    coalesce(w.title, '')::text AS title, coalesce(w.headings, '')::text AS headings,
    coalesce(w.description, '')::text AS description, coalesce(w.body, '')::text AS body
FROM keywords_take(@after::bigint, @most::integer) AS w;

-- name: KeywordsLexemes :many
SELECT l::text AS lexemes FROM keywords_lexemes(@configs::text [], @terms::text []) AS l;

-- name: KeywordsStore :exec
SELECT keywords_store(@pages::bigint [], @domains::text [], @languages::text [], @configs::text [], @terms::tsvector []);

-- Gives up a page's terms, so that the page counts as one that must be read anew.
-- name: KeywordsGiveUp :one
SELECT keywords_give_up(@after::bigint)::bigint AS page_id;

-- How many pages wait for their keywords, counted as far as some.
-- name: KeywordsWaiting :one
SELECT count(*)::integer AS pages FROM (SELECT k.page_id FROM keywords_waiting AS k LIMIT @most::integer) AS w;
