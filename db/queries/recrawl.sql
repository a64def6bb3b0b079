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

-- Pages of a run that a list says have changed since they were fetched, and that are not
-- pending.
-- name: RecrawlNews :many
SELECT p.id, p.history, p.fetched_at::timestamptz AS fetched_at
FROM jsonb_array_elements(@told::jsonb) AS u (doc)
CROSS JOIN LATERAL (
    SELECT x.id, x.history, x.fetched_at, x.recrawl_run_id, x.next_due_at FROM pages AS x
    WHERE x.domain = u.doc ->> 'domain' AND x.url = u.doc ->> 'url' LIMIT 1
) AS p
WHERE
    p.recrawl_run_id = @run_id::bigint AND p.next_due_at IS NOT NULL
    AND p.fetched_at < (u.doc ->> 'changed')::timestamptz
ORDER BY p.id;

-- name: RecrawlHint :exec
UPDATE pages AS p SET history = u.doc -> 'history', next_due_at = (u.doc ->> 'due')::timestamptz
FROM jsonb_array_elements(@hints::jsonb) AS u (doc)
WHERE p.id = (u.doc ->> 'id')::bigint AND p.next_due_at IS NOT NULL;
