-- Closes the slots of a database that was restored from a state of some age, before anything makes
-- requests for it, and returns how many it has closed. Its hosts may have been asked until just
-- now, by requests that the state knows nothing of. So each slot stays closed from now on for its
-- delay, or for as long as it was closed anyway. The delay is the strictest that is known: of the
-- runs, of a person, of robots.txt, and after the last requests. A request that the state does not
-- know may have begun such a delay a moment ago. What a server asked for once (Retry-After) counts up
-- to the age of the state: it was known to the state, or began after it.
--
-- Domains that have no slot yet get one. So does a domain that is found anew: the default of the
-- column says when that opens.
CREATE OR REPLACE FUNCTION slots_restored(p_age_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_delay interval;
    v_ip interval;
    v_subnet interval;
    v_closed bigint;
BEGIN
    SELECT
        coalesce(max(coalesce((r.settings ->> 'delay')::interval, interval '10 seconds')), interval '0'),
        coalesce(max(coalesce((r.settings ->> 'ip_delay')::interval, interval '1 second')), interval '0'),
        coalesce(max((r.settings ->> 'subnet_delay')::interval), interval '0')
    INTO v_delay, v_ip, v_subnet
    FROM crawl_runs r;
    EXECUTE format('ALTER TABLE politeness_slots ALTER free_at SET DEFAULT %L', t + v_delay);
    INSERT INTO politeness_slots AS s (key, free_at, reason)
    SELECT 'domain:' || d.domain, t + greatest(
        v_delay,
        (SELECT ms_interval(max(o.crawl_delay_ms)) FROM robots o WHERE o.domain = d.domain),
        (
            SELECT ms_interval((c.value #>> '{}')::bigint) FROM domain_controls c
            WHERE c.domain = d.domain AND c.kind = 'delay' AND c.lifted_at IS NULL
        ),
        (
            SELECT max(ms_interval(least(
                greatest(a.delay_ms, a.retry_after_ms, a.registered_delay_ms), CASE WHEN a.retry_after_ms IS NOT NULL THEN p_age_ms END
            ))) FROM (
                SELECT c.delay_ms, c.retry_after_ms, c.registered_delay_ms FROM page_crawls c
                WHERE c.domain = d.domain AND c.outcome IS NOT NULL ORDER BY c.completed_at DESC LIMIT 10
            ) a
        )
    ), 'delay'
    FROM domains d
    UNION ALL
    SELECT x.key, t + greatest(
        CASE split_part(x.key, ':', 1) WHEN 'ip' THEN v_ip WHEN 'subnet' THEN v_subnet ELSE v_delay END, ms_interval(x.strict_ms)
    ), 'delay'
    FROM politeness_slots x
    WHERE CASE WHEN x.key LIKE 'domain:%' THEN NOT EXISTS (SELECT 1 FROM domains d WHERE d.domain = substr(x.key, 8)) ELSE true END
    ON CONFLICT (key) DO UPDATE SET
        free_at = greatest(s.free_at, excluded.free_at),
        reason = CASE WHEN s.free_at < excluded.free_at AND s.holder IS NULL THEN 'delay' ELSE s.reason END,
        tail = greatest(s.tail, excluded.free_at),
        ended_at = greatest(s.ended_at, t),
        updated_at = t;
    GET DIAGNOSTICS v_closed = ROW_COUNT;
    RETURN v_closed;
END
$$;
