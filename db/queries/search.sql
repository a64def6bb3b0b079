-- name: PagesSearch :many
SELECT h::jsonb AS hit FROM pages_search(
    @configs::text [], @terms::text, @loose::text, @prefixes::text [], sqlc.narg(language)::text, sqlc.narg(domain)::text,
    sqlc.narg(since)::timestamptz, @looked::integer, @ranked::integer, @most::integer
) AS h;
