-- About how many rows a table or an index has, by the planner's statistics; 0 where it was
-- never looked at.
CREATE OR REPLACE FUNCTION rows_about(p_relation text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(c.reltuples, 0)::bigint FROM pg_class c WHERE c.oid = p_relation::regclass
$$;

-- What a domain that is served waits for, as its slot says; empty is nothing.
CREATE OR REPLACE FUNCTION slot_waits(p_holder text, p_free_at timestamptz, p_reason text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_holder IS NOT NULL THEN 'in flight' WHEN p_free_at > now() THEN p_reason ELSE '' END
$$;

-- The gaps that have ended in a span of time. kind is what was left alone: a domain, an address,
-- a subnet or a registered domain. Gaps are counted by how late the next request came after it
-- was allowed, in the buckets between bounds (seconds); latest_seconds is of the latest. One that
-- came early is a violation. Only requests to domains that are served count: the last 50 of each,
-- from at most ten minutes before.
CREATE OR REPLACE FUNCTION gaps_ended(p_since timestamptz, p_until timestamptz, p_bounds double precision[])
RETURNS TABLE (kind text, bucket integer, gaps bigint, violations bigint, late_seconds double precision, latest_seconds double precision)
LANGUAGE sql STABLE AS $$
    WITH asked AS MATERIALIZED (
        SELECT r.*
        FROM domains d
        CROSS JOIN LATERAL (
            SELECT
                c.id, c.domain, c.ip, c.subnet, c.registered, c.lost, c.completed_at,
                c.completed_at - ms_interval(c.duration_ms::bigint) AS started_at,
                greatest(c.delay_ms, coalesce(c.retry_after_ms, 0)) AS delay_ms,
                c.ip_delay_ms, c.subnet_delay_ms, c.registered_delay_ms
            FROM page_crawls c
            WHERE c.domain = d.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL
                AND c.completed_at > p_since - interval '10 minutes' AND c.completed_at <= p_until
            ORDER BY c.completed_at DESC LIMIT 50
        ) r
        WHERE d.claimed_by IS NOT NULL
    ), pairs AS (
        SELECT k.kind, r.lost, k.delay_ms, r.completed_at AS ended_at,
            lead(r.started_at) OVER w AS next_at, lead(r.completed_at) OVER w AS next_ended
        FROM asked r
        CROSS JOIN LATERAL (VALUES
            ('domain', r.domain, r.delay_ms),
            ('address', host(r.ip), r.ip_delay_ms),
            ('subnet', r.subnet::text, r.subnet_delay_ms),
            ('registered', r.registered, r.registered_delay_ms)
        ) AS k (kind, key, delay_ms)
        WHERE k.key IS NOT NULL AND k.delay_ms IS NOT NULL AND (k.kind = 'domain' OR k.delay_ms > 0 AND NOT r.lost)
        WINDOW w AS (PARTITION BY k.kind, k.key ORDER BY r.started_at, r.id)
    ), late AS (
        SELECT p.kind, extract(EPOCH FROM p.next_at - p.ended_at)::double precision - p.delay_ms / 1000.0::double precision AS late
        FROM pairs p WHERE NOT p.lost AND p.next_ended > p_since
    )
    SELECT l.kind, width_bucket(l.late, p_bounds), count(*), count(*) FILTER (WHERE l.late < 0),
        coalesce(sum(greatest(l.late, 0)), 0)::double precision, greatest(max(l.late), 0)
    FROM late l GROUP BY 1, 2
$$;
