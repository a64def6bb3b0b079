-- Closes an attempt whose worker died: the one that held a domain's slot (p_holder, crawl:<id>) when
-- its lease ran out. Only to be called with the slot locked and free: then the request
-- cannot be in flight, and a locked row is one that nothing will ever close. The attempt
-- counts; whether the page is tried again was decided when it began (retry_priority).
CREATE OR REPLACE FUNCTION crawl_reap(p_holder text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    dead page_crawls;
BEGIN
    UPDATE page_crawls SET
        locked_at = NULL, outcome = 'failed', lost = true,
        -- the request can only have been made in this span
        completed_at = clock_timestamp(),
        duration_ms = least(ms_between(locked_at, clock_timestamp()), 2147483647)::integer,
        error_message = 'the worker died during the attempt',
        delay_ms = 0, delay_reason = ''
    WHERE id = substr(p_holder, 7)::bigint AND locked_at IS NOT NULL
    RETURNING * INTO dead;
    IF NOT FOUND OR dead.prerequisite THEN
        RETURN;
    END IF;
    IF dead.retry_priority IS NOT NULL THEN
        INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects, again, bare, attempt)
        VALUES (dead.page_id, dead.domain, dead.retry_priority, dead.run_id, dead.id, dead.url, dead.kind,
            dead.depth, dead.redirects, dead.again, dead.bare, dead.attempt + 1);
    ELSE
        INSERT INTO revisits AS v (page_id, run_id, due_at, every)
        SELECT dead.page_id, r.id, clock_timestamp() + interval '1 day', interval '1 day' FROM crawl_runs r
        WHERE r.id = dead.run_id AND r.settings ->> 'when_done' = 'recrawl'
        ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = clock_timestamp() + v.every WHERE v.due_at IS NULL;
        IF dead.kind = ANY (kinds('image')) THEN
            UPDATE images SET download_success = false, problem = 'not answered' WHERE page_id = dead.page_id;
        END IF;
        UPDATE pages SET status = 'failed', failed_at = clock_timestamp(), updated_at = clock_timestamp()
        WHERE id = dead.page_id;
    END IF;
    UPDATE run_domains SET failed = failed + 1, requests = requests + 1, updated_at = clock_timestamp()
    WHERE run_id = dead.run_id AND domain = dead.domain AND dead.kind = ANY (kinds('counted'));
END
$$;

-- The same where it is called for: if the domain's slot is free and was not given back.
CREATE OR REPLACE FUNCTION domain_reap(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
    v_holder text;
BEGIN
    IF (SELECT s.holder FROM politeness_slots s WHERE s.key = k_domain AND s.free_at <= clock_timestamp()) IS NULL THEN
        RETURN;
    END IF;
    -- again under the lock: another may have taken the slot meanwhile
    SELECT s.holder INTO v_holder FROM politeness_slots s
    WHERE s.key = k_domain AND s.free_at <= clock_timestamp() FOR UPDATE;
    IF v_holder IS NOT NULL THEN
        PERFORM crawl_reap(v_holder);
        UPDATE politeness_slots SET holder = NULL WHERE key = k_domain;
    END IF;
END
$$;
