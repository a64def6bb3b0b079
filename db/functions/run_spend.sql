-- Notes which budget of a whole run but that of pages is spent (crawl.Budget), and returns it;
-- empty is none. While one is, nothing of the run is begun, whatever is due. The time counts
-- from when the run's dispatcher first looked; 0 is no limit.
CREATE OR REPLACE FUNCTION run_spend(p_run_id bigint, p_max_time_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_spent text;
BEGIN
    UPDATE crawl_runs r SET began_at = now() WHERE r.id = p_run_id AND r.began_at IS NULL;
    SELECT CASE
        WHEN p_max_time_ms > 0 AND r.began_at + ms_interval(p_max_time_ms) <= now() THEN 'time'
        WHEN r.bytes >= (r.settings ->> 'max_bytes')::bigint THEN 'bytes'
        ELSE ''
    END INTO v_spent FROM crawl_runs r WHERE r.id = p_run_id;
    UPDATE crawl_runs r SET spent = v_spent WHERE r.id = p_run_id AND r.spent <> v_spent;
    RETURN v_spent;
END
$$;
