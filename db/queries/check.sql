-- Compare rows for mosey doctor, in steps. Check queries change nothing, and most return the fields
-- of a db.Discrepancy. Repair queries recompute derived values.

-- Finds domains that are due earlier for a run than their rows state.
-- name: CheckDue :many
SELECT
    x.domain::text AS domain, x.run_id::bigint AS id,
    ('due at ' || x.due::text || ', stored as ' || coalesce(x.stored::text, 'never'))::text AS description
FROM (
    SELECT rd.run_id, rd.domain, rd.next_due_at AS stored, u.due_at AS due
    FROM unnest(domains_due(@domains::text [], true)) AS u (run_id, domain, due_at)
    INNER JOIN run_domains AS rd ON rd.run_id = u.run_id AND rd.domain = u.domain
    WHERE u.due_at IS NOT NULL AND (rd.next_due_at IS NULL OR rd.next_due_at > greatest(u.due_at, clock_timestamp()) + interval '1 second')
) AS x;

-- name: RepairDue :exec
SELECT due_update(@domains::text []);

-- Finds domains whose totals in a run differ from the sums of their rows, as totals_add counts
-- them.
-- name: CheckTotals :many
SELECT
    r.domain::text AS domain, r.run_id::bigint AS id, ('noted ' || r.totals::text || ', counted ' || r.rows::text)::text AS description
FROM run_totals(@domains::text []) AS r
WHERE r.totals <> r.rows;

-- Finds pages to visit again that have neither a time for the next visit nor a pending visit.
-- name: CheckRevisits :many
SELECT p.domain, p.id, p.url AS description FROM revisits AS v
INNER JOIN pages AS p ON v.page_id = p.id INNER JOIN crawl_runs AS r ON v.run_id = r.id
WHERE
    v.page_id > @after::bigint AND v.page_id <= @up_to_id::bigint AND v.due_at IS NULL
    AND r.settings ->> 'when_done' = 'recrawl' AND r.status <> 'done'
    AND NOT EXISTS (
        SELECT 1 FROM page_crawls AS c
        WHERE c.page_id = v.page_id AND c.run_id = v.run_id AND c.completed_at IS NULL AND NOT c.prerequisite
    )
ORDER BY p.id;

-- name: RepairRevisits :execrows
UPDATE revisits AS v SET due_at = clock_timestamp() FROM crawl_runs AS r
WHERE
    v.page_id > @after::bigint AND v.page_id <= @up_to_id::bigint AND v.due_at IS NULL AND r.id = v.run_id
    AND r.settings ->> 'when_done' = 'recrawl' AND r.status <> 'done'
    AND NOT EXISTS (
        SELECT 1 FROM page_crawls AS c
        WHERE c.page_id = v.page_id AND c.run_id = v.run_id AND c.completed_at IS NULL AND NOT c.prerequisite
    );

-- name: RunDomainsLock :many
SELECT rd.run_id FROM run_domains AS rd WHERE rd.domain = @domain::text ORDER BY rd.run_id FOR UPDATE;

-- The caller holds the lock, so that later attempts are counted on top.
-- name: RepairTotals :execrows
UPDATE run_domains AS rd SET
    success = t.rows[1], failed = t.rows[2], timeout = t.rows[3], blocked_robots = t.rows[4],
    blocked_4xx = t.rows[5], blocked_5xx = t.rows[6], skipped = t.rows[7], bytes = t.rows[8], updated_at = clock_timestamp()
FROM run_totals(ARRAY[@domain::text]) AS t
WHERE rd.domain = @domain::text AND rd.run_id = t.run_id AND t.totals <> t.rows;

-- Finds runs whose budgets differ from the sums of their domains.
-- name: CheckBudgets :many
SELECT
    ''::text AS domain, r.id,
    concat(
        r.name, ': stored ', r.pages_started, ' pages', ' and ' || r.bytes || ' bytes', ', counted ', x.pages, ' and ', x.read
    )::text AS description
FROM crawl_runs AS r
CROSS JOIN LATERAL (
    SELECT coalesce(sum(rd.pages_started), 0) AS pages, coalesce(sum(rd.bytes), 0) AS read FROM run_domains AS rd WHERE rd.run_id = r.id
) AS x
WHERE (r.settings ->> 'max_pages')::bigint >= 0 AND r.pages_started <> x.pages OR r.bytes <> x.read
ORDER BY r.id;

-- name: RunBudgetLock :one
SELECT r.id FROM crawl_runs AS r WHERE r.id = @id::bigint FOR NO KEY UPDATE;

-- name: RepairBudgets :exec
UPDATE crawl_runs AS r SET
    pages_started = CASE WHEN (r.settings ->> 'max_pages')::bigint >= 0 THEN x.pages ELSE r.pages_started END,
    bytes = CASE WHEN r.bytes IS NOT NULL THEN x.read END
FROM (
    SELECT coalesce(sum(rd.pages_started), 0) AS pages, coalesce(sum(rd.bytes), 0) AS read FROM run_domains AS rd WHERE rd.run_id = @id::bigint
) AS x
WHERE r.id = @id::bigint;

-- Finds attempts in flight without the slot of their domain, or with a lease that ended long ago
-- on a domain that no workflow serves.
-- name: CheckOpen :many
SELECT
    c.domain, c.id,
    (c.url || ' since ' || to_char(c.locked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))::text AS description
FROM page_crawls AS c
LEFT JOIN politeness_slots AS s ON s.key = 'domain:' || c.domain AND s.holder = 'crawl:' || c.id
LEFT JOIN domains AS d ON d.domain = c.domain AND d.claimed_by IS NOT NULL
WHERE
    c.domain = ANY(@domains::text []) AND c.outcome IS NULL AND c.locked_at IS NOT NULL
    AND (s.key IS NULL OR s.free_at < now() - interval '1 hour' AND d.domain IS NULL)
ORDER BY c.domain, c.id;

-- name: SlotLock :one
SELECT coalesce(s.holder, '')::text AS holder, (s.free_at <= clock_timestamp())::boolean AS free
FROM politeness_slots AS s WHERE s.key = 'domain:' || @domain::text FOR UPDATE;

-- Closes an attempt of a dead worker. The caller has locked the slot of the domain.
-- name: RepairOpen :exec
SELECT attempt_reap('crawl:' || @id::bigint);

-- name: SlotClearHolder :exec
UPDATE politeness_slots SET holder = NULL WHERE key = 'domain:' || @domain::text AND holder = 'crawl:' || @id::bigint;

-- Finds pages without terms that an extractor has read and that a search may find. A page that
-- redirects has no content and is never indexed.
-- name: CheckKeywords :many
SELECT ''::text AS domain, p.id, p.url AS description FROM pages AS p
WHERE
    p.id > @after::bigint AND p.id <= @up_to_id::bigint AND p.kind = ANY (kinds('document')) AND p.status = 'fetched'
    AND p.extractor = @extractor::smallint AND NOT p.noindex AND p.usage IS NULL AND p.content_hash IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM page_keywords AS k WHERE k.page_id = p.id)
ORDER BY p.id;

-- Makes the next request to each page read it anew, if its terms are still missing.
-- name: RepairKeywords :execrows
UPDATE pages AS p SET extractor = NULL
WHERE
    p.id = ANY(@ids::bigint []) AND NOT EXISTS (SELECT 1 FROM page_keywords AS k WHERE k.page_id = p.id);

-- name: CheckLastIDs :one
SELECT
    (SELECT coalesce(max(p.id), 0) FROM pages AS p)::bigint AS page,
    (SELECT coalesce(max(c.id), 0) FROM page_crawls AS c)::bigint AS crawl;

-- Finds attempts whose page or run is missing. Nothing makes such rows.
-- name: CheckReferences :many
SELECT ''::text AS domain, c.id, c.url AS description FROM page_crawls AS c
WHERE
    c.id > @after::bigint AND c.id <= @up_to_id::bigint AND (
        NOT EXISTS (SELECT 1 FROM pages AS p WHERE p.id = c.page_id)
        OR NOT EXISTS (SELECT 1 FROM crawl_runs AS r WHERE r.id = c.run_id)
    )
ORDER BY c.id;

-- Finds ended runs within their budgets in which a domain has become due since. It was deferred or
-- forbidden at the end.
-- name: CheckEnded :many
SELECT ''::text AS domain, 0::bigint AS id, r.name AS description FROM crawl_runs AS r
WHERE
    r.status = 'done' AND r.spent_budget = '' AND coalesce((r.settings ->> 'max_pages')::bigint NOT BETWEEN 0 AND r.pages_started, true)
    AND EXISTS (SELECT 1 FROM run_domains AS rd WHERE rd.run_id = r.id AND rd.next_due_at <= now())
ORDER BY r.id;

-- name: CheckMoved :one
SELECT coalesce(sum(rd.moved_totals[9]), 0)::bigint AS moved FROM run_domains AS rd;
