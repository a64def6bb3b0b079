-- Has the dispatcher look at a domain again, in all runs that have something
-- pending there: something has changed that may make it due. The caller holds a
-- lock on the domain's row, so that the domain is not just being finished. What a
-- person forbids stays put off, and so does a domain that was given up.
CREATE OR REPLACE FUNCTION domain_wake(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due CONSTANT timestamptz := greatest(now(), domain_forbidden_until(p_domain), (
        SELECT d.next_crawl_after FROM domains d
        WHERE d.domain = p_domain AND d.status IN ('blocked', 'unreachable')
    ));
BEGIN
    UPDATE run_domains rd SET next_due_at = v_due
    WHERE rd.domain = p_domain AND (rd.next_due_at IS NULL OR rd.next_due_at > v_due)
        AND EXISTS (
            SELECT 1 FROM page_crawls c
            WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL
        );
    UPDATE domains SET next_crawl_after = NULL
    WHERE domain = p_domain AND next_crawl_after IS NOT NULL AND status NOT IN ('blocked', 'unreachable');
END
$$;

-- The same for all domains of a run whose settings have changed.
CREATE OR REPLACE FUNCTION run_wake(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- only what is claimed can be finished meanwhile, with the settings as they were
    PERFORM 1 FROM domains d
    WHERE d.claimed_by IS NOT NULL
        AND EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = d.domain)
    ORDER BY d.domain FOR KEY SHARE;
    UPDATE run_domains rd SET next_due_at = greatest(now(), domain_forbidden_until(rd.domain))
    WHERE rd.run_id = p_run_id AND (rd.next_due_at IS NULL OR rd.next_due_at > now())
        AND EXISTS (
            SELECT 1 FROM domains d WHERE d.domain = rd.domain AND d.status NOT IN ('blocked', 'unreachable')
        )
        AND EXISTS (
            SELECT 1 FROM page_crawls c
            WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL
        );
END
$$;
