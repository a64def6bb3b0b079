-- Takes the slots of each attempt: its domain's, and those of its address and subnet. p is an
-- array of crawl.Start of different domains. An attempt without a slot has a reason and a wait. A
-- taken slot stays closed until the request must have ended and the delay passed, even if nothing
-- releases it.
--
-- It uses the database's clock, read after the locks, so that a worker's clock does not matter.
-- Slots are locked before any other row, in key order, which rules out deadlocks.
CREATE OR REPLACE FUNCTION slots_take(p jsonb) RETURNS start_attempt[] LANGUAGE plpgsql AS $$
DECLARE
    v start_attempt[] := ARRAY(
        SELECT (e.n, e.doc ->> 'domain', (e.doc ->> 'attempt_id')::bigint, (e.doc ->> 'retry_priority')::smallint,
            ms_interval((e.doc ->> 'hold_ms')::bigint), ms_interval((e.doc ->> 'claim_ms')::bigint),
            ms_interval((e.doc ->> 'span_ms')::bigint), (e.doc ->> 'queued')::boolean,
            ARRAY(SELECT s ->> 'key' FROM jsonb_array_elements(e.doc -> 'shared_slots') s),
            ARRAY(SELECT (s ->> 'delay_ms')::bigint FROM jsonb_array_elements(e.doc -> 'shared_slots') s),
            NULL, NULL, domain_forbidden_by(e.doc ->> 'domain'))::start_attempt
        FROM jsonb_array_elements(p) WITH ORDINALITY AS e (doc, n) ORDER BY e.doc ->> 'domain'
    );
    keys CONSTANT text[] := ARRAY(
        SELECT DISTINCT k FROM unnest(v) a CROSS JOIN LATERAL unnest('domain:' || a.domain || a.shared_keys) k
        WHERE a.reason IS NULL ORDER BY 1
    );
    t timestamptz;
BEGIN
    IF EXISTS (SELECT 1 FROM unnest(keys) k WHERE (SELECT s.key FROM politeness_slots s WHERE s.key = k) IS NULL) THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k ON CONFLICT (key) DO NOTHING;
    END IF;
    PERFORM 1 FROM unnest(keys) k CROSS JOIN LATERAL (SELECT 1 FROM politeness_slots s WHERE s.key = k FOR UPDATE) l;
    t := clock_timestamp();
    FOR i IN 1 .. cardinality(v) LOOP
        CONTINUE WHEN v[i].reason IS NOT NULL;
        v[i] := slot_take(v[i], t);
        IF v[i].reason IS NULL AND v[i].previous_holder IS NOT NULL THEN
            PERFORM attempt_reap(v[i].previous_holder);
        END IF;
    END LOOP;
    RETURN v;
END
$$;

-- Takes the slots of one attempt, whose rows are locked.
--
-- A shared slot keeps the strictest delay that a caller requested within the last hour, or within
-- twice that delay. It applies before and after a request, so that of two runs the stricter delay
-- holds.
--
-- If a shared slot is busy, or other domains wait for it, the caller gets a position in its queue
-- (queue_end). The next position comes after the delay, the average time of a request and 1/32 of
-- the delay. Without that reserve one late request delays all later ones, and a caller at its
-- position polls a busy slot. A caller that has waited for its position is queued.
CREATE OR REPLACE FUNCTION slot_take(a start_attempt, t timestamptz) RETURNS start_attempt LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || a.domain;
    v_strictest_delay_ms bigint[];
    v_strictest_delay_until timestamptz[];
    v_place timestamptz;
    v_why text;
BEGIN
    a.reason := domain_forbidden_by(a.domain); -- it may have been forbidden during the wait for locks
    IF a.reason IS NOT NULL THEN
        RETURN a;
    END IF;
    SELECT CASE WHEN s.free_at > t THEN ms_between(t, s.free_at) END, CASE WHEN s.free_at > t THEN s.reason END, s.holder
    INTO a.wait_ms, a.reason, a.previous_holder FROM politeness_slots s WHERE s.key = k_domain;
    IF a.reason IS NOT NULL THEN
        RETURN a;
    END IF;
    IF a.shared_keys <> '{}' THEN
        SELECT array_agg(x.strictest_delay_ms ORDER BY x.n), array_agg(x.strictest_delay_until ORDER BY x.n), max(x.place),
            (array_agg(split_part(x.key, ':', 1) ORDER BY x.place DESC NULLS LAST, x.n))[1]
        INTO v_strictest_delay_ms, v_strictest_delay_until, v_place, v_why
        FROM (
            SELECT k.n, k.key, w.strictest_delay_ms, w.strictest_delay_until, CASE WHEN f.free_at > t OR s.queue_end > t AND NOT a.queued THEN greatest(
                -- a request in flight usually ends long before its lease, so check again soon
                t, CASE WHEN s.holder IS NULL THEN f.free_at ELSE least(f.free_at, t + ms_interval(w.strictest_delay_ms)) END,
                CASE WHEN NOT a.queued THEN s.queue_end END
            ) END AS place
            FROM unnest(a.shared_keys, a.delays) WITH ORDINALITY AS k (key, delay_ms, n)
            CROSS JOIN LATERAL (SELECT y.* FROM politeness_slots y WHERE y.key = k.key) s
            CROSS JOIN LATERAL (
                SELECT greatest(k.delay_ms, CASE WHEN s.strictest_delay_until > t THEN s.strictest_delay_ms END) AS strictest_delay_ms, CASE
                    WHEN s.strictest_delay_until > t AND s.strictest_delay_ms > k.delay_ms THEN s.strictest_delay_until
                    ELSE t + greatest(interval '1 hour', ms_interval(2 * k.delay_ms))
                END AS strictest_delay_until
            ) w
            CROSS JOIN LATERAL (SELECT greatest(s.free_at, s.ended_at + ms_interval(w.strictest_delay_ms)) AS free_at) f
        ) x;
    END IF;
    IF v_place IS NOT NULL THEN
        UPDATE politeness_slots s SET
            queue_end = greatest(s.queue_end, v_place + ms_interval(v_strictest_delay_ms[array_position(a.shared_keys, s.key)] * 33 / 32 + s.avg_hold_ms)),
            strictest_delay_ms = v_strictest_delay_ms[array_position(a.shared_keys, s.key)], strictest_delay_until = v_strictest_delay_until[array_position(a.shared_keys, s.key)]
        WHERE s.key = ANY (a.shared_keys) AND NOT a.queued;
        a.wait_ms := ms_between(t, v_place);
        a.reason := v_why;
        RETURN a;
    END IF;
    UPDATE politeness_slots s SET
        free_at = t + CASE WHEN s.key = k_domain THEN a.hold ELSE a.max_request_time + ms_interval(v_strictest_delay_ms[array_position(a.shared_keys, s.key)]) END,
        holder = 'crawl:' || a.attempt_id, reason = 'in flight', updated_at = t,
        strictest_delay_ms = v_strictest_delay_ms[array_position(a.shared_keys, s.key)], strictest_delay_until = v_strictest_delay_until[array_position(a.shared_keys, s.key)]
    WHERE s.key = ANY (k_domain || a.shared_keys);
    RETURN a;
END
$$;

-- Releases slots without a request, or without one that counts, each after its delay.
CREATE OR REPLACE FUNCTION slot_release_unused(
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
