-- Gives back what a domain shares with others: each slot stays closed for its delay. It
-- is a transaction of its own, before the attempt is recorded, so that neighbours on an
-- address do not wait for this domain's links to be written. Returns when the request
-- had ended: the attempt is recorded with the same instant, so that an audit finds the
-- gap that was kept.
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
