-- Returns the due work that a run may request now: 'all', 'images' alone, or 'nothing'.
CREATE OR REPLACE FUNCTION run_allowed_work(p_run_id bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN r.status <> 'running' OR r.spent_budget <> '' THEN 'nothing'
            WHEN NOT run_pages_spent(r) THEN 'all'
            WHEN r.settings ->> 'images' = 'off' THEN 'nothing'
            ELSE 'images'
        END
        FROM crawl_runs r WHERE r.id = p_run_id
    );
END
$$;

-- Counts the due domains that a run may request, up to a bound.
CREATE OR REPLACE FUNCTION run_due_count(p_run_id bigint, p_bound integer) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_open CONSTANT text := run_allowed_work(p_run_id);
BEGIN
    RETURN (SELECT count(*) FROM (
        (
            SELECT 1 FROM run_domains rd
            WHERE v_open = 'all' AND rd.run_id = p_run_id AND rd.next_due_at <= now() ORDER BY rd.next_due_at LIMIT p_bound
        ) UNION ALL (
            SELECT 1 FROM run_domains rd
            WHERE v_open = 'images' AND rd.run_id = p_run_id AND rd.images_due_at <= now() ORDER BY rd.images_due_at LIMIT p_bound
        )
    ) x);
END
$$;

-- Counts the domains, up to a bound, that a run may request after a pause or in their window.
CREATE OR REPLACE FUNCTION run_postponed_count(p_run_id bigint, p_bound integer) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_open CONSTANT text := run_allowed_work(p_run_id);
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT 1 FROM run_domains rd
        WHERE rd.run_id = p_run_id AND rd.wait_reason = ANY (reasons('keeps run open')) AND v_open <> 'nothing'
            AND CASE v_open WHEN 'images' THEN rd.images_due_at ELSE rd.next_due_at END > now()
        LIMIT p_bound
    ) x);
END
$$;

-- Counts the claimed domains with work for a run: active by its own dispatcher, busy by all. Its
-- own domain without any work is about to be finished, and is still busy. While its dispatcher has
-- claimed fewer than p_max_active, all of them count as active and busy is at most 1.
CREATE OR REPLACE FUNCTION run_claim_counts(p_run_id bigint, p_max_active bigint DEFAULT 0, OUT active bigint, OUT busy bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_open CONSTANT text := run_allowed_work(p_run_id);
    v_settings CONSTANT jsonb := (SELECT r.settings FROM crawl_runs r WHERE r.id = p_run_id);
    -- if no domain budget can be spent, all pending attempts are wanted
    v_unlimited CONSTANT boolean := v_open = 'all' AND (v_settings ->> 'max_pages_per_domain')::bigint < 0
        AND (v_settings ->> 'max_pages_per_registered_domain')::bigint < 0 AND (v_settings ->> 'max_bytes_per_domain')::bigint < 0
        AND NOT EXISTS (SELECT 1 FROM domain_controls c WHERE c.kind = 'budget' AND c.lifted_at IS NULL);
    v_few CONSTANT boolean := v_open <> 'nothing' AND p_max_active > (SELECT count(*) FROM (
        SELECT 1 FROM domains d WHERE d.claimed_by IS NOT NULL AND d.last_crawl_run_id = p_run_id LIMIT p_max_active
    ) x);
BEGIN
    SELECT count(*) FILTER (WHERE x.own AND x.wants), count(*) INTO active, busy FROM (
        SELECT d.last_crawl_run_id = p_run_id AS own, w.wants
        FROM domains d CROSS JOIN LATERAL (
            SELECT x AS rd FROM run_domains x WHERE x.run_id = p_run_id AND x.domain = d.domain LIMIT 1
        ) r CROSS JOIN LATERAL (
            SELECT v_unlimited AND (
                SELECT c.id FROM page_crawls c
                WHERE c.domain = d.domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL LIMIT 1
            ) IS NOT NULL OR run_domain_has_work(r.rd, v_settings, v_open) AS wants OFFSET 0
        ) w
        WHERE d.claimed_by IS NOT NULL AND (w.wants OR d.last_crawl_run_id = p_run_id AND NOT EXISTS (
            SELECT 1 FROM run_domains y CROSS JOIN LATERAL (
                SELECT z.settings FROM crawl_runs z WHERE z.id = y.run_id AND z.status = 'running' LIMIT 1
            ) o
            WHERE y.domain = d.domain AND run_domain_has_work(y, o.settings, run_allowed_work(y.run_id))
        ))
        LIMIT CASE WHEN v_few THEN 1 END
    ) x;
    IF v_few THEN
        SELECT count(*) INTO active FROM domains d WHERE d.claimed_by IS NOT NULL AND d.last_crawl_run_id = p_run_id;
    END IF;
END
$$;

-- Reports whether a run has work on a claimed domain, or a request in flight.
CREATE OR REPLACE FUNCTION run_domain_has_work(rd run_domains, p_settings jsonb, p_open text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_spent CONSTANT text := forbidden_by_budget(rd, p_settings, domain_budget(rd.domain));
BEGIN
    RETURN p_open <> 'nothing' AND v_spent <> 'all'
        AND first_due_at(rd.domain, rd.run_id, now(), p_open = 'images' OR v_spent = 'pages') IS NOT NULL
        OR in_flight_lease_end(rd.domain, rd.run_id) IS NOT NULL;
END
$$;

-- Starts or resumes a run unless it is paused. Abandoned or deferred domains keep their times.
CREATE OR REPLACE FUNCTION run_start(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_old_status CONSTANT run_status := (SELECT r.status FROM crawl_runs r WHERE r.id = p_run_id FOR UPDATE);
BEGIN
    UPDATE crawl_runs SET status = 'running', status_reason = '', finished_at = NULL, updated_at = now()
    WHERE id = p_run_id AND status <> 'paused';
    IF v_old_status NOT IN ('running', 'paused') THEN
        PERFORM run_windows(p_run_id);
    END IF;
END
$$;

-- Resumes a run that is done.
CREATE OR REPLACE FUNCTION run_resume_if_done(p_run_id bigint) RETURNS void LANGUAGE sql AS $$
    SELECT run_start(p_run_id) WHERE (SELECT r.status FROM crawl_runs r WHERE r.id = p_run_id) = 'done'
$$;

-- Returns the totals of domains in their runs, as stored and as counted from the rows like
-- totals_add: by outcome, and bytes last. They include moved attempts.
CREATE OR REPLACE FUNCTION run_totals(p_domains text[]) RETURNS TABLE (run_id bigint, domain text, totals bigint[], rows bigint[])
LANGUAGE sql STABLE AS $$
    SELECT r.run_id, r.domain,
        ARRAY[r.success, r.failed, r.timeout, r.blocked_robots, r.blocked_4xx, r.blocked_5xx, r.skipped, r.bytes],
        ARRAY(SELECT coalesce(x.rows[i], 0) + coalesce(r.moved_totals[i], 0) FROM generate_series(1, 8) i)
    FROM run_domains r
    LEFT JOIN (
        SELECT c.run_id, c.domain, ARRAY[
            count(*) FILTER (WHERE c.total = 'success'), count(*) FILTER (WHERE c.total = 'failed'),
            count(*) FILTER (WHERE c.total = 'timeout'), count(*) FILTER (WHERE c.total = 'blocked_robots'),
            count(*) FILTER (WHERE c.total = 'blocked_4xx'), count(*) FILTER (WHERE c.total = 'blocked_5xx'),
            count(*) FILTER (WHERE c.total = 'skipped'), sum(c.total_bytes)::bigint
        ] AS rows
        FROM counted_attempts c WHERE c.domain = ANY (p_domains) AND c.outcome IS NOT NULL GROUP BY c.run_id, c.domain
    ) x ON x.run_id = r.run_id AND x.domain = r.domain
    WHERE r.domain = ANY (p_domains)
$$;
