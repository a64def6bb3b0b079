-- Begins an attempt: takes the slots, closes what dead workers left, claims the
-- row, counts it against the budgets and renews the domain's claim. The document
-- is crawl.Start. Not granted with reason 'stale' means that the row is no longer
-- there to be had, or a budget is spent; 'pause', 'stop' and 'block' are a
-- person's word.
--
-- A prerequisite (robots.txt and its like) has no row in the frontier: it gets one
-- here, in flight, and costs no budget.
CREATE OR REPLACE FUNCTION crawl_begin(p jsonb) RETURNS slot_answer LANGUAGE plpgsql AS $$
DECLARE
    v_domain CONSTANT text := p ->> 'domain';
    v_shared CONSTANT text[] := ARRAY(
        SELECT s.slot ->> 'key' FROM jsonb_array_elements(p -> 'shared') WITH ORDINALITY AS s (slot, n) ORDER BY s.n
    );
    v_delays CONSTANT bigint[] := ARRAY(
        SELECT (s.slot ->> 'delay_ms')::bigint
        FROM jsonb_array_elements(p -> 'shared') WITH ORDINALITY AS s (slot, n) ORDER BY s.n
    );
    v_prerequisite CONSTANT boolean := coalesce((p ->> 'prerequisite')::boolean, false);
    v_id bigint := (p ->> 'crawl_id')::bigint;
    v_run bigint := (p ->> 'run_id')::bigint;
    v_within boolean;
    a slot_answer;
BEGIN
    a.reason := domain_forbidden(v_domain);
    IF a.reason IS NOT NULL THEN
        RETURN (false, 0, a.reason, 0, NULL)::slot_answer;
    END IF;
    IF v_prerequisite THEN
        v_id := nextval(pg_get_serial_sequence('page_crawls', 'id'));
    END IF;
    a := slot_take(v_domain, v_shared, v_delays, 'crawl:' || v_id, (p ->> 'hold_ms')::bigint,
        (p ->> 'span_ms')::bigint, (p ->> 'queued')::boolean);
    IF NOT a.granted THEN
        RETURN a;
    END IF;
    a.crawl_id := v_id;
    IF a.was IS NOT NULL THEN
        PERFORM crawl_reap(a.was);
    END IF;
    PERFORM claims_renew(ARRAY[v_domain], ms_interval((p ->> 'claim_ms')::bigint), NOT v_prerequisite);
    IF v_prerequisite THEN
        INSERT INTO page_crawls (id, page_id, domain, run_id, url, kind, prerequisite, final, locked_at)
        OVERRIDING SYSTEM VALUE
        SELECT v_id, i, v_domain, v_run, p ->> 'url', p ->> 'kind', true, true, clock_timestamp()
        FROM unnest(pages_add(jsonb_build_array(p))) i;
        RETURN a;
    END IF;
    UPDATE page_crawls c SET locked_at = clock_timestamp(), final = (p ->> 'final')::boolean
    WHERE c.id = v_id AND c.completed_at IS NULL AND c.locked_at IS NULL
        AND (SELECT r.status FROM crawl_runs r WHERE r.id = c.run_id) = 'running'
        AND (SELECT d.status FROM domains d WHERE d.domain = v_domain) NOT IN ('blocked', 'unreachable')
    RETURNING c.run_id INTO v_run;
    IF FOUND THEN
        IF kind_image(p ->> 'kind') THEN
            v_within := image_budget_take(v_run, v_domain, (p ->> 'image_budget')::bigint);
        ELSIF kind_counted(p ->> 'kind') THEN
            v_within := budget_take(v_run, v_domain, (p ->> 'run_budget')::bigint, (p ->> 'domain_budget')::bigint,
                (p ->> 'registered_budget')::bigint);
        ELSE
            v_within := true; -- what lists pages costs no budget of pages
        END IF;
        IF v_within THEN
            RETURN a;
        END IF;
        UPDATE page_crawls SET locked_at = NULL WHERE id = v_id;
    END IF;
    PERFORM slot_undo(v_domain, v_shared, 'crawl:' || v_id, 0, '{}');
    RETURN (false, 0, 'stale', 0, NULL)::slot_answer;
END
$$;

-- Renews the claims on domains of which requests begin, unless they last for long. Who asks for
-- a page serves the domain: with p_take it takes the claim where that has run out meanwhile.
CREATE OR REPLACE FUNCTION claims_renew(p_domains text[], p_span interval, p_take boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains d SET
        claimed_by = 'domain/' || d.domain, claim_expires_at = now() + p_span,
        status = CASE WHEN d.status = 'pending' THEN 'active' ELSE d.status END
    WHERE d.domain = ANY (p_domains) AND (d.claim_expires_at < now() + p_span * 2 / 3 OR p_take AND d.claimed_by IS NULL);
    IF FOUND THEN
        -- next_due_at alone is the condition of a partial index, which would be read instead
        UPDATE run_domains rd SET next_due_at = NULL, images_due_at = NULL, waits = ''
        WHERE rd.domain = ANY (p_domains) AND (rd.next_due_at IS NOT NULL OR rd.images_due_at IS NOT NULL);
    END IF;
END
$$;

-- Counts one request against the budgets; null is no limit. Returns false, and
-- counts nothing, if one is spent.
CREATE OR REPLACE FUNCTION budget_take(
    p_run_id bigint, p_domain text, p_run_budget bigint, p_domain_budget bigint, p_registered_budget bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_registered text;
BEGIN
    UPDATE run_domains SET pages_started = pages_started + 1, updated_at = clock_timestamp()
    WHERE run_id = p_run_id AND domain = p_domain
        AND (p_domain_budget IS NULL OR pages_started < p_domain_budget)
    RETURNING coalesce(registered, domain) INTO v_registered;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF p_registered_budget IS NULL OR registered_take(p_run_id, v_registered, p_registered_budget) THEN
        IF p_run_budget IS NULL THEN
            RETURN true;
        END IF;
        -- many domains share this row: it is the price of an exact budget, paid only by
        -- runs that set one
        UPDATE crawl_runs SET pages_started = pages_started + 1
        WHERE id = p_run_id AND pages_started < p_run_budget;
        IF FOUND THEN
            RETURN true;
        END IF;
        PERFORM registered_refund(p_run_id, v_registered);
    END IF;
    UPDATE run_domains SET pages_started = pages_started - 1
    WHERE run_id = p_run_id AND domain = p_domain;
    RETURN false;
END
$$;

-- The same of a request for an image, which costs no budget of pages.
CREATE OR REPLACE FUNCTION image_budget_take(p_run_id bigint, p_domain text, p_budget bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_domains SET images_started = images_started + 1, updated_at = clock_timestamp()
    WHERE run_id = p_run_id AND domain = p_domain AND (p_budget IS NULL OR images_started < p_budget);
    RETURN FOUND;
END
$$;

-- Counts one request against the budget of a registered domain, which all its domains
-- share. The caller has counted it in the domain's own row.
CREATE OR REPLACE FUNCTION registered_take(p_run_id bigint, p_registered text, p_budget bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM run_registered g WHERE g.run_id = p_run_id AND g.registered = p_registered) THEN
        INSERT INTO run_registered (run_id, registered, pages_started)
        VALUES (p_run_id, p_registered, registered_started(p_run_id, p_registered) - 1)
        ON CONFLICT (run_id, registered) DO NOTHING;
    END IF;
    UPDATE run_registered g SET pages_started = g.pages_started + 1
    WHERE g.run_id = p_run_id AND g.registered = p_registered AND g.pages_started < p_budget;
    RETURN FOUND;
END
$$;

-- Takes back what registered_take has counted.
CREATE OR REPLACE FUNCTION registered_refund(p_run_id bigint, p_registered text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_registered g SET pages_started = g.pages_started - 1
    WHERE g.run_id = p_run_id AND g.registered = p_registered AND g.pages_started > 0;
END
$$;

-- How many requests a run has begun to all domains of a registered domain.
CREATE OR REPLACE FUNCTION registered_started(p_run_id bigint, p_registered text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT g.pages_started FROM run_registered g WHERE g.run_id = p_run_id AND g.registered = p_registered
    ), (
        SELECT coalesce(sum(x.pages_started), 0)::bigint FROM (
            SELECT rd.pages_started FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.registered = p_registered
            UNION ALL
            SELECT rd.pages_started FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = p_registered
        ) x
    ));
END
$$;

-- The same where the settings of the run limit it; else 0.
CREATE OR REPLACE FUNCTION registered_counted(p_settings jsonb, p_run_id bigint, p_registered text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN (p_settings ->> 'max_pages_per_registered_domain')::bigint >= 0
        THEN registered_started(p_run_id, p_registered) ELSE 0 END
$$;

-- Gives slots back for which no request was made, or none that counts: they are free
-- after a delay each.
CREATE OR REPLACE FUNCTION slot_undo(
    p_domain text, p_shared text[], p_holder text, p_delay_ms bigint, p_shared_delay_ms bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM politeness_slots s
    WHERE s.key = ANY ('domain:' || p_domain || p_shared) AND s.holder = p_holder ORDER BY s.key FOR UPDATE;
    UPDATE politeness_slots s SET
        free_at = clock_timestamp() + ms_interval(
            coalesce(p_shared_delay_ms[array_position(p_shared, s.key)], p_delay_ms)
        ),
        ended_at = CASE WHEN p_delay_ms > 0 THEN clock_timestamp() ELSE ended_at END,
        reason = CASE WHEN p_delay_ms > 0 THEN 'delay' ELSE '' END, holder = NULL, updated_at = clock_timestamp()
    WHERE s.key = ANY ('domain:' || p_domain || p_shared) AND s.holder = p_holder;
END
$$;

-- The same for an attempt that is taken back. p_spared says that the domain could not
-- be reached.
CREATE OR REPLACE FUNCTION slot_abandon(
    p_domain text, p_shared text[], p_holder text, p_delay_ms bigint, p_shared_delay_ms bigint[], p_spared boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_spared THEN
        UPDATE politeness_slots SET spared_since = clock_timestamp()
        WHERE key = 'domain:' || p_domain AND holder = p_holder AND spared_since IS NULL;
    END IF;
    PERFORM slot_undo(p_domain, p_shared, p_holder, p_delay_ms, p_shared_delay_ms);
END
$$;

-- Takes an attempt back that was begun but could not be made, through no fault of
-- the page: the row is pending again and its budgets are refunded. That of a
-- prerequisite is closed. p_spared says that the domain could not be reached.
CREATE OR REPLACE FUNCTION crawl_abandon(
    p_crawl_id bigint, p_domain text, p_shared text[], p_why text, p_delay_ms bigint, p_shared_delay_ms bigint[],
    p_spared boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c record;
BEGIN
    PERFORM slot_abandon(p_domain, p_shared, 'crawl:' || p_crawl_id, p_delay_ms, p_shared_delay_ms, p_spared);
    -- Where a crawl is looked up by its id or page, here and elsewhere, completed_at says whether
    -- it is open. outcome says the same, but partial indexes have it as their condition. With
    -- statistics of when little was pending, the planner would read all of such an index.
    UPDATE page_crawls SET
        locked_at = NULL, outcome = 'skipped', skipped = 'not made', completed_at = clock_timestamp(), error_message = p_why
    WHERE id = p_crawl_id AND completed_at IS NULL AND prerequisite;
    UPDATE page_crawls SET locked_at = NULL
    WHERE id = p_crawl_id AND completed_at IS NULL AND locked_at IS NOT NULL
    RETURNING run_id, kind INTO c;
    IF FOUND THEN
        PERFORM budget_refund(c.run_id, p_domain, c.kind);
    END IF;
END
$$;

-- The same of an attempt whose request the site may have seen: it is kept as a row, for
-- an audit, and counts for nothing. The page is pending again.
CREATE OR REPLACE FUNCTION crawl_take_back(
    p_crawl_id bigint, p_domain text, p_shared text[], p_why text, p_delay_ms bigint, p_shared_delay_ms bigint[],
    p_spared boolean, p_robots_version bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    c page_crawls;
BEGIN
    PERFORM slot_abandon(p_domain, p_shared, 'crawl:' || p_crawl_id, p_delay_ms, p_shared_delay_ms, p_spared);
    UPDATE page_crawls SET
        locked_at = NULL, outcome = 'skipped', skipped = 'taken back', completed_at = t, error_message = p_why,
        duration_ms = least(ms_between(locked_at, t), 2147483647)::integer,
        delay_ms = p_delay_ms, delay_reason = 'delay', robots_version = p_robots_version
    WHERE id = p_crawl_id AND completed_at IS NULL AND locked_at IS NOT NULL
    RETURNING * INTO c;
    IF NOT FOUND OR c.prerequisite THEN
        RETURN;
    END IF;
    INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects, again, bare, attempt)
    VALUES (c.page_id, c.domain, c.priority, c.run_id, c.id, c.url, c.kind, c.depth, c.redirects, c.again, c.bare, c.attempt);
    PERFORM budget_refund(c.run_id, p_domain, c.kind);
END
$$;

-- Takes back what budget_take, or image_budget_take, has counted.
CREATE OR REPLACE FUNCTION budget_refund(p_run_id bigint, p_domain text, p_kind text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_registered text;
BEGIN
    IF kind_image(p_kind) THEN
        UPDATE run_domains SET images_started = images_started - 1 WHERE run_id = p_run_id AND domain = p_domain;
        RETURN;
    ELSIF NOT kind_counted(p_kind) THEN
        RETURN;
    END IF;
    UPDATE run_domains SET pages_started = pages_started - 1 WHERE run_id = p_run_id AND domain = p_domain
    RETURNING coalesce(registered, domain) INTO v_registered;
    PERFORM registered_refund(p_run_id, v_registered);
    UPDATE crawl_runs SET pages_started = pages_started - 1
    WHERE id = p_run_id AND pages_started > 0 AND coalesce((settings ->> 'max_pages')::bigint, -1) >= 0;
END
$$;
