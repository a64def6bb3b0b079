-- Closes attempts whose worker died. Only to be called with the domain's slot
-- free: then no request can be in flight, and a locked row is one that nothing
-- will ever close. The attempt counts; whether the page is tried again was decided
-- when it began (final).
CREATE OR REPLACE FUNCTION crawl_reap(p_domain text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    dead record;
    reaped integer := 0;
BEGIN
    FOR dead IN
        UPDATE page_crawls SET
            locked_at = NULL, outcome = 'failed', lost = true,
            -- the request can only have been made in this span
            completed_at = clock_timestamp(),
            duration_ms = least(ms_between(locked_at, clock_timestamp()), 2147483647)::integer,
            error_message = 'the worker died during the attempt',
            delay_ms = 0, delay_reason = ''
        WHERE domain = p_domain AND locked_at IS NOT NULL
        RETURNING *
    LOOP
        reaped := reaped + 1;
        CONTINUE WHEN dead.prerequisite;
        IF NOT dead.final THEN
            INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects)
            VALUES (dead.page_id, dead.domain, dead.priority, dead.run_id, dead.id, dead.url, dead.kind,
                dead.depth, dead.redirects);
        ELSE
            UPDATE pages SET status = 'failed', failed_at = clock_timestamp(), updated_at = clock_timestamp()
            WHERE id = dead.page_id;
        END IF;
        UPDATE run_domains SET failed = failed + 1, requests = requests + 1, updated_at = clock_timestamp()
        WHERE run_id = dead.run_id AND domain = p_domain;
    END LOOP;
    RETURN reaped;
END
$$;

-- The same where it is called for: if the slot is free and something was left.
CREATE OR REPLACE FUNCTION domain_reap(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
BEGIN
    IF EXISTS (SELECT 1 FROM politeness_slots s WHERE s.key = k_domain AND s.free_at > clock_timestamp())
        OR NOT EXISTS (SELECT 1 FROM page_crawls x WHERE x.domain = p_domain AND x.locked_at IS NOT NULL)
    THEN
        RETURN;
    END IF;
    -- again under the lock: another may have taken the slot meanwhile
    INSERT INTO politeness_slots (key) VALUES (k_domain) ON CONFLICT (key) DO NOTHING;
    PERFORM 1 FROM politeness_slots s WHERE s.key = k_domain AND s.free_at <= clock_timestamp() FOR UPDATE;
    IF FOUND THEN
        PERFORM crawl_reap(p_domain);
        UPDATE politeness_slots SET holder = NULL WHERE key = k_domain;
    END IF;
END
$$;
