-- Closes the slots of a database that was restored from an older backup. Run it before any request.
-- It returns the number of slots, and the instant at which a new domain opens. The backup lacks the
-- latest requests. So each slot stays closed from now on for its delay, or longer if it was closed
-- anyway. The delay is the strictest one of the runs, of an operator, of robots.txt and of the last
-- requests. A Retry-After counts up to the age of the backup, because it is in the backup or began
-- after it. Domains without a slot get one.
-- name: SlotsCloseAfterRestore :one
WITH strictest AS MATERIALIZED (
    SELECT
        clock_timestamp() AS t,
        coalesce(max(coalesce((r.settings ->> 'delay')::interval, interval '10 seconds')), interval '0') AS delay,
        coalesce(max(coalesce((r.settings ->> 'ip_delay')::interval, interval '1 second')), interval '0') AS ip,
        coalesce(max((r.settings ->> 'subnet_delay')::interval), interval '0') AS subnet
    FROM crawl_runs AS r
), closed AS (
    INSERT INTO politeness_slots AS s (key, free_at, reason)
    SELECT 'domain:' || d.domain, n.t + greatest(
        n.delay,
        (SELECT ms_interval(max(o.crawl_delay_ms)) FROM robots AS o WHERE o.domain = d.domain),
        (
            SELECT ms_interval((c.value #>> '{}')::bigint) FROM domain_controls AS c
            WHERE c.domain = d.domain AND c.kind = 'delay' AND c.lifted_at IS NULL
        ),
        (
            SELECT max(ms_interval(least(
                greatest(a.delay_ms, a.retry_after_ms, a.registered_delay_ms), CASE WHEN a.retry_after_ms IS NOT NULL THEN @age_ms::bigint END
            ))) FROM (
                SELECT c.delay_ms, c.retry_after_ms, c.registered_delay_ms FROM page_crawls AS c
                WHERE c.domain = d.domain AND c.outcome IS NOT NULL ORDER BY c.completed_at DESC LIMIT 10
            ) AS a
        )
    ), 'delay'
    FROM domains AS d CROSS JOIN strictest AS n
    UNION ALL
    SELECT x.key, n.t + greatest(
        CASE split_part(x.key, ':', 1) WHEN 'ip' THEN n.ip WHEN 'subnet' THEN n.subnet ELSE n.delay END, ms_interval(x.strictest_delay_ms)
    ), 'delay'
    FROM politeness_slots AS x CROSS JOIN strictest AS n
    WHERE CASE WHEN x.key LIKE 'domain:%' THEN NOT EXISTS (SELECT 1 FROM domains AS d WHERE d.domain = substr(x.key, 8)) ELSE true END
    ON CONFLICT (key) DO UPDATE SET
        free_at = greatest(s.free_at, excluded.free_at),
        reason = CASE WHEN s.free_at < excluded.free_at AND s.holder IS NULL THEN 'delay' ELSE s.reason END,
        queue_end = greatest(s.queue_end, excluded.free_at),
        ended_at = greatest(s.ended_at, statement_timestamp()),
        updated_at = statement_timestamp()
    RETURNING s.key
)
SELECT (SELECT count(*) FROM closed)::bigint AS closed, (SELECT n.t + n.delay FROM strictest AS n)::timestamptz AS opens;
