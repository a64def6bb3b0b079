-- Notes which budget of a whole run is spent (crawl.Budget), and returns it; empty is none.
-- While one is, nothing of it is due that is not claimed: a change of its settings makes it
-- due again. -1 bytes and 0 ms are no limit.
CREATE OR REPLACE FUNCTION run_spend(p_run_id bigint, p_max_bytes bigint, p_max_time_ms bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_spent CONSTANT text := CASE
        WHEN p_max_time_ms > 0 AND EXISTS (
            SELECT 1 FROM crawl_runs r WHERE r.id = p_run_id AND r.started_at + ms_interval(p_max_time_ms) <= now()
        ) THEN 'time'
        WHEN p_max_bytes >= 0 AND (
            SELECT coalesce(sum(rd.bytes), 0) FROM run_domains rd WHERE rd.run_id = p_run_id
        ) >= p_max_bytes THEN 'bytes'
        ELSE ''
    END;
BEGIN
    UPDATE crawl_runs r SET spent = v_spent WHERE r.id = p_run_id AND r.spent <> v_spent;
    IF v_spent <> '' THEN
        UPDATE run_domains rd SET next_due_at = 'infinity'
        WHERE rd.run_id = p_run_id AND rd.next_due_at < 'infinity' AND NOT EXISTS (
            SELECT 1 FROM domains d WHERE d.domain = rd.domain AND d.claim_expires_at > now()
        );
    END IF;
    RETURN v_spent;
END
$$;
