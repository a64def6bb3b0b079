-- All requests, for an audit. Earlier ones may have been moved, so their gaps are unknown here.
CREATE OR REPLACE VIEW audit_requests AS
SELECT
    c.id, c.domain, c.run_id, c.kind, c.ip, c.lost,
    c.completed_at - ms_interval(c.duration_ms::bigint) AS started_at, c.completed_at AS ended_at,
    c.delay_ms, c.delay_reason, c.ip_delay_ms, c.subnet, c.subnet_delay_ms,
    c.registered, c.registered_delay_ms, c.retry_after_ms
FROM page_crawls AS c
WHERE c.delay_ms IS NOT NULL AND c.completed_at >= (SELECT coalesce(i.moved_before, '-infinity') FROM installation AS i);
