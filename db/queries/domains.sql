-- name: DomainsClaim :one
SELECT domains_claim(@run_id::bigint, @max::integer, ms_interval(@claim_ms::bigint))::text [] AS domains;

-- Notes whether domains of a run wait that are due: no more may be active (is_full). The active
-- ones then make room.
-- name: RunCrowd :exec
UPDATE crawl_runs AS r SET crowded = NOT r.crowded
WHERE r.id = @run_id::bigint AND r.crowded <> (@is_full::boolean AND run_due_count(@run_id::bigint, 1) > 0);

-- name: DomainsPrioritize :exec
SELECT domains_prioritize(ARRAY(SELECT d.domain FROM domains AS d WHERE d.id > @after::bigint AND d.id <= @upto::bigint));

-- name: DomainsLast :one
SELECT coalesce(max(id), 0)::bigint AS last FROM domains;

-- Keeps a claim over a wait.
-- name: DomainClaimRenew :exec
UPDATE domains SET claim_expires_at = now() + ms_interval(@claim_ms)
WHERE domain = @domain AND claimed_by IS NOT NULL;

-- Waits for those who are adding crawls, see crawls_add.
-- name: DomainLock :one
SELECT domain FROM domains WHERE domain = @domain FOR UPDATE;

-- name: DomainFinish :exec
SELECT domain_finish(
    @domain::text, sqlc.narg('deferred')::timestamptz, sqlc.narg('opens')::timestamptz, @reason::text, @yields::bigint []
);

-- name: DomainCounted :exec
SELECT domain_counted(@domain::text, @grows::bigint []);

-- name: DomainRefuse :exec
SELECT domain_refuse(@domain::text, @ip::inet, @wait_ms::bigint, @reason::text);

-- name: DomainsPermit :one
SELECT domains_permit(@networks::text [])::integer AS lifted;

-- The running runs that have something pending on a domain.
-- name: DomainRuns :many
SELECT r.name FROM run_domains AS rd INNER JOIN crawl_runs AS r ON rd.run_id = r.id
WHERE rd.domain = @domain AND r.status = 'running' ORDER BY r.id LIMIT @max;

-- name: DomainControl :exec
SELECT domain_control(
    @domain::text, @kind::text, sqlc.narg('value')::jsonb, @reason::text, @by::text, sqlc.narg('until')::timestamptz,
    @decision::text
);

-- name: DomainLift :one
SELECT domain_lift(@domain::text, @kinds::text [], @by::text)::boolean AS lifted;

-- name: DomainGet :one
SELECT
    sqlc.embed(d), (domain_state(ARRAY[d.domain]))[1]::jsonb AS state,
    coalesce((SELECT r.name FROM crawl_runs AS r WHERE r.id = d.last_crawl_run_id), '')::text AS last_run
FROM domains AS d WHERE d.domain = @domain;

-- name: DomainTotals :many
SELECT
    r.id, r.name AS run, r.status AS run_status, r.settings, rd.seed, rd.pages_started, rd.requests, rd.skips, rd.nofollow, rd.success, rd.failed, rd.skipped,
    rd.timeout, rd.blocked_robots, rd.blocked_4xx, rd.blocked_5xx, rd.bytes, r.pages_started AS run_started, rd.budget_growths,
    rd.images_found, rd.images_started, rd.images_stored,
    (requests_spent(r, rd, domain_budget(rd.domain)) <> '')::boolean AS spent,
    coalesce(pages_budget(r.settings, rd.budget_growths, domain_budget(rd.domain)), -1)::bigint AS budget
FROM run_domains AS rd INNER JOIN crawl_runs AS r ON rd.run_id = r.id
WHERE rd.domain = @domain ORDER BY r.id;

-- name: DomainOpen :one
SELECT
    count(*)::bigint AS open,
    coalesce(min(o.scheduled_for), 'epoch')::timestamptz AS next_due
FROM (
    SELECT c.scheduled_for FROM page_crawls AS c
    WHERE c.domain = @domain AND c.outcome IS NULL LIMIT @bound
) AS o;

-- Patterns of a domain's URLs that have brought duplicates, as the latest of its runs sees them.
-- name: DomainPatterns :many
SELECT
    u.pattern, pattern_count(u.seen, u.run_id, r.latest)::integer AS seen,
    pattern_count(u.duplicates, u.run_id, r.latest)::integer AS duplicates,
    pattern_count(u.copies, u.run_id, r.latest)::integer AS copies
FROM url_patterns AS u CROSS JOIN (SELECT max(rd.run_id) AS latest FROM run_domains AS rd WHERE rd.domain = @domain) AS r
WHERE u.domain = @domain AND u.duplicates + u.copies > 0 ORDER BY u.duplicates + u.copies DESC, u.pattern LIMIT @max;

-- name: DomainResetPatterns :exec
SELECT patterns_reset(@domain::text);

-- Domains, as mosey domains lists them. The totals are those of the last count.
-- name: DomainList :many
SELECT d.* FROM domains AS d
WHERE
    (sqlc.narg('status')::text IS NULL OR d.status = sqlc.narg('status')::text::domain_status)
    AND (sqlc.narg('source')::text IS NULL OR d.source = sqlc.narg('source')::text)
ORDER BY
    CASE @sort::text
        WHEN 'score' THEN -d.priority_score
        WHEN 'rank' THEN d.seed_rank
        WHEN 'pages' THEN -d.pages_crawled
        WHEN 'found' THEN -d.pages_discovered
        WHEN 'bytes' THEN -d.bytes
        WHEN 'errors' THEN -d.error_rate
        WHEN 'slow' THEN -d.avg_response_ms
        WHEN 'last' THEN -extract(EPOCH FROM d.last_crawled_at)::double precision -- as all others then
    END NULLS LAST, d.domain
LIMIT @max;

-- name: DomainsCount :exec
SELECT domains_count(@domains::text []);

-- name: DomainsRelease :one
SELECT domains_release(sqlc.narg('domains')::text [])::text [] AS released;

-- name: DomainsAfter :many
SELECT id, domain FROM domains WHERE id > @after::bigint ORDER BY id LIMIT @most;

-- Notes which registered domains domains are part of; one that is its own is registered itself.
-- name: DomainsGroup :exec
WITH given AS (
    SELECT u.domain, nullif(u.registered, u.domain) AS registered
    FROM (SELECT unnest(@domains::text []) AS domain, unnest(@registered::text []) AS registered) AS u
),

dropped AS (
    DELETE FROM registered_domains AS g USING given AS u WHERE g.domain = u.domain AND u.registered IS NULL
),

grouped AS (
    INSERT INTO registered_domains AS g (domain, registered)
    SELECT u.domain, u.registered FROM given AS u WHERE u.registered IS NOT NULL ORDER BY u.domain
    ON CONFLICT (domain) DO UPDATE SET registered = excluded.registered WHERE g.registered <> excluded.registered
)

UPDATE run_domains AS rd SET registered = u.registered
FROM given AS u
WHERE rd.domain = u.domain AND rd.registered IS DISTINCT FROM u.registered;
