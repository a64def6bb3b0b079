-- Takes the slots of a domain and of what it shares with others (its address, its
-- subnet) for one request, or says how long to wait. A taken slot stays closed
-- until the request must have ended and the delay passed, even if nothing releases
-- it: p_hold_ms for the domain, p_span_ms and its own delay for what is shared.
--
-- What is shared is left alone for the strictest of the delays that were asked for
-- within the last hour, or twice that delay: before a request and after it, for every
-- caller. So two runs with different delays for an address keep to the stricter one.
--
-- If a shared slot is busy, or other domains wait for it, the caller gets a place
-- in its queue (tail): one request fits between two places. p_queued means that
-- the caller has waited for its place; it then only waits for the slots themselves.
--
-- This and attempts_record run on the database's clock, read after the rows are
-- locked, so that a worker's own clock never matters. Slots are locked before any
-- other row, in key order, which rules out deadlocks.
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
BEGIN
    IF cardinality(p_shared) = 0 THEN
        RETURN slot_take_alone(k_domain, p_holder, p_hold_ms);
    END IF;
    -- Before anything is locked: an address's lock must not be held while its
    -- domain's row is inserted, which others lock first.
    IF EXISTS (SELECT 1 FROM unnest(keys) k WHERE (SELECT s.key FROM politeness_slots s WHERE s.key = k) IS NULL) THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k
        ON CONFLICT (key) DO NOTHING;
    END IF;
    PERFORM 1 FROM (SELECT k FROM unnest(keys) k ORDER BY k) o
    CROSS JOIN LATERAL (SELECT 1 FROM politeness_slots s WHERE s.key = o.k FOR UPDATE) l;
    t := clock_timestamp();
    SELECT s.* INTO domain FROM politeness_slots s WHERE s.key = k_domain;
    IF domain.free_at > t THEN
        RETURN (false, ms_between(t, domain.free_at), domain.reason, 0, NULL)::slot_answer;
    END IF;
    v_strict_ms := ARRAY(
        SELECT greatest(k.delay_ms, CASE WHEN s.strict_until > t THEN s.strict_ms END)
        FROM unnest(p_shared, p_shared_delay_ms) WITH ORDINALITY AS k (key, delay_ms, n)
        CROSS JOIN LATERAL (SELECT x.* FROM politeness_slots x WHERE x.key = k.key) s
        ORDER BY k.n
    );
    FOR slot IN
        SELECT
            greatest(s.free_at, s.ended_at + ms_interval(k.delay_ms)) AS free_at,
            s.tail, s.holder, k.key, ms_interval(k.delay_ms) AS delay
        FROM unnest(p_shared, v_strict_ms) AS k (key, delay_ms)
        CROSS JOIN LATERAL (SELECT x.* FROM politeness_slots x WHERE x.key = k.key) s
    LOOP
        CONTINUE WHEN slot.free_at <= t AND (slot.tail <= t OR p_queued);
        -- A request in flight ends long before its lease, as a rule: look again soon.
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
                strict_until = strict_until(s, p_shared_delay_ms[array_position(p_shared, s.key)], t)
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
        strict_until = strict_until(s, p_shared_delay_ms[array_position(p_shared, s.key)], t)
    WHERE s.key = ANY (keys);
    RETURN (true, 0, '', 0, domain.holder)::slot_answer;
END
$$;

-- The same for a domain that shares nothing; p_key is that of its slot.
CREATE OR REPLACE FUNCTION slot_take_alone(p_key text, p_holder text, p_hold_ms bigint) RETURNS slot_answer
LANGUAGE plpgsql AS $$
DECLARE
    slot record;
    t timestamptz;
BEGIN
    SELECT s.free_at, s.reason, s.holder INTO slot FROM politeness_slots s WHERE s.key = p_key FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO politeness_slots (key) VALUES (p_key) ON CONFLICT (key) DO NOTHING;
        SELECT s.free_at, s.reason, s.holder INTO slot FROM politeness_slots s WHERE s.key = p_key FOR UPDATE;
    END IF;
    t := clock_timestamp();
    IF slot.free_at > t THEN
        RETURN (false, ms_between(t, slot.free_at), slot.reason, 0, NULL)::slot_answer;
    END IF;
    UPDATE politeness_slots s
    SET free_at = t + ms_interval(p_hold_ms), holder = p_holder, reason = 'in flight', updated_at = t
    WHERE s.key = p_key;
    RETURN (true, 0, '', 0, slot.holder)::slot_answer;
END
$$;

-- Until when the strictest delay of a shared slot counts, now that one has been
-- asked for; null is of a domain.
CREATE OR REPLACE FUNCTION strict_until(s politeness_slots, p_delay_ms bigint, p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF s.strict_until > p_now AND s.strict_ms > p_delay_ms THEN
        RETURN s.strict_until;
    END IF;
    RETURN p_now + greatest(interval '1 hour', ms_interval(2 * p_delay_ms));
END
$$;
