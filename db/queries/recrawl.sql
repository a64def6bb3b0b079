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
    d.domain = @domain AND r.status = 'running' AND r.settings ->> 'when_done' = 'recrawl'
    AND (d.planned_at IS NULL OR d.planned_at < now() - ms_interval(@span_ms::bigint))
LIMIT 10;

-- name: RecrawlHistories :many
SELECT history FROM pages WHERE domain = @domain AND history IS NOT NULL AND kind_document(kind) LIMIT @max;

-- name: RecrawlPlan :exec
UPDATE domains SET recrawl = coalesce(recrawl, '{}') || jsonb_build_object('plan', @plan::jsonb), planned_at = now()
WHERE domain = @domain;

-- Pages of a run that a list says have changed since they were fetched, and that are not
-- pending.
-- name: RecrawlNews :many
SELECT p.id, p.history, p.fetched_at::timestamptz AS fetched_at
FROM jsonb_array_elements(@told::jsonb) AS u (doc)
CROSS JOIN LATERAL (
    SELECT x.id, x.history, x.fetched_at FROM pages AS x
    WHERE x.domain = u.doc ->> 'domain' AND x.url = u.doc ->> 'url' LIMIT 1
) AS p
WHERE
    p.fetched_at < (u.doc ->> 'changed')::timestamptz
    AND EXISTS (SELECT 1 FROM revisits AS v WHERE v.page_id = p.id AND v.run_id = @run_id::bigint AND v.due_at IS NOT NULL)
ORDER BY p.id;

-- name: RecrawlHint :exec
WITH hinted AS (
    UPDATE pages AS p SET history = u.doc -> 'history'
    FROM jsonb_array_elements(@hints::jsonb) AS u (doc)
    WHERE p.id = (u.doc ->> 'id')::bigint
)
UPDATE revisits AS v SET due_at = (u.doc ->> 'due')::timestamptz
FROM jsonb_array_elements(@hints::jsonb) AS u (doc)
WHERE v.page_id = (u.doc ->> 'id')::bigint AND v.run_id = @run_id::bigint AND v.due_at IS NOT NULL;

-- How far it is noted when a run asks for the pages again that it knows; null is all are.
-- name: RevisitsFrom :one
SELECT revisits_from FROM crawl_runs WHERE id = @run_id;

-- name: RevisitsMissing :many
SELECT
    coalesce(m.last, 0)::bigint AS last, coalesce(m.page_id, 0)::bigint AS page_id,
    coalesce(m.fetched_at, 'epoch')::timestamptz AS fetched_at, coalesce(m.history, '{}')::jsonb AS history
FROM revisits_missing(@run_id::bigint, @after::bigint, @most::integer) AS m;

-- name: RevisitsAdd :exec
SELECT revisits_add(@run_id::bigint, @pages::jsonb, @was::bigint, sqlc.narg('next')::bigint);
