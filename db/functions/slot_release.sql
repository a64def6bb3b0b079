-- Gives back the slot of a domain: it stays closed for p_delay_ms, counted from
-- p_ended. p_reached says that the domain was reached. Returns false, and changes
-- nothing, if the lease was lost.
CREATE OR REPLACE FUNCTION slot_release(
    p_domain text, p_holder text, p_ended timestamptz, p_delay_ms bigint, p_reason text, p_reached boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE politeness_slots SET
        free_at = p_ended + ms_interval(p_delay_ms), reason = p_reason,
        holder = NULL, updated_at = clock_timestamp(), spared_since = CASE WHEN NOT p_reached THEN spared_since END
    WHERE key = 'domain:' || p_domain AND holder = p_holder;
    RETURN FOUND;
END
$$;

-- The same for what the domain shares with others. It is a transaction of its own,
-- before the attempt is recorded, so that neighbours on an address do not wait for
-- this domain's links to be written. Returns when the request had ended: the attempt
-- is recorded with the same instant, so that an audit finds the gap that was kept.
CREATE OR REPLACE FUNCTION slot_release_shared(
    p_shared text[], p_shared_delay_ms bigint[], p_holder text, p_since_end_ms bigint
) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_ended CONSTANT timestamptz := t - ms_interval(p_since_end_ms);
BEGIN
    PERFORM 1 FROM politeness_slots s
    WHERE s.key = ANY (p_shared) AND s.holder = p_holder ORDER BY s.key FOR UPDATE;
    UPDATE politeness_slots s SET
        free_at = v_ended + ms_interval(greatest(
            p_shared_delay_ms[array_position(p_shared, s.key)], CASE WHEN s.strict_until > t THEN s.strict_ms END
        )),
        ended_at = v_ended, reason = split_part(s.key, ':', 1), holder = NULL, updated_at = t
    WHERE s.key = ANY (p_shared) AND s.holder = p_holder;
    RETURN v_ended;
END
$$;
