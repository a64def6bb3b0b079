-- name: RecrawlsDue :one
SELECT recrawls_due(@run_id::bigint, @max::integer)::integer AS looked;

-- name: RecrawlsOlder :one
SELECT coalesce(o.last, 0)::bigint AS last, o.added::integer AS added
FROM recrawls_older(@run_id::bigint, sqlc.narg('domain')::text, @before::timestamptz, @after::bigint, @max::integer) AS o;

-- Whether how requests to a domain are spent on its pages is to be planned: a run crawls
-- them again, and the last plan is older than a span, or there is none. The shortest delay
-- of these runs says how many requests there can be.
-- name: RecrawlPlanDue :many
SELECT d.recrawl, r.settings FROM domains AS d
INNER JOIN run_domains AS rd ON d.domain = rd.domain
INNER JOIN crawl_runs AS r ON rd.run_id = r.id
WHERE
    d.domain = @domain AND r.status = 'running' AND r.settings ->> 'recrawl' = 'true'
    AND (d.planned_at IS NULL OR d.planned_at < now() - ms_interval(@span_ms::bigint))
LIMIT 10;

-- name: RecrawlHistories :many
SELECT history FROM pages WHERE domain = @domain AND history IS NOT NULL AND kind = 'page' LIMIT @max;

-- name: RecrawlPlan :exec
UPDATE domains SET recrawl = coalesce(recrawl, '{}') || jsonb_build_object('plan', @plan::jsonb), planned_at = now()
WHERE domain = @domain;
