-- Takes the slots of a domain and of the resources that it shares (its address, its subnet) for one
-- request, or returns how long to wait. A taken slot stays closed until the request must have ended and
-- the delay passed, even if nothing releases it: p_hold_ms for the domain, p_span_ms and its own delay
-- for a shared slot.
--
-- A shared slot keeps the strictest delay that was requested within the last hour, or twice that delay:
-- before and after a request, for every caller. So two runs with different delays keep the stricter one.
--
-- If a shared slot is busy, or other domains wait for it, the caller gets a place in its queue (tail): one
-- request fits between two places. With p_queued the caller has waited for its place.
--
-- This runs on the database's clock, read after the rows are locked, so that a worker's clock does not
-- matter. Slots are locked before any other row, in key order, which rules out deadlocks.
CREATE OR REPLACE FUNCTION slot_take(
    p_domain text, p_shared text[], p_shared_delay_ms bigint[], p_holder text,
    p_hold_ms bigint, p_span_ms bigint, p_queued boolean
) RETURNS slot_answer LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
    keys CONSTANT text[] := k_domain || p_shared;
    slot record;
    domain record;
    wanted timestamptz;
    place timestamptz;
    reason text;
    t timestamptz;
    v_strict_ms bigint[];
    v_strict_until timestamptz[];
BEGIN
    reason := domain_forbidden(p_domain);
    IF reason IS NOT NULL THEN
        RETURN (false, 0, reason, 0, NULL)::slot_answer;
    END IF;
    -- before any lock: others lock the domain's row, which may be inserted here, before an address's
    IF EXISTS (SELECT 1 FROM unnest(keys) k WHERE (SELECT s.key FROM politeness_slots s WHERE s.key = k) IS NULL) THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k ON CONFLICT (key) DO NOTHING;
    END IF;
    PERFORM 1 FROM (SELECT k FROM unnest(keys) k ORDER BY k) o
    CROSS JOIN LATERAL (SELECT 1 FROM politeness_slots s WHERE s.key = o.k FOR UPDATE) l;
    t := clock_timestamp();
    SELECT s.* INTO domain FROM politeness_slots s WHERE s.key = k_domain;
    IF domain.free_at > t THEN
        RETURN (false, ms_between(t, domain.free_at), domain.reason, 0, NULL)::slot_answer;
    END IF;
    SELECT array_agg(greatest(k.delay_ms, CASE WHEN s.strict_until > t THEN s.strict_ms END) ORDER BY k.n),
        array_agg(CASE
            WHEN s.strict_until > t AND s.strict_ms > k.delay_ms THEN s.strict_until
            ELSE t + greatest(interval '1 hour', ms_interval(2 * k.delay_ms))
        END ORDER BY k.n)
    INTO v_strict_ms, v_strict_until
    FROM unnest(p_shared, p_shared_delay_ms) WITH ORDINALITY AS k (key, delay_ms, n)
    CROSS JOIN LATERAL (SELECT x.* FROM politeness_slots x WHERE x.key = k.key) s;
    FOR slot IN
        SELECT
            greatest(s.free_at, s.ended_at + ms_interval(k.delay_ms)) AS free_at,
            s.tail, s.holder, k.key, ms_interval(k.delay_ms) AS delay
        FROM unnest(p_shared, v_strict_ms) AS k (key, delay_ms)
        CROSS JOIN LATERAL (SELECT x.* FROM politeness_slots x WHERE x.key = k.key) s
    LOOP
        CONTINUE WHEN slot.free_at <= t AND (slot.tail <= t OR p_queued);
        -- a request in flight usually ends long before its lease: look again soon
        wanted := greatest(t, CASE
            WHEN slot.holder IS NULL THEN slot.free_at ELSE least(slot.free_at, t + slot.delay)
        END);
        IF NOT p_queued THEN
            wanted := greatest(wanted, slot.tail);
        END IF;
        IF place IS NULL OR wanted > place THEN
            place := wanted;
            reason := split_part(slot.key, ':', 1);
        END IF;
    END LOOP;
    IF place IS NOT NULL THEN
        IF NOT p_queued THEN
            UPDATE politeness_slots s
            SET tail = greatest(s.tail, place + ms_interval(v_strict_ms[array_position(p_shared, s.key)])),
                strict_ms = v_strict_ms[array_position(p_shared, s.key)],
                strict_until = v_strict_until[array_position(p_shared, s.key)]
            WHERE s.key = ANY (p_shared);
        END IF;
        RETURN (false, ms_between(t, place), reason, 0, NULL)::slot_answer;
    END IF;
    UPDATE politeness_slots s
    SET free_at = t + ms_interval(CASE
            WHEN s.key = k_domain THEN p_hold_ms
            ELSE p_span_ms + v_strict_ms[array_position(p_shared, s.key)]
        END),
        holder = p_holder, reason = 'in flight', updated_at = t,
        strict_ms = v_strict_ms[array_position(p_shared, s.key)],
        strict_until = v_strict_until[array_position(p_shared, s.key)]
    WHERE s.key = ANY (keys);
    RETURN (true, 0, '', 0, domain.holder)::slot_answer;
END
$$;

-- Takes the slots of domains that share nothing, as slot_take does. For the others it returns the
-- reason, and how long to wait.
CREATE OR REPLACE FUNCTION slots_take(p start_attempt[]) RETURNS start_attempt[] LANGUAGE plpgsql AS $$
DECLARE
    keys CONSTANT text[] := ARRAY(SELECT 'domain:' || a.domain FROM unnest(p) a ORDER BY 1);
    v start_attempt[];
    t timestamptz;
BEGIN
    IF EXISTS (SELECT 1 FROM unnest(keys) k WHERE (SELECT s.key FROM politeness_slots s WHERE s.key = k) IS NULL) THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k ON CONFLICT (key) DO NOTHING;
    END IF;
    PERFORM 1 FROM unnest(keys) k CROSS JOIN LATERAL (SELECT 1 FROM politeness_slots s WHERE s.key = k FOR UPDATE) l;
    t := clock_timestamp();
    v := ARRAY(
        SELECT (a.n, a.domain, a.crawl_id, a.retry_priority, a.hold, a.claim, CASE WHEN f.kind IS NULL THEN s.holder END,
            CASE WHEN f.kind IS NULL AND s.free_at > t THEN ms_between(t, s.free_at) END,
            coalesce(f.kind, CASE WHEN s.free_at > t THEN s.reason END))::start_attempt
        FROM unnest(p) a CROSS JOIN LATERAL (
            SELECT x.free_at, x.reason, x.holder FROM politeness_slots x WHERE x.key = 'domain:' || a.domain LIMIT 1
        ) s CROSS JOIN LATERAL (SELECT domain_forbidden(a.domain) AS kind) f
    );
    UPDATE politeness_slots s
    SET free_at = t + a.hold, holder = 'crawl:' || a.crawl_id, reason = 'in flight', updated_at = t
    FROM unnest(v) a
    WHERE s.key = ANY (keys) AND s.key = 'domain:' || a.domain AND a.reason IS NULL;
    PERFORM crawl_reap(a.was) FROM unnest(v) a WHERE a.reason IS NULL AND a.was IS NOT NULL;
    RETURN v;
END
$$;

-- Releases slots without a request, or without one that counts: they are free after a delay each.
CREATE OR REPLACE FUNCTION slot_undo(
    p_domain text, p_shared text[], p_holder text, p_delay_ms bigint, p_shared_delay_ms bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM politeness_slots s
    WHERE s.key = ANY ('domain:' || p_domain || p_shared) AND s.holder = p_holder ORDER BY s.key FOR UPDATE;
    UPDATE politeness_slots s SET
        free_at = clock_timestamp() + ms_interval(
            coalesce(p_shared_delay_ms[array_position(p_shared, s.key)], p_delay_ms)
        ),
        ended_at = CASE WHEN p_delay_ms > 0 THEN clock_timestamp() ELSE ended_at END,
        reason = CASE WHEN p_delay_ms > 0 THEN 'delay' ELSE '' END, holder = NULL, updated_at = clock_timestamp()
    WHERE s.key = ANY ('domain:' || p_domain || p_shared) AND s.holder = p_holder;
END
$$;
