-- Has the dispatcher look at a domain again, in all runs that have something
-- pending there: something has changed that may make it due.
CREATE OR REPLACE FUNCTION domain_wake(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_domains rd SET next_due_at = now()
    WHERE rd.domain = p_domain AND (rd.next_due_at IS NULL OR rd.next_due_at > now())
        AND EXISTS (
            SELECT 1 FROM page_crawls c
            WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL
        );
    UPDATE domains SET next_crawl_after = NULL WHERE domain = p_domain AND next_crawl_after IS NOT NULL;
END
$$;

-- The same for all domains of a run whose settings have changed.
CREATE OR REPLACE FUNCTION run_wake(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_domains rd SET next_due_at = now()
    WHERE rd.run_id = p_run_id AND (rd.next_due_at IS NULL OR rd.next_due_at > now())
        AND EXISTS (
            SELECT 1 FROM page_crawls c
            WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL
        );
END
$$;
