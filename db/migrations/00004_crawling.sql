-- +goose Up

-- A domain's part in each running run, and whether its budgets leave anything.
CREATE VIEW domain_runs AS
SELECT
    rd.domain,
    r.id AS run_id,
    r.name AS run,
    r.delay_ms,
    r.ip_delay_ms,
    r.subnet_delay_ms,
    r.patience_ms,
    r.min_refetch_ms,
    r.time_window,
    r.purpose,
    r.block_on_login,
    r.latency_factor,
    r.graylist_ms,
    r.max_graylistings,
    r.max_attempts,
    d.status NOT IN ('blocked', 'unreachable')
    AND (r.max_pages < 0 OR r.pages_started < r.max_pages)
    AND (
        coalesce(d.max_pages, r.max_pages_per_domain) < 0
        OR rd.pages_started < coalesce(d.max_pages, r.max_pages_per_domain)
    ) AS has_budget
FROM run_domains AS rd
INNER JOIN crawl_runs AS r ON rd.run_id = r.id
INNER JOIN domains AS d ON rd.domain = d.domain
WHERE r.status = 'running';

CREATE TYPE next_crawl AS (
    -- crawl_finish only: whether this call closed the crawl
    closed boolean,
    -- 0 when nothing is due
    crawl_id bigint,
    run text,
    url text,
    origin text,
    attempt integer,
    max_attempts integer,
    patience_ms bigint,
    min_refetch_ms bigint,
    purpose text,
    block_on_login boolean,
    -- links from a seed
    depth integer,
    -- what is known from the last visit: crawl.Visit
    fetched_at timestamptz,
    fresh_until timestamptz,
    etag text,
    last_modified timestamptz,
    content_hash bytea,
    -- patterns of the domain that have brought too little news
    spent_patterns text[],
    -- when the domain may be asked: all of these have to be open
    windows text[],
    -- this clock's time
    asked_at timestamptz,
    latency_factor double precision,
    graylist_ms bigint,
    max_graylistings integer,
    -- crawl.Health
    health text,
    -- empty while robots.txt has never been fetched
    robots_verdict text,
    -- identifies the stored rules
    robots_version bigint,
    -- until the verdict expires; not positive when it has
    robots_fresh_ms bigint,
    robots_reason text,
    -- whether the origin's tdmrep.json has been asked for
    tdm_known boolean,
    -- what bears on the delay, see crawl.Waits
    delay_ms bigint,
    domain_delay_ms bigint,
    crawl_delay_ms bigint,
    ip_delay_ms bigint,
    subnet_delay_ms bigint,
    -- until the domain's slot is free
    slot_wait_ms bigint,
    slot_reason text,
    -- when nothing is due: until something will be; -1 when nothing is pending
    due_in_ms bigint
);

-- Closes attempts whose worker died. Only to be called with the domain's slot
-- free: then no request can be in flight, and a locked row is one that nobody
-- will ever close. The attempt counts, so a page that kills its worker fails.
-- +goose StatementBegin
CREATE FUNCTION crawl_reap(p_domain text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    dead record;
    reaped integer := 0;
BEGIN
    FOR dead IN
        UPDATE page_crawls SET
            locked_at = NULL, outcome = 'failed',
            -- the request can only have been made in this span
            completed_at = clock_timestamp(),
            duration_ms = least(ms_between(locked_at, clock_timestamp()), 2147483647)::integer,
            error_message = 'the worker died during the attempt'
        WHERE domain = p_domain AND locked_at IS NOT NULL
        RETURNING *
    LOOP
        reaped := reaped + 1;
        IF (SELECT count(*) FROM page_crawls x WHERE x.page_id = dead.page_id AND x.run_id = dead.run_id)
            < (SELECT max_attempts FROM crawl_runs WHERE id = dead.run_id)
        THEN
            INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, depth, redirects)
            VALUES (dead.page_id, dead.domain, dead.priority, dead.run_id, dead.id, dead.url,
                dead.depth, dead.redirects);
        ELSE
            UPDATE pages SET status = 'failed', failed_at = clock_timestamp(), updated_at = clock_timestamp()
            WHERE id = dead.page_id;
        END IF;
        UPDATE run_domains SET failed = failed + 1, updated_at = clock_timestamp()
        WHERE run_id = dead.run_id AND domain = p_domain;
    END LOOP;
    RETURN reaped;
END
$$;
-- +goose StatementEnd

CREATE TYPE due_crawl AS (
    id bigint, page_id bigint, run_id bigint, url text, priority integer, depth integer, scheduled_for timestamptz
);

-- The crawl a domain should make next, by priority over all runs, with all that
-- is needed to decide on it. It claims nothing: crawl_begin decides.
-- +goose StatementBegin
CREATE FUNCTION crawl_next(p_domain text) RETURNS next_crawl LANGUAGE plpgsql AS $$
DECLARE
    t timestamptz := clock_timestamp();
    n next_crawl;
    slot record;
    r record;
    c due_crawl;
    best due_crawl;
    has_due boolean;
BEGIN
    n.closed := false;
    n.crawl_id := 0;
    n.due_in_ms := -1;
    n.windows := '{}';
    n.asked_at := t;
    SELECT s.free_at, s.reason, s.holder INTO slot FROM politeness_slots s WHERE s.key = 'domain:' || p_domain;
    IF coalesce(slot.free_at, 'epoch') <= t AND (slot.holder IS NOT NULL
        OR EXISTS (SELECT 1 FROM page_crawls x WHERE x.domain = p_domain AND x.locked_at IS NOT NULL))
    THEN
        -- again under the lock: somebody may have taken the slot meanwhile
        PERFORM 1 FROM politeness_slots s
        WHERE s.key = 'domain:' || p_domain AND s.free_at <= t FOR UPDATE;
        IF FOUND THEN
            PERFORM slot_lost(p_domain);
            PERFORM crawl_reap(p_domain);
            t := clock_timestamp();
            n.asked_at := t;
        END IF;
    END IF;
    n.slot_wait_ms := greatest(ms_between(t, coalesce(slot.free_at, 'epoch')), 0);
    n.slot_reason := coalesce(slot.reason, '');

    -- One run at a time, each a step along page_crawls_next.
    FOR r IN SELECT * FROM domain_runs v WHERE v.domain = p_domain AND v.has_budget LOOP
        SELECT x.id, x.page_id, x.run_id, x.url, x.priority, x.depth, x.scheduled_for INTO c
        FROM page_crawls x
        WHERE x.domain = p_domain AND x.run_id = r.run_id AND x.completed_at IS NULL
            AND x.locked_at IS NULL AND x.scheduled_for <= t
        ORDER BY x.priority DESC, x.scheduled_for, x.id LIMIT 1;
        has_due := FOUND;
        IF has_due AND (best.id IS NULL
            OR (-c.priority, c.scheduled_for, c.id) < (-best.priority, best.scheduled_for, best.id))
        THEN
            best := c;
            n.run := r.run;
            n.max_attempts := r.max_attempts;
            n.patience_ms := r.patience_ms;
            n.min_refetch_ms := r.min_refetch_ms;
            n.purpose := r.purpose;
            n.block_on_login := r.block_on_login;
            n.latency_factor := r.latency_factor;
            n.graylist_ms := r.graylist_ms;
            n.max_graylistings := r.max_graylistings;
        END IF;
        -- the strictest of all runs that still want something of the domain
        IF has_due OR EXISTS (
            SELECT 1 FROM page_crawls x
            WHERE x.domain = p_domain AND x.run_id = r.run_id AND x.completed_at IS NULL
        ) THEN
            n.delay_ms := greatest(n.delay_ms, r.delay_ms);
            n.ip_delay_ms := greatest(n.ip_delay_ms, r.ip_delay_ms);
            n.subnet_delay_ms := greatest(n.subnet_delay_ms, r.subnet_delay_ms);
            IF r.time_window <> '' AND r.time_window <> ALL (n.windows) THEN
                n.windows := n.windows || r.time_window;
            END IF;
        END IF;
    END LOOP;

    IF best.id IS NOT NULL THEN
        n.crawl_id := best.id;
        n.url := best.url;
        n.depth := best.depth;
        SELECT p.origin, p.fetched_at, p.fresh_until, p.etag, p.last_modified, p.content_hash,
            coalesce(ro.verdict::text, ''),
            coalesce((extract(EPOCH FROM ro.fetched_at) * 1e6)::bigint, 0),
            coalesce(ms_between(t, ro.expires_at), 0),
            coalesce(ro.reason, ''), ro.tdm IS NOT NULL
        INTO n.origin, n.fetched_at, n.fresh_until, n.etag, n.last_modified, n.content_hash,
            n.robots_verdict, n.robots_version, n.robots_fresh_ms, n.robots_reason, n.tdm_known
        FROM pages p LEFT JOIN robots ro ON ro.origin = p.origin
        WHERE p.id = best.page_id;
        n.attempt := (
            SELECT count(*) FROM page_crawls x WHERE x.page_id = best.page_id AND x.run_id = best.run_id
        );
        n.health := (SELECT h.health FROM domain_health h WHERE h.domain = p_domain);
        n.spent_patterns := ARRAY(
            SELECT u.pattern FROM url_patterns u WHERE u.domain = p_domain AND u.spent LIMIT 1000);
        SELECT coalesce(d.delay_ms, 0),
            CASE WHEN d.time_window IS NULL THEN n.windows ELSE n.windows || d.time_window END
        INTO n.domain_delay_ms, n.windows FROM domains d WHERE d.domain = p_domain;
        n.crawl_delay_ms := coalesce(
            (SELECT max(ro.crawl_delay_ms) FROM robots ro WHERE ro.domain = p_domain), 0);
        RETURN n;
    END IF;

    -- A locked row is an attempt in flight or abandoned: its slot says until when.
    SELECT ms_between(t, min(CASE WHEN x.locked_at IS NULL THEN x.scheduled_for ELSE slot.free_at END))
    INTO n.due_in_ms
    FROM domain_runs v INNER JOIN page_crawls x ON x.run_id = v.run_id
    WHERE v.domain = p_domain AND x.domain = p_domain AND x.completed_at IS NULL
        AND (v.has_budget OR x.locked_at IS NOT NULL);
    -- greatest() passes over nulls, so these must stay apart
    n.due_in_ms := CASE WHEN n.due_in_ms IS NULL THEN -1 ELSE greatest(n.due_in_ms, 0) END;
    RETURN n;
END
$$;
-- +goose StatementEnd

-- Begins an attempt: takes the slots, closes what dead workers left, claims the
-- row, counts it against the budgets and renews the domain's claim. Not
-- granted with reason 'stale' means that the row is no longer there to be had.
-- +goose StatementBegin
CREATE FUNCTION crawl_begin(
    p_crawl_id bigint, p_domain text, p_shared text[], p_shared_delay_ms bigint[],
    p_hold_ms bigint, p_span_ms bigint, p_queued boolean
) RETURNS slot_answer LANGUAGE plpgsql AS $$
DECLARE
    a slot_answer;
    c record;
    holder CONSTANT text := 'crawl:' || p_crawl_id;
BEGIN
    a := slot_take(p_domain, p_shared, p_shared_delay_ms, holder, p_hold_ms, p_span_ms, p_queued);
    IF NOT a.granted THEN
        RETURN a;
    END IF;
    PERFORM crawl_reap(p_domain);
    SELECT x.run_id, x.outcome, x.locked_at INTO c FROM page_crawls x WHERE x.id = p_crawl_id;
    IF FOUND AND c.outcome IS NULL AND c.locked_at IS NULL
        AND (SELECT v.has_budget FROM domain_runs v WHERE v.run_id = c.run_id AND v.domain = p_domain)
    THEN
        UPDATE domains SET claim_expires_at = now() + interval '30 minutes'
        WHERE domain = p_domain AND claimed_by IS NOT NULL
            AND claim_expires_at < now() + interval '20 minutes';
        UPDATE run_domains SET pages_started = pages_started + 1, updated_at = clock_timestamp()
        WHERE run_id = c.run_id AND domain = p_domain;
        -- many domains share this row: it is the price of an exact budget, paid
        -- only by runs that set one
        UPDATE crawl_runs SET pages_started = pages_started + 1
        WHERE id = c.run_id AND max_pages >= 0 AND pages_started < max_pages;
        IF FOUND OR (SELECT max_pages < 0 FROM crawl_runs WHERE id = c.run_id) THEN
            UPDATE page_crawls SET locked_at = clock_timestamp() WHERE id = p_crawl_id;
            RETURN a;
        END IF;
        UPDATE run_domains SET pages_started = pages_started - 1
        WHERE run_id = c.run_id AND domain = p_domain;
    END IF;
    PERFORM slot_release(p_domain, p_shared, array_fill(0::bigint, ARRAY[cardinality(p_shared)]), holder, 0, 0, '');
    RETURN (false, 0, 'stale')::slot_answer;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION crawl_begin, crawl_next, crawl_reap;
DROP TYPE due_crawl, next_crawl;
DROP VIEW domain_runs;
