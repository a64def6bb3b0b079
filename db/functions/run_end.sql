-- What of that which is due of a run may be asked now: 'all', 'images' alone, or 'nothing'.
CREATE OR REPLACE FUNCTION run_open(p_run_id bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN r.status <> 'running' OR r.spent <> '' THEN 'nothing'
            WHEN (r.settings ->> 'max_pages')::bigint < 0 OR r.pages_started < (r.settings ->> 'max_pages')::bigint THEN 'all'
            WHEN r.settings ->> 'images' = 'off' THEN 'nothing'
            ELSE 'images'
        END
        FROM crawl_runs r WHERE r.id = p_run_id
    );
END
$$;

-- How many claimed domains a run has something to ask of. active counts those that its own
-- dispatcher has claimed, busy those that any has. A domain that the run has done with does not
-- count, though another run goes on there. One of its own that no run asks is about to be
-- finished, and is busy still. While its dispatcher has claimed fewer than p_most, all of them
-- count as active, and busy is at most 1. That is enough to claim more.
CREATE OR REPLACE FUNCTION run_claims(p_run_id bigint, p_most bigint DEFAULT 0, OUT active bigint, OUT busy bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_open CONSTANT text := run_open(p_run_id);
    v_settings CONSTANT jsonb := (SELECT r.settings FROM crawl_runs r WHERE r.id = p_run_id);
    -- where no budget of a domain can be spent, what is pending is wanted
    v_plain CONSTANT boolean := v_open = 'all' AND (v_settings ->> 'max_pages_per_domain')::bigint < 0
        AND (v_settings ->> 'max_pages_per_registered_domain')::bigint < 0 AND (v_settings ->> 'max_bytes_per_domain')::bigint < 0
        AND NOT EXISTS (SELECT 1 FROM domain_controls c WHERE c.kind = 'budget' AND c.lifted_at IS NULL);
BEGIN
    SELECT count(*) INTO active FROM (
        SELECT 1 FROM domains d WHERE d.claimed_by IS NOT NULL AND d.last_crawl_run_id = p_run_id LIMIT p_most
    ) x;
    IF active < p_most AND v_open <> 'nothing' THEN
        SELECT count(*) INTO busy FROM (
            SELECT 1 FROM domains d CROSS JOIN LATERAL (
                SELECT x AS rd FROM run_domains x WHERE x.run_id = p_run_id AND x.domain = d.domain LIMIT 1
            ) r
            WHERE d.claimed_by IS NOT NULL AND (v_plain AND (
                    SELECT c.id FROM page_crawls c
                    WHERE c.domain = d.domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL LIMIT 1
                ) IS NOT NULL
                OR run_domain_wants(r.rd, v_settings, v_open) OR d.last_crawl_run_id = p_run_id AND NOT domain_wanted(d.domain))
            LIMIT 1
        ) x;
        RETURN;
    END IF;
    SELECT count(*) FILTER (WHERE x.own AND x.wants), count(*) FILTER (WHERE x.wants OR x.own AND NOT domain_wanted(x.domain))
    INTO active, busy FROM (
        SELECT d.domain, d.last_crawl_run_id = p_run_id AS own,
            v_plain AND (
                    SELECT c.id FROM page_crawls c
                    WHERE c.domain = d.domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL LIMIT 1
                ) IS NOT NULL OR run_domain_wants(r.rd, v_settings, v_open) AS wants
        FROM domains d CROSS JOIN LATERAL (
            SELECT x AS rd FROM run_domains x WHERE x.run_id = p_run_id AND x.domain = d.domain LIMIT 1
        ) r
        WHERE d.claimed_by IS NOT NULL OFFSET 0
    ) x;
END
$$;

-- Whether any run has something to ask of a domain that is claimed.
CREATE OR REPLACE FUNCTION domain_wanted(p_domain text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM run_domains rd CROSS JOIN LATERAL (
            SELECT r.settings FROM crawl_runs r WHERE r.id = rd.run_id AND r.status = 'running' LIMIT 1
        ) r
        WHERE rd.domain = p_domain AND run_domain_wants(rd, r.settings, run_open(rd.run_id))
    );
END
$$;

-- Whether a run has something to ask of a domain that is claimed, or is just asking.
CREATE OR REPLACE FUNCTION run_domain_wants(rd run_domains, p_settings jsonb, p_open text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_images CONSTANT boolean := p_open = 'images' OR pages_spent(rd, p_settings, domain_budget(rd.domain));
BEGIN
    IF p_open <> 'nothing' AND NOT domain_spent(rd, p_settings) AND (CASE WHEN v_images THEN EXISTS (
        SELECT 1 FROM page_crawls c
        WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL AND c.locked_at IS NULL
            AND c.priority > 0 AND c.kind = 'image'
    ) ELSE EXISTS (
        SELECT 1 FROM page_crawls c
        WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL AND c.locked_at IS NULL
    ) END) THEN
        RETURN true;
    END IF;
    RETURN crawl_flying(rd.domain, rd.run_id) IS NOT NULL;
END
$$;

-- Marks a running run done, unless there is something for it to do after all: a domain that is
-- due, or one that is claimed, by whichever run, and has work for it. The caller has looked
-- before, but something may have come since, and another dispatcher may just have been
-- claiming the run's domain.
CREATE OR REPLACE FUNCTION run_end(p_run_id bigint, p_reason text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- Who makes the run go on has stored its work before: it is seen below, or waits
    -- here and finds the run done.
    PERFORM 1 FROM crawl_runs WHERE id = p_run_id FOR NO KEY UPDATE;
    IF run_due_count(p_run_id, 1) > 0 OR (SELECT c.busy FROM run_claims(p_run_id) c) > 0 THEN
        RETURN false;
    END IF;
    UPDATE crawl_runs SET
        status = 'done', status_reason = p_reason, finished_at = now(), updated_at = now()
    WHERE id = p_run_id AND status = 'running';
    RETURN FOUND;
END
$$;

-- Makes a run go on, whatever it was, unless it is paused. One that had not been running
-- asks its domains in trouble again.
CREATE OR REPLACE FUNCTION run_start(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_was CONSTANT run_status := (SELECT r.status FROM crawl_runs r WHERE r.id = p_run_id FOR UPDATE);
    v_lifted text[];
BEGIN
    UPDATE crawl_runs SET status = 'running', status_reason = '', finished_at = NULL, updated_at = now()
    WHERE id = p_run_id AND status <> 'paused';
    IF v_was IN ('running', 'paused') THEN
        RETURN;
    END IF;
    v_lifted := troubles_lift(ARRAY(
        SELECT rd.domain FROM run_domains rd INNER JOIN domains d ON rd.domain = d.domain
        WHERE rd.run_id = p_run_id AND rd.next_due_at IS NOT NULL AND (
            d.status IN ('blocked', 'unreachable')
            OR EXISTS (
                SELECT 1 FROM robots r
                WHERE r.domain = rd.domain AND r.verdict = 'unreachable' AND r.expires_at > now()
            )
        )
    ));
    PERFORM due_update(v_lifted);
END
$$;
