-- Marks a running run done, unless there is something for it to do after all: a
-- domain that is due, or one that is claimed, by whichever run, and has work for it.
-- The caller has looked before, but seeds may have come since, and another
-- dispatcher may just have been claiming the run's domain.
CREATE OR REPLACE FUNCTION run_end(p_run_id bigint, p_reason text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- Who makes the run go on has stored its work before: it is seen below, or waits
    -- here and finds the run done.
    PERFORM 1 FROM crawl_runs WHERE id = p_run_id FOR NO KEY UPDATE;
    UPDATE crawl_runs SET
        status = 'done', status_reason = p_reason, finished_at = now(), updated_at = now()
    WHERE id = p_run_id AND status = 'running' AND NOT EXISTS (
        SELECT 1 FROM run_domains rd INNER JOIN domains d ON d.domain = rd.domain
        WHERE rd.run_id = p_run_id AND rd.next_due_at <= clock_timestamp()
            AND (d.status IN ('pending', 'active') OR d.next_crawl_after <= clock_timestamp())
    ) AND NOT EXISTS (
        SELECT 1 FROM domains d INNER JOIN run_domains rd ON rd.domain = d.domain
        WHERE d.claimed_by IS NOT NULL AND d.claim_expires_at > clock_timestamp()
            AND rd.run_id = p_run_id AND rd.next_due_at < 'infinity'
    );
    RETURN FOUND;
END
$$;
