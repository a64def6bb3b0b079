-- Counts the pages that an earlier extractor has read or that must be read anew, on domains that
-- may be requested and on others.
-- name: ReprocessDue :one
SELECT
    count(*) FILTER (WHERE NOT o.closed)::bigint AS due,
    count(DISTINCT p.domain) FILTER (WHERE NOT o.closed)::bigint AS domains,
    count(*) FILTER (WHERE o.closed)::bigint AS closed
FROM pages AS p
CROSS JOIN LATERAL (
    SELECT domain_forbidden_by(p.domain) IS NOT NULL OR EXISTS (
        SELECT 1 FROM domains AS d WHERE d.domain = p.domain AND is_abandoned(d.status)
    ) AS closed
) AS o
WHERE
    p.kind = ANY (kinds('document')) AND p.status = 'fetched' AND coalesce(p.extractor, 0) < @extractor::integer
    AND (p.domain = sqlc.narg(domain)::text OR sqlc.narg(domain)::text IS NULL);

-- Hands the pages of domains that may be requested to the next SeedWorkflow of a run.
-- name: ReprocessStage :execrows
INSERT INTO staged_seeds (run_id, url)
SELECT @run_id::bigint, p.url
FROM pages AS p
WHERE
    p.kind = ANY (kinds('document')) AND p.status = 'fetched' AND coalesce(p.extractor, 0) < @extractor::integer
    AND (p.domain = sqlc.narg(domain)::text OR sqlc.narg(domain)::text IS NULL)
    AND domain_forbidden_by(p.domain) IS NULL
    AND NOT EXISTS (SELECT 1 FROM domains AS d WHERE d.domain = p.domain AND is_abandoned(d.status))
ORDER BY p.id;
