-- Runs whose dispatcher is to look, though nobody may have told it: something is due, a change of
-- settings is not carried out, a pause is over, or there is nothing left to do. One that has
-- looked within a span knows by itself. A run that waits for its window is not among them.
CREATE OR REPLACE FUNCTION runs_wanting(p_grace interval) RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT r.name FROM crawl_runs r
    WHERE r.status = 'paused' AND r.paused_until <= now()
        OR r.status = 'running' AND (r.looked_at IS NULL OR r.looked_at < now() - p_grace) AND (
            r.widening IS NOT NULL
            OR (r.opens_at IS NULL OR r.opens_at <= now()) AND run_due_count(r.id, 1) > 0
            OR r.spent = '' AND r.settings ->> 'when_done' = 'recrawl' AND (
                r.revisits_from IS NOT NULL OR EXISTS (SELECT 1 FROM revisits v WHERE v.run_id = r.id AND v.due_at <= now())
            )
            OR run_idle(r.id)
        )
    ORDER BY r.id;
END
$$;

-- Whether a run has nothing to do, and does not stay for that.
CREATE OR REPLACE FUNCTION run_idle(p_run_id bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT r.spent <> '' OR r.settings ->> 'when_done' = 'end'
        FROM crawl_runs r WHERE r.id = p_run_id
    ) AND run_due_count(p_run_id, 1) = 0 AND run_held(p_run_id, 1) = 0 AND (SELECT c.busy FROM run_claims(p_run_id) c) = 0;
END
$$;

-- For how many domains a run waits, up to a bound, that a person has paused, or whose window is
-- closed: as far as it may ask anything of them then.
CREATE OR REPLACE FUNCTION run_held(p_run_id bigint, p_most integer) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_open CONSTANT text := run_open(p_run_id);
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT 1 FROM run_domains rd
        WHERE rd.run_id = p_run_id AND rd.waits = ANY (reasons('holds run')) AND v_open <> 'nothing'
            AND CASE v_open WHEN 'images' THEN rd.images_due_at ELSE rd.next_due_at END > now()
        LIMIT p_most
    ) x);
END
$$;
