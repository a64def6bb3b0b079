-- Creates a run, or changes the given settings of an existing one. max_pages
-- begins to count when it is first set, from what was already done.
-- name: RunUpsert :one
INSERT INTO crawl_runs AS r (
    name, delay_ms, ip_delay_ms, subnet_delay_ms, patience_ms, min_refetch_ms, time_window, latency_factor, graylist_ms, max_graylistings, max_pages, max_pages_per_domain, max_depth,
    max_attempts, max_active_domains, pages_per_activity, scope, purpose, block_on_login, standing
) VALUES (
    @name, @delay_ms, @ip_delay_ms, @subnet_delay_ms, @patience_ms, @min_refetch_ms, @time_window, @latency_factor, @graylist_ms, @max_graylistings, @max_pages, @max_pages_per_domain, @max_depth,
    @max_attempts, @max_active_domains, @pages_per_activity, @scope, @purpose, @block_on_login, @standing
)
ON CONFLICT (name) DO UPDATE SET
    delay_ms = coalesce(sqlc.narg('set_delay_ms'), r.delay_ms),
    ip_delay_ms = coalesce(sqlc.narg('set_ip_delay_ms'), r.ip_delay_ms),
    subnet_delay_ms = coalesce(sqlc.narg('set_subnet_delay_ms'), r.subnet_delay_ms),
    patience_ms = coalesce(sqlc.narg('set_patience_ms'), r.patience_ms),
    min_refetch_ms = coalesce(sqlc.narg('set_min_refetch_ms'), r.min_refetch_ms),
    time_window = coalesce(sqlc.narg('set_time_window'), r.time_window),
    latency_factor = coalesce(sqlc.narg('set_latency_factor'), r.latency_factor),
    graylist_ms = coalesce(sqlc.narg('set_graylist_ms'), r.graylist_ms),
    max_graylistings = coalesce(sqlc.narg('set_max_graylistings'), r.max_graylistings),
    max_pages = coalesce(sqlc.narg('set_max_pages'), r.max_pages),
    max_pages_per_domain = coalesce(sqlc.narg('set_max_pages_per_domain'), r.max_pages_per_domain),
    max_depth = coalesce(sqlc.narg('set_max_depth'), r.max_depth),
    max_attempts = coalesce(sqlc.narg('set_max_attempts'), r.max_attempts),
    max_active_domains = coalesce(sqlc.narg('set_max_active_domains'), r.max_active_domains),
    pages_per_activity = coalesce(sqlc.narg('set_pages_per_activity'), r.pages_per_activity),
    scope = coalesce(sqlc.narg('set_scope'), r.scope),
    purpose = coalesce(sqlc.narg('set_purpose'), r.purpose),
    block_on_login = coalesce(sqlc.narg('set_block_on_login'), r.block_on_login),
    standing = coalesce(sqlc.narg('set_standing'), r.standing),
    pages_started = CASE WHEN r.max_pages >= 0 THEN r.pages_started ELSE (
        SELECT coalesce(sum(rd.pages_started), 0) FROM run_domains AS rd WHERE rd.run_id = r.id
    ) END,
    updated_at = now()
RETURNING *;

-- name: RunByName :one
SELECT * FROM crawl_runs WHERE name = @name;

-- name: RunList :many
SELECT * FROM crawl_runs ORDER BY id;

-- Makes a run go on, whatever it was.
-- name: RunStart :exec
UPDATE crawl_runs SET
    status = 'running', status_reason = '', finished_at = NULL, updated_at = now()
WHERE id = @id;

-- name: RunStop :execrows
UPDATE crawl_runs SET status = 'stopped', status_reason = @reason, updated_at = now()
WHERE id = @id AND status = 'running';

-- name: RunEnd :execrows
UPDATE crawl_runs SET
    status = 'done', status_reason = @reason, finished_at = now(), updated_at = now()
WHERE id = @id AND status = 'running';

-- name: RunNextSeeding :one
UPDATE crawl_runs SET seedings = seedings + 1 WHERE id = @id RETURNING seedings;

-- name: RunTotals :one
SELECT
    count(*)::bigint AS domains,
    count(*) FILTER (WHERE seed)::bigint AS seed_domains,
    coalesce(sum(success), 0)::bigint AS success,
    coalesce(sum(failed), 0)::bigint AS failed,
    coalesce(sum(skipped), 0)::bigint AS skipped,
    coalesce(sum(timeout), 0)::bigint AS timeout,
    coalesce(sum(blocked_robots), 0)::bigint AS blocked_robots,
    coalesce(sum(blocked_4xx), 0)::bigint AS blocked_4xx,
    coalesce(sum(blocked_5xx), 0)::bigint AS blocked_5xx,
    coalesce(sum(bytes), 0)::bigint AS bytes
FROM run_domains WHERE run_id = @run_id;

-- What is left of a run's frontier. Counting stops at a bound: it is for people,
-- and a large frontier must not make looking at it slow.
-- name: RunFrontier :one
SELECT
    count(*)::bigint AS open,
    count(*) FILTER (WHERE o.locked_at IS NOT NULL)::bigint AS in_flight,
    count(*) FILTER (WHERE o.scheduled_for > now())::bigint AS deferred
FROM (
    SELECT c.locked_at, c.scheduled_for FROM page_crawls AS c
    WHERE c.run_id = @run_id AND c.outcome IS NULL LIMIT @bound
) AS o;

-- Whether anything keeps a run going: domains it claimed, and domains claimed by
-- any run that have work for this one.
-- name: RunActivity :one
SELECT
    count(*) FILTER (WHERE d.last_crawl_run_id = @run_id)::bigint AS active,
    count(*) FILTER (WHERE d.last_crawl_run_id = @run_id OR EXISTS (
        SELECT 1 FROM page_crawls AS c
        WHERE c.domain = d.domain AND c.run_id = @run_id AND c.outcome IS NULL
    ))::bigint AS busy
FROM domains AS d
WHERE d.claimed_by IS NOT NULL AND d.claim_expires_at > now();

-- What a run is waiting for: its active domains, those asked soonest first.
-- name: RunWaits :many
SELECT
    d.domain, s.reason,
    s.free_at,
    (s.holder IS NOT NULL)::boolean AS in_flight
FROM domains AS d
INNER JOIN politeness_slots AS s ON s.key = 'domain:' || d.domain
WHERE d.last_crawl_run_id = @run_id AND d.claimed_by IS NOT NULL AND d.claim_expires_at > now()
ORDER BY s.free_at LIMIT @max;

-- Domains of a run that were put away, and why.
-- name: RunPutAway :many
SELECT d.domain, d.status_reason, d.next_crawl_after
FROM run_domains AS rd INNER JOIN domains AS d ON rd.domain = d.domain
WHERE rd.run_id = @run_id AND d.next_crawl_after > now() AND d.status = 'pending'
ORDER BY d.next_crawl_after LIMIT @max;
