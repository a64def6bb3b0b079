-- Returns a run's limit of pages of a domain, or null. p_own is the domain's own budget.
CREATE OR REPLACE FUNCTION pages_budget(p_settings jsonb, p_own bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_own >= 0 THEN p_own
        WHEN p_own < 0 OR (p_settings ->> 'max_pages_per_domain')::bigint < 0 THEN NULL
        ELSE (p_settings ->> 'max_pages_per_domain')::bigint
    END
$$;

-- Returns an operator's budget of pages for a domain; null means no budget.
CREATE OR REPLACE FUNCTION domain_budget(p_domain text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT (c.value #>> '{}')::bigint FROM domain_controls c
        WHERE c.domain = p_domain AND c.kind = 'budget' AND c.lifted_at IS NULL AND (c.until IS NULL OR c.until > clock_timestamp())
    );
END
$$;

-- Reports whether the page budget of a whole run is spent.
CREATE OR REPLACE FUNCTION run_pages_spent(r crawl_runs) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (r.settings ->> 'max_pages')::bigint BETWEEN 0 AND r.pages_started
$$;

-- Counts the requests of a run to all domains of a registered domain.
CREATE OR REPLACE FUNCTION registered_started(p_run_id bigint, p_registered text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT g.pages_started FROM run_registered_domains g WHERE g.run_id = p_run_id AND g.registered = p_registered
    ), (
        SELECT coalesce(sum(x.pages_started), 0)::bigint FROM (
            SELECT rd.pages_started FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.registered = p_registered
            UNION ALL
            SELECT rd.pages_started FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = p_registered
        ) x
    ));
END
$$;

-- Returns the requests that spent budgets of a domain, and with r of the run, forbid: 'pages',
-- 'all' or ''.
CREATE OR REPLACE FUNCTION forbidden_by_budget(rd run_domains, p_settings jsonb, p_own bigint, r crawl_runs DEFAULT NULL) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN r.spent_budget <> '' OR (p_settings ->> 'max_bytes_per_domain')::bigint BETWEEN 0 AND rd.bytes THEN 'all'
        WHEN rd.pages_started >= pages_budget(p_settings, p_own) OR run_pages_spent(r)
            OR (p_settings ->> 'max_pages_per_registered_domain')::bigint >= 0
            AND (p_settings ->> 'max_pages_per_registered_domain')::bigint <= registered_started(rd.run_id, coalesce(rd.registered, rd.domain))
            THEN 'pages'
        ELSE ''
    END
$$;

-- Charges one request to the budgets of crawl.Start; null means no limit. Returns false, and
-- charges nothing, if a budget is spent. Sitemaps and feeds cost nothing.
CREATE OR REPLACE FUNCTION budget_take(p_run_id bigint, p_domain text, p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_image CONSTANT boolean := p ->> 'kind' = ANY (kinds('image'));
    v_of_run CONSTANT bigint := (p ->> 'run_budget')::bigint;
    v_of_registered CONSTANT bigint := (p ->> 'registered_budget')::bigint;
    v_registered text;
    v_within boolean := true;
BEGIN
    IF NOT v_image AND p ->> 'kind' <> ALL (kinds('counted')) THEN
        UPDATE run_domains SET last_request_at = clock_timestamp() WHERE run_id = p_run_id AND domain = p_domain;
        RETURN true;
    END IF;
    UPDATE run_domains SET
        pages_started = pages_started + (NOT v_image)::integer, images_started = images_started + v_image::integer,
        last_request_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE run_id = p_run_id AND domain = p_domain AND coalesce(CASE
        WHEN v_image THEN images_started < (p ->> 'image_budget')::bigint ELSE pages_started < (p ->> 'domain_budget')::bigint
    END, true)
    RETURNING coalesce(registered, domain) INTO v_registered;
    IF NOT FOUND OR v_image THEN
        RETURN FOUND;
    END IF;
    IF v_of_registered IS NOT NULL THEN
        -- all domains of a registered domain share its budget
        IF NOT EXISTS (SELECT 1 FROM run_registered_domains g WHERE g.run_id = p_run_id AND g.registered = v_registered) THEN
            INSERT INTO run_registered_domains (run_id, registered, pages_started)
            VALUES (p_run_id, v_registered, registered_started(p_run_id, v_registered) - 1)
            ON CONFLICT (run_id, registered) DO NOTHING;
        END IF;
        UPDATE run_registered_domains g SET pages_started = g.pages_started + 1
        WHERE g.run_id = p_run_id AND g.registered = v_registered AND g.pages_started < v_of_registered;
        v_within := FOUND;
    END IF;
    IF v_within AND v_of_run IS NOT NULL THEN
        -- many domains share this row, so only runs with a budget update it
        UPDATE crawl_runs SET pages_started = pages_started + 1 WHERE id = p_run_id AND pages_started < v_of_run;
        v_within := FOUND;
        IF NOT v_within THEN
            UPDATE run_registered_domains g SET pages_started = g.pages_started - 1
            WHERE g.run_id = p_run_id AND g.registered = v_registered AND g.pages_started > 0;
        END IF;
    END IF;
    IF NOT v_within THEN
        UPDATE run_domains SET pages_started = pages_started - 1 WHERE run_id = p_run_id AND domain = p_domain;
    END IF;
    RETURN v_within;
END
$$;
