-- Makes due pages pending, the longest due first.
-- name: RecrawlsDue :one
WITH due AS (
    SELECT r.page_id FROM revisits AS r WHERE r.run_id = @run_id AND r.due_at <= now()
    ORDER BY r.due_at LIMIT @max FOR NO KEY UPDATE SKIP LOCKED
)
SELECT
    cardinality(d.pages)::integer AS selected,
    CASE WHEN d.pages <> '{}' THEN recrawls_add(@run_id, d.pages) ELSE 0 END::integer AS added
FROM (SELECT ARRAY(SELECT x.page_id FROM due AS x) AS pages) AS d;

-- Makes the run into request pages again that were fetched before an instant. The pages are those
-- of a run, which may be the same, and of one domain; a null domain means all. It reads some pages
-- of any run, and skips images unless the run takes them. The last page read is last, 0 at the
-- end.
-- name: RecrawlsOlder :one
SELECT o.last::bigint AS last, CASE
    WHEN o.pages IS NULL THEN 0
    ELSE recrawls_add(@into_id::bigint, o.pages, @into_id::bigint <> @run_id::bigint)
END::integer AS added
FROM (
    SELECT
        coalesce(max(p.id), 0) AS last,
        array_agg(p.id ORDER BY p.id) FILTER (WHERE
            p.fetched_at < @before::timestamptz
            AND (
                @pages::boolean AND p.kind = ANY (kinds('document'))
                OR @images::boolean AND p.kind = ANY (kinds('image'))
                AND (SELECT r.settings ->> 'images' <> 'off' FROM crawl_runs AS r WHERE r.id = @into_id)
            )
            AND EXISTS (SELECT 1 FROM page_crawls AS c WHERE c.page_id = p.id AND c.run_id = @run_id)
        ) AS pages
    FROM (
        (
            SELECT x.id, x.fetched_at, x.kind FROM pages AS x
            WHERE sqlc.narg('domain')::text IS NULL AND x.id > @after::bigint ORDER BY x.id LIMIT @max
        )
        UNION ALL
        (
            -- along the index of the domain, then sorted: in the order of ids it would read all
            -- pages
            SELECT d.id, d.fetched_at, d.kind FROM (
                SELECT x.id, x.fetched_at, x.kind FROM pages AS x WHERE x.domain = sqlc.narg('domain')::text OFFSET 0
            ) AS d
            WHERE d.id > @after::bigint ORDER BY d.id LIMIT @max
        )
    ) AS p
) AS o;

-- Makes a run request known pages before all others.
-- name: RecrawlsPrioritize :one
SELECT recrawls_now(@run_id::bigint, @pages::bigint [])::integer AS prioritized;

-- Returns the known pages by domain and URL, and whether each is part of a run.
-- name: PagesByURL :many
SELECT p.id, u.n::bigint AS n, EXISTS (
    SELECT 1 FROM page_crawls AS c WHERE c.page_id = p.id AND c.run_id = @run_id::bigint AND NOT c.prerequisite
) AS is_in_run
FROM jsonb_array_elements(@named::jsonb) WITH ORDINALITY AS u (doc, n)
CROSS JOIN LATERAL (
    SELECT x.id FROM pages AS x WHERE x.domain = u.doc ->> 'domain' AND x.url = u.doc ->> 'url' LIMIT 1
) AS p;

-- Returns a row if the domain needs a new plan for its requests, because a run crawls its pages
-- again. The shortest delay of these runs bounds the number of requests.
-- name: RecrawlPlanDue :many
SELECT d.recrawl, r.settings FROM domains AS d
INNER JOIN run_domains AS rd ON d.domain = rd.domain
INNER JOIN crawl_runs AS r ON rd.run_id = r.id
WHERE
    d.domain = @domain AND r.status = 'running' AND r.settings ->> 'when_done' = 'recrawl'
    AND (d.planned_at IS NULL OR d.planned_at < now() - ms_interval(@span_ms::bigint))
LIMIT 10;

-- name: RecrawlHistories :many
SELECT history FROM pages WHERE domain = @domain AND history IS NOT NULL AND kind = ANY (kinds('document')) LIMIT @max;

-- name: RecrawlPlan :exec
UPDATE domains SET recrawl = coalesce(recrawl, '{}') || jsonb_build_object('plan', @plan::jsonb), planned_at = now()
WHERE domain = @domain;

-- Returns pages of a run that a list reports as changed since their last fetch and that are not
-- pending.
-- name: RecrawlChangedPages :many
SELECT p.id, p.history, p.fetched_at::timestamptz AS fetched_at
FROM jsonb_array_elements(@announced::jsonb) AS u (doc)
CROSS JOIN LATERAL (
    SELECT x.id, x.history, x.fetched_at FROM pages AS x
    WHERE x.domain = u.doc ->> 'domain' AND x.url = u.doc ->> 'url' LIMIT 1
) AS p
WHERE
    p.fetched_at < (u.doc ->> 'changed')::timestamptz
    AND EXISTS (SELECT 1 FROM revisits AS v WHERE v.page_id = p.id AND v.run_id = @run_id::bigint AND v.due_at IS NOT NULL)
ORDER BY p.id;

-- name: RecrawlStoreHints :exec
WITH hinted AS (
    UPDATE pages AS p SET history = u.doc -> 'history'
    FROM jsonb_array_elements(@hints::jsonb) AS u (doc)
    WHERE p.id = (u.doc ->> 'id')::bigint
)
UPDATE revisits AS v SET due_at = (u.doc ->> 'due')::timestamptz
FROM jsonb_array_elements(@hints::jsonb) AS u (doc)
WHERE v.page_id = (u.doc ->> 'id')::bigint AND v.run_id = @run_id::bigint AND v.due_at IS NOT NULL;

-- Returns the progress of scheduling the next visits of a run; null means done.
-- name: RevisitsGetProgress :one
SELECT revisits_after_page_id FROM crawl_runs WHERE id = @run_id;

-- Returns pages with ids after one that a run has crawled, with their history. Some already have a
-- time in the run. The last page read is last, known to the run or not, and 0 at the end.
-- name: RevisitsUnscheduledPages :many
WITH scanned AS (
    SELECT p.id, p.fetched_at, p.failed_at, p.history FROM pages AS p WHERE p.id > @after ORDER BY p.id LIMIT @max
)
SELECT
    coalesce((SELECT max(x.id) FROM scanned AS x), 0)::bigint AS last, coalesce(k.id, 0)::bigint AS page_id,
    coalesce(k.fetched_at, k.failed_at, 'epoch')::timestamptz AS fetched_at, coalesce(k.history, '{}')::jsonb AS history
FROM (SELECT 1) AS one LEFT JOIN scanned AS k ON EXISTS (
    SELECT 1 FROM page_crawls AS c WHERE c.page_id = k.id AND c.run_id = @run_id::bigint AND NOT c.prerequisite
);

-- Stores when a run requests known pages again, unless they are pending or already have a time.
-- The progress is next; null means done.
-- name: RevisitsAdd :exec
WITH added AS (
    INSERT INTO revisits AS r (page_id, run_id, due_at, revisit_interval)
    SELECT (u.doc ->> 'id')::bigint, @run_id, (u.doc ->> 'due')::timestamptz, ms_interval((u.doc ->> 'every_ms')::bigint)
    FROM jsonb_array_elements(@pages::jsonb) AS u (doc)
    WHERE NOT EXISTS (
        SELECT 1 FROM page_crawls AS c
        WHERE c.page_id = (u.doc ->> 'id')::bigint AND c.run_id = @run_id AND c.completed_at IS NULL AND NOT c.prerequisite
    )
    ORDER BY 1
    ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = excluded.due_at, revisit_interval = excluded.revisit_interval WHERE r.due_at IS NULL
)
UPDATE crawl_runs AS c SET revisits_after_page_id = sqlc.narg('next')::bigint WHERE c.id = @run_id::bigint AND c.revisits_after_page_id = @old::bigint;
