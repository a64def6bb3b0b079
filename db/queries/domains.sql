-- Claims domains that have due work for a run: by priority, skipping those that
-- another dispatcher is just claiming. Claims that ran out count as none.
-- name: DomainsClaim :many
WITH due AS (
    SELECT d.id FROM domains AS d
    WHERE
        d.status IN ('pending', 'active')
        AND (d.claim_expires_at IS NULL OR d.claim_expires_at < now())
        AND (d.next_crawl_after IS NULL OR d.next_crawl_after <= now())
        AND EXISTS (
            SELECT 1 FROM domain_runs AS r
            INNER JOIN page_crawls AS c ON r.run_id = c.run_id AND r.domain = c.domain
            WHERE
                r.domain = d.domain AND r.run_id = sqlc.arg('run_id') AND c.outcome IS NULL
                AND ((r.has_budget AND c.scheduled_for <= now()) OR c.locked_at IS NOT NULL)
        )
    ORDER BY d.priority_score DESC, d.id
    LIMIT sqlc.arg('max')
    FOR UPDATE OF d SKIP LOCKED
)
UPDATE domains AS d SET
    status = 'active', status_reason = '', claimed_by = 'domain/' || d.domain,
    claim_expires_at = now() + interval '1 minute', last_crawl_run_id = sqlc.arg('run_id'),
    next_crawl_after = NULL
FROM due WHERE d.id = due.id
RETURNING d.domain;

-- Keeps a claim over a wait that is longer than a lease.
-- name: DomainHold :exec
UPDATE domains SET claim_expires_at = now() + ms_interval(@hold_ms)
WHERE domain = @domain AND claimed_by IS NOT NULL;

-- name: DomainFinish :one
SELECT domain_finish(@domain::text, @until_ms::bigint, @reason::text)::boolean AS finished;

-- name: DomainSet :execrows
UPDATE domains SET
    delay_ms = coalesce(sqlc.narg('delay_ms'), delay_ms),
    max_pages = coalesce(sqlc.narg('max_pages'), max_pages),
    time_window = CASE WHEN sqlc.narg('time_window')::text = '' THEN NULL ELSE coalesce(sqlc.narg('time_window'), time_window) END
WHERE domain = @domain;

-- name: DomainBlock :execrows
UPDATE domains SET status = 'blocked', status_reason = @reason WHERE domain = @domain;

-- name: DomainGiveUp :exec
UPDATE domains SET status = 'unreachable', status_reason = @reason
WHERE domain = @domain AND status IN ('pending', 'active');

-- Blocks a domain, known or not, until it is unblocked.
-- name: DomainBan :exec
INSERT INTO domains AS d (domain, status, status_reason, banned)
VALUES (@domain, 'blocked', @reason, true)
ON CONFLICT (domain) DO UPDATE SET status = 'blocked', status_reason = excluded.status_reason, banned = true;

-- name: DomainUnban :execrows
UPDATE domains SET status = 'pending', status_reason = '', banned = false, next_crawl_after = NULL
WHERE domain = @domain AND status = 'blocked';

-- name: DomainGet :one
SELECT * FROM domains WHERE domain = @domain;

-- name: DomainHealth :one
SELECT health FROM domain_health WHERE domain = @domain;

-- name: DomainTotals :many
SELECT
    r.name AS run, r.status AS run_status, rd.seed, rd.pages_started, rd.success, rd.failed, rd.skipped,
    rd.timeout, rd.blocked_robots, rd.blocked_4xx, rd.blocked_5xx, rd.bytes,
    r.max_pages AS run_budget, r.time_window, r.pages_started AS run_started,
    coalesce(d.max_pages, r.max_pages_per_domain)::bigint AS budget
FROM run_domains AS rd
INNER JOIN crawl_runs AS r ON rd.run_id = r.id
INNER JOIN domains AS d ON rd.domain = d.domain
WHERE rd.domain = @domain ORDER BY r.id;

-- name: DomainRecent :many
SELECT
    c.id, c.url, r.name AS run, c.outcome, c.status_code, c.error_message, c.completed_at,
    c.duration_ms, c.bytes, c.skipped, c.unchanged
FROM page_crawls AS c INNER JOIN crawl_runs AS r ON c.run_id = r.id
WHERE c.domain = @domain AND c.outcome IS NOT NULL
ORDER BY c.completed_at DESC LIMIT @max;

-- name: DomainOpen :one
SELECT
    count(*)::bigint AS open,
    coalesce(min(o.scheduled_for), 'epoch')::timestamptz AS next_due
FROM (
    SELECT c.scheduled_for FROM page_crawls AS c
    WHERE c.domain = @domain AND c.outcome IS NULL LIMIT @bound
) AS o;

-- name: DomainBanned :one
SELECT EXISTS (SELECT 1 FROM domains WHERE domain = @domain AND banned)::boolean AS banned;

-- Patterns of a domain's URLs that have brought too little news.
-- name: DomainSpentPatterns :many
SELECT pattern, seen, duplicates FROM url_patterns
WHERE domain = @domain AND spent ORDER BY updated_at DESC LIMIT @max;
