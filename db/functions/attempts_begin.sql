-- Begins an attempt (p is crawl.Start): takes the slots, closes attempts of dead workers, claims
-- the row, charges the budgets and renews the domain's claim. The reason 'not pending' means that
-- the row is not pending or a budget is spent. An operator decides 'pause', 'stop' and 'block'. A
-- prerequisite, such as robots.txt, gets its row here and costs no budget.
CREATE OR REPLACE FUNCTION attempt_begin(p jsonb) RETURNS begin_result LANGUAGE plpgsql AS $$
DECLARE
    v_domain CONSTANT text := p ->> 'domain';
    v_prerequisite CONSTANT boolean := coalesce((p ->> 'prerequisite')::boolean, false);
    v_id bigint := (p ->> 'attempt_id')::bigint;
    v_run bigint := (p ->> 'run_id')::bigint;
    a start_attempt;
BEGIN
    IF v_prerequisite THEN
        v_id := nextval(pg_get_serial_sequence('page_crawls', 'id'));
    END IF;
    a := (slots_take(jsonb_build_array(p || jsonb_build_object('attempt_id', v_id))))[1];
    IF a.reason IS NOT NULL THEN
        RETURN (1, false, coalesce(a.wait_ms, 0), a.reason, 0)::begin_result;
    END IF;
    PERFORM claims_renew(ARRAY[v_domain], a.claim, NOT v_prerequisite);
    IF v_prerequisite THEN
        INSERT INTO page_crawls (id, page_id, domain, run_id, url, kind, prerequisite, locked_at, worker)
        OVERRIDING SYSTEM VALUE
        SELECT v_id, i, v_domain, v_run, p ->> 'url', p ->> 'kind', true, clock_timestamp(), (p ->> 'worker')::integer
        FROM unnest(pages_add(jsonb_build_array(p))) i;
        RETURN (1, true, 0, '', v_id)::begin_result;
    END IF;
    UPDATE page_crawls c SET
        locked_at = clock_timestamp(), retry_priority = a.retry_priority, worker = (p ->> 'worker')::integer
    WHERE c.id = v_id AND c.completed_at IS NULL AND c.locked_at IS NULL
        -- the attempt does not know a budget of the run that was set just now
        AND (
            SELECT r.status = 'running' AND (
                p ? 'run_budget' OR coalesce((r.settings ->> 'max_pages')::bigint, -1) < 0 OR c.kind <> ALL (kinds('counted'))
            )
            FROM crawl_runs r WHERE r.id = c.run_id
        )
        AND NOT is_abandoned((SELECT d.status FROM domains d WHERE d.domain = v_domain))
    RETURNING c.run_id INTO v_run;
    IF FOUND THEN
        IF budget_take(v_run, v_domain, p) THEN
            RETURN (1, true, 0, '', v_id)::begin_result;
        END IF;
        UPDATE page_crawls SET locked_at = NULL, worker = NULL WHERE id = v_id;
    END IF;
    PERFORM slot_release_unused(v_domain, a.shared_keys, 'crawl:' || v_id, 0, '{}');
    RETURN (1, false, 0, 'not pending', 0)::begin_result;
END
$$;

-- Begins attempts of different domains without a budget, like attempt_begin. p is an array of
-- crawl.Start. It does not wait long for locks: each attempt then begins alone.
CREATE OR REPLACE FUNCTION attempts_begin(p jsonb) RETURNS SETOF begin_result LANGUAGE plpgsql
SET lock_timeout = '500ms' AS $$
DECLARE
    v start_attempt[];
    v_begun bigint[];
    v_worker CONSTANT integer := (p -> 0 ->> 'worker')::integer; -- the same for all
    v_has_prerequisites CONSTANT boolean := jsonb_path_exists(p, '$[*].prerequisite');
    v_prerequisites integer[] := ARRAY[]::integer[]; -- positions in p of the granted prerequisites
    v_docs jsonb;
BEGIN
    IF v_has_prerequisites THEN
        SELECT jsonb_agg(CASE
            WHEN e.doc ? 'prerequisite'
                THEN e.doc || jsonb_build_object('attempt_id', nextval(pg_get_serial_sequence('page_crawls', 'id')))
            ELSE e.doc
        END ORDER BY e.n) INTO p
        FROM jsonb_array_elements(p) WITH ORDINALITY AS e (doc, n);
    END IF;
    v := slots_take(p);
    IF v_has_prerequisites THEN
        SELECT coalesce(array_agg(a.n ORDER BY a.domain), '{}'), jsonb_agg(p -> (a.n - 1) ORDER BY a.domain)
        INTO v_prerequisites, v_docs FROM unnest(v) a WHERE a.reason IS NULL AND p -> (a.n - 1) ? 'prerequisite';
    END IF;
    PERFORM claims_renew(array_agg(a.domain ORDER BY a.domain), max(a.claim), true)
    FROM unnest(v) a WHERE a.reason IS NULL AND a.n <> ALL (v_prerequisites);
    WITH x AS (
        UPDATE page_crawls c SET locked_at = clock_timestamp(), retry_priority = a.retry_priority, worker = v_worker
        FROM unnest(v) a
        WHERE c.id = ANY (ARRAY(SELECT x.attempt_id FROM unnest(v) x)) AND c.id = a.attempt_id AND a.reason IS NULL
            AND c.completed_at IS NULL AND c.locked_at IS NULL
            -- the attempts do not know a budget of the run that was set just now
            AND (
                SELECT r.status = 'running' AND (coalesce((r.settings ->> 'max_pages')::bigint, -1) < 0 OR c.kind <> ALL (kinds('counted')))
                FROM crawl_runs r WHERE r.id = c.run_id
            )
            AND NOT is_abandoned((SELECT d.status FROM domains d WHERE d.domain = c.domain))
        RETURNING c.id, c.run_id, c.domain, c.kind
    ), counted AS (
        UPDATE run_domains r SET
            pages_started = r.pages_started + (x.kind = ANY (kinds('counted')))::integer,
            images_started = r.images_started + (x.kind = ANY (kinds('image')))::integer,
            last_request_at = clock_timestamp(), updated_at = clock_timestamp()
        FROM x
        WHERE r.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v) y)) AND r.run_id = x.run_id AND r.domain = x.domain
    )
    SELECT coalesce(array_agg(x.id), '{}') INTO v_begun FROM x;
    IF cardinality(v_prerequisites) > 0 THEN
        PERFORM claims_renew(array_agg(a.domain ORDER BY a.domain), max(a.claim), false) FROM unnest(v) a WHERE a.n = ANY (v_prerequisites);
        WITH x AS (
            INSERT INTO page_crawls (id, page_id, domain, run_id, url, kind, prerequisite, locked_at, worker)
            OVERRIDING SYSTEM VALUE
            SELECT (e.doc ->> 'attempt_id')::bigint, e.page_id, e.doc ->> 'domain', (e.doc ->> 'run_id')::bigint,
                e.doc ->> 'url', e.doc ->> 'kind', true, clock_timestamp(), v_worker
            FROM ROWS FROM (jsonb_array_elements(v_docs), unnest(pages_add(v_docs))) AS e (doc, page_id)
            RETURNING id
        )
        SELECT v_begun || array_agg(x.id) INTO v_begun FROM x;
    END IF;
    IF cardinality(v_begun) < cardinality(v) THEN
        PERFORM slot_release_unused(a.domain, a.shared_keys, 'crawl:' || a.attempt_id, 0, '{}')
        FROM unnest(v) a WHERE a.reason IS NULL AND a.attempt_id <> ALL (v_begun);
    END IF;
    RETURN QUERY SELECT a.n, a.attempt_id = ANY (v_begun), coalesce(a.wait_ms, 0),
        CASE WHEN a.attempt_id = ANY (v_begun) THEN '' ELSE coalesce(a.reason, 'not pending') END,
        CASE WHEN a.attempt_id = ANY (v_begun) THEN a.attempt_id ELSE 0 END
    FROM unnest(v) a;
END
$$;

-- Undoes an attempt that failed through no fault of the page. The page is pending again and
-- its budgets are refunded. The row of a prerequisite stays. So does a row whose request the site
-- may have seen, for an audit: p_robots_version is then the robots.txt that allowed it. Such rows
-- count for nothing. p_unreachable is set if the domain could not be reached.
CREATE OR REPLACE FUNCTION attempt_undo(
    p_attempt_id bigint, p_domain text, p_shared text[], p_error text, p_delay_ms bigint, p_shared_delay_ms bigint[],
    p_unreachable boolean, p_robots_version bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_keep_row CONSTANT boolean := p_robots_version IS NOT NULL;
    c page_crawls;
    v_registered text;
BEGIN
    IF p_unreachable THEN
        UPDATE politeness_slots SET unreachable_since = t
        WHERE key = 'domain:' || p_domain AND holder = 'crawl:' || p_attempt_id AND unreachable_since IS NULL;
    END IF;
    PERFORM slot_release_unused(p_domain, p_shared, 'crawl:' || p_attempt_id, p_delay_ms, p_shared_delay_ms);
    -- A lookup by id or page uses completed_at IS NULL, here and elsewhere. outcome IS NULL is the
    -- condition of partial indexes, which the planner may read as a whole with old statistics.
    UPDATE page_crawls SET
        locked_at = NULL, outcome = 'skipped', skipped = CASE WHEN v_keep_row THEN 'undone' ELSE 'not requested' END,
        completed_at = t, error_message = p_error, robots_version = p_robots_version,
        duration_ms = CASE WHEN v_keep_row THEN ms_taken(locked_at, t) END,
        delay_ms = CASE WHEN v_keep_row THEN p_delay_ms END, delay_reason = CASE WHEN v_keep_row THEN 'delay' END
    WHERE id = p_attempt_id AND completed_at IS NULL AND locked_at IS NOT NULL AND (prerequisite OR v_keep_row)
    RETURNING * INTO c;
    IF NOT FOUND THEN
        UPDATE page_crawls SET locked_at = NULL, worker = NULL
        WHERE id = p_attempt_id AND completed_at IS NULL AND locked_at IS NOT NULL
        RETURNING * INTO c;
    ELSIF NOT c.prerequisite THEN
        INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects, is_revisit, schemeless, attempt)
        VALUES (c.page_id, c.domain, c.priority, c.run_id, c.id, c.url, c.kind, c.depth, c.redirects, c.is_revisit, c.schemeless, c.attempt);
    END IF;
    -- refund the charges of budget_take
    IF c.kind = ANY (kinds('image')) THEN
        UPDATE run_domains SET images_started = images_started - 1 WHERE run_id = c.run_id AND domain = p_domain;
    ELSIF NOT c.prerequisite AND c.kind = ANY (kinds('counted')) THEN
        UPDATE run_domains SET pages_started = pages_started - 1 WHERE run_id = c.run_id AND domain = p_domain
        RETURNING coalesce(registered, domain) INTO v_registered;
        UPDATE run_registered_domains g SET pages_started = g.pages_started - 1
        WHERE g.run_id = c.run_id AND g.registered = v_registered AND g.pages_started > 0;
        UPDATE crawl_runs SET pages_started = pages_started - 1
        WHERE id = c.run_id AND pages_started > 0 AND coalesce((settings ->> 'max_pages')::bigint, -1) >= 0;
    END IF;
END
$$;

-- Closes the attempt of a dead worker whose lease on a domain's slot has ended. p_holder is
-- crawl:<id>. The caller has locked the slot, which is free, so the request is not in flight. The
-- attempt counts. Its start has decided about a retry (retry_priority).
CREATE OR REPLACE FUNCTION attempt_reap(p_holder text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    dead page_crawls;
BEGIN
    UPDATE page_crawls SET
        locked_at = NULL, outcome = 'failed', lost = true,
        -- the request was made within this span, if at all
        completed_at = t,
        duration_ms = ms_taken(locked_at, t),
        error_message = 'the worker died during the attempt', delay_ms = 0, delay_reason = ''
    WHERE id = substr(p_holder, 7)::bigint AND locked_at IS NOT NULL
    RETURNING * INTO dead;
    IF NOT FOUND OR dead.prerequisite THEN
        RETURN;
    END IF;
    IF dead.retry_priority IS NOT NULL THEN
        INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects, is_revisit, schemeless, attempt)
        VALUES (dead.page_id, dead.domain, dead.retry_priority, dead.run_id, dead.id, dead.url, dead.kind,
            dead.depth, dead.redirects, dead.is_revisit, dead.schemeless, dead.attempt + 1);
    ELSE
        INSERT INTO revisits AS v (page_id, run_id, due_at, revisit_interval)
        SELECT dead.page_id, r.id, clock_timestamp() + interval '1 day', interval '1 day' FROM crawl_runs r
        WHERE r.id = dead.run_id AND r.settings ->> 'when_done' = 'recrawl'
        ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = clock_timestamp() + v.revisit_interval WHERE v.due_at IS NULL;
        IF dead.kind = ANY (kinds('image')) THEN
            UPDATE images SET download_success = false, problem = 'not answered' WHERE page_id = dead.page_id;
        END IF;
        UPDATE pages SET status = 'failed', failed_at = clock_timestamp(), updated_at = clock_timestamp()
        WHERE id = dead.page_id;
    END IF;
    UPDATE run_domains SET failed = failed + 1, requests = requests + 1, updated_at = clock_timestamp()
    WHERE run_id = dead.run_id AND domain = dead.domain AND dead.kind = ANY (kinds('counted'));
    INSERT INTO run_outcomes_new (ended_at, run_id, outcome, attempts)
    SELECT date_trunc('minute', dead.completed_at), dead.run_id, dead.outcome, 1 WHERE dead.kind = ANY (kinds('counted'));
END
$$;

-- Calls attempt_reap if the domain's slot is free but was not released.
CREATE OR REPLACE FUNCTION domain_reap(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
    v_holder text;
BEGIN
    IF (SELECT s.holder FROM politeness_slots s WHERE s.key = k_domain AND s.free_at <= clock_timestamp()) IS NULL THEN
        RETURN;
    END IF;
    -- again under the lock, because another attempt may have taken the slot
    SELECT s.holder INTO v_holder FROM politeness_slots s
    WHERE s.key = k_domain AND s.free_at <= clock_timestamp() FOR UPDATE;
    IF v_holder IS NOT NULL THEN
        PERFORM attempt_reap(v_holder);
        UPDATE politeness_slots SET holder = NULL WHERE key = k_domain;
    END IF;
END
$$;
