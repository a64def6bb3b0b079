-- +goose Up

-- The statements of these functions look one row at a time up by a unique key, in
-- a subquery, rather than join: their plans are kept, and one made while a table
-- was still empty would read all of it later.

-- Stores pages that were found, all at once, and returns their ids in the order
-- given; urls may repeat. Sorted, so that two transactions that find the same
-- pages wait for each other instead of deadlocking.
-- +goose StatementBegin
CREATE FUNCTION pages_add(p_urls text [], p_domains text [], p_origins text []) RETURNS bigint []
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pages (url, domain, origin)
    SELECT DISTINCT ON (l.url) l.url, l.domain, l.origin
    FROM unnest(p_urls, p_domains, p_origins) AS l (url, domain, origin)
    WHERE (SELECT p.id FROM pages p WHERE p.url = l.url) IS NULL
    ORDER BY l.url
    ON CONFLICT (url) DO NOTHING;
    RETURN (
        SELECT coalesce(array_agg((SELECT p.id FROM pages p WHERE p.url = l.url) ORDER BY l.n), '{}')
        FROM unnest(p_urls) WITH ORDINALITY AS l (url, n)
    );
END
$$;
-- +goose StatementEnd

-- Makes pages part of a run: pending crawls, once a page and run, and the domains
-- they belong to. The caller has stored the pages and decided that they are in
-- scope. p_own is the domain whose claim the caller holds, if any. Returns how
-- many crawls are new.
-- +goose StatementBegin
CREATE FUNCTION crawls_add(
    p_run_id bigint, p_ids bigint[], p_urls text[], p_domains text[],
    p_depth integer, p_redirects integer, p_seed boolean, p_own text
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    others text[];
    newcomers text[];
    idle text[];
    added integer;
BEGIN
    IF cardinality(p_ids) = 0 THEN
        RETURN 0;
    END IF;
    SELECT coalesce(array_agg(DISTINCT f ORDER BY f), '{}') INTO others
    FROM unnest(p_domains) f WHERE f <> p_own;
    SELECT array_agg(f ORDER BY f) INTO newcomers FROM unnest(others) f
    WHERE p_seed OR (SELECT r.run_id FROM run_domains r WHERE r.run_id = p_run_id AND r.domain = f) IS NULL;
    IF newcomers IS NOT NULL THEN
        INSERT INTO domains (domain)
        SELECT f FROM unnest(newcomers) f
        WHERE (SELECT d.id FROM domains d WHERE d.domain = f) IS NULL
        ORDER BY f ON CONFLICT (domain) DO NOTHING;
        INSERT INTO run_domains (run_id, domain, seed)
        SELECT p_run_id, f, p_seed FROM unnest(newcomers) f ORDER BY f
        ON CONFLICT (run_id, domain) DO UPDATE SET seed = true
        WHERE excluded.seed AND NOT run_domains.seed;
    END IF;
    -- Whoever finishes a domain locks its row FOR UPDATE: with this, either it sees
    -- the crawls added here or the status update below sees it finished. The
    -- caller's own domain cannot be finished while its attempt is open.
    SELECT array_agg(d.domain ORDER BY d.domain) FILTER (WHERE d.status = 'exhausted')
    INTO idle FROM unnest(others) f CROSS JOIN LATERAL (
        SELECT x.domain, x.status FROM domains x WHERE x.domain = f FOR KEY SHARE
    ) d;
    INSERT INTO page_crawls (page_id, domain, priority, run_id, url, depth, redirects)
    SELECT DISTINCT ON (l.id) l.id, l.domain, -p_depth, p_run_id, l.url, p_depth, p_redirects
    FROM unnest(p_ids, p_urls, p_domains) AS l (id, url, domain)
    ORDER BY l.id
    ON CONFLICT (run_id, page_id) WHERE previous_id IS NULL DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF idle IS NOT NULL THEN
        UPDATE domains d SET status = 'pending', status_reason = ''
        WHERE d.domain = ANY (idle) AND d.status = 'exhausted';
    END IF;
    RETURN added;
END
$$;
-- +goose StatementEnd

-- Closes an attempt and does all that follows from it, in one transaction: the
-- slots, the page, its links, the pages found, their crawls, the retry, the
-- totals; then says what comes next. Where the crawl is closed already (a slow
-- worker was taken for dead) it changes nothing.
-- +goose StatementBegin
CREATE FUNCTION crawl_finish(
    p_crawl_id bigint,
    p_domain text,
    -- empty when no request was made; then no slot is held either
    p_holder text,
    p_ip text,
    p_outcome crawl_outcome,
    p_status_code integer,
    p_error text,
    p_duration_ms bigint,
    p_since_end_ms bigint,
    p_bytes bigint,
    p_content_type text,
    p_delay_ms bigint,
    p_shared text[],
    p_shared_delay_ms bigint[],
    p_reason text,
    -- negative: no further attempt
    p_retry_in_ms bigint,
    p_title text,
    p_canonical text,
    p_noindex boolean,
    p_nofollow boolean,
    p_link_urls text[],
    p_link_domains text[],
    p_link_origins text[],
    p_link_nofollow boolean[],
    p_redirect boolean,
    -- the robots.txt that allowed the request, and what the server asked for
    p_origin text,
    p_robots_version bigint,
    p_retry_after_ms bigint,
    -- what the answer makes of the domain: its health, and if not empty the status
    -- it ends with
    p_health text,
    p_verdict text,
    p_verdict_reason text,
    -- why no request was made, or why the page counts as unchanged; empty otherwise
    p_skipped text,
    p_unchanged text,
    -- what to remember of the visit: crawl.Visit; p_fresh_ms counts from its end
    p_etag text,
    p_last_modified timestamptz,
    p_fresh_ms bigint,
    p_content_hash bytea,
    p_simhash bigint,
    -- permits.Permits, empty where nothing is said
    p_permits text,
    -- the patterns that the page is charged to, and whether it is known to have
    -- brought no news
    p_patterns text[],
    p_no_news boolean,
    -- why the page, or a page found, is taken for a trap; empty is none
    p_trap text,
    p_trap_evidence text,
    p_link_traps text[],
    p_link_evidence text[]
) RETURNS next_crawl LANGUAGE plpgsql AS $$
DECLARE
    ended CONSTANT timestamptz := clock_timestamp() - ms_interval(p_since_end_ms);
    c page_crawls;
    r crawl_runs;
    n next_crawl;
    pages_found bigint[];
    target record;
    held boolean := false;
BEGIN
    IF p_holder <> '' THEN
        held := slot_release(p_domain, p_shared, p_shared_delay_ms, p_holder, p_since_end_ms, p_delay_ms, p_reason);
    END IF;
    IF held THEN
        INSERT INTO requests (domain, ip, kind, crawl_id, origin, robots_version, started_at, ended_at,
            status_code, delay_ms, delay_reason, ip_delay_ms, subnet, subnet_delay_ms, retry_after_ms)
        VALUES (p_domain, nullif(p_ip, '')::inet, 'page', p_crawl_id, p_origin, p_robots_version,
            ended - ms_interval(p_duration_ms), ended, nullif(p_status_code, 0),
            p_delay_ms, p_reason, shared_delay(p_shared, p_shared_delay_ms, 'ip'), shared_part(p_shared, 'subnet'),
            shared_delay(p_shared, p_shared_delay_ms, 'subnet'), nullif(p_retry_after_ms, 0));
        INSERT INTO domain_health (domain, health) VALUES (p_domain, p_health::jsonb)
        ON CONFLICT (domain) DO UPDATE SET health = excluded.health, updated_at = clock_timestamp();
    END IF;
    SELECT * INTO c FROM page_crawls WHERE id = p_crawl_id FOR UPDATE;
    IF NOT FOUND OR c.outcome IS NOT NULL OR (c.locked_at IS NULL) = (p_holder <> '') THEN
        n := crawl_next(p_domain);
        n.closed := false;
        RETURN n;
    END IF;
    UPDATE page_crawls SET
        locked_at = NULL, completed_at = ended, outcome = p_outcome,
        status_code = nullif(p_status_code, 0), error_message = nullif(p_error, ''),
        duration_ms = p_duration_ms::integer, bytes = p_bytes,
        content_type = nullif(p_content_type, ''), ip = nullif(p_ip, '')::inet,
        skipped = nullif(p_skipped, ''), unchanged = nullif(p_unchanged, '')
    WHERE id = p_crawl_id;
    SELECT * INTO r FROM crawl_runs WHERE id = c.run_id;

    IF p_outcome = 'success' AND (p_skipped <> '' OR p_unchanged <> '') THEN
        PERFORM links_follow_known(c, r);
    ELSIF cardinality(p_patterns) > 0 AND p_outcome = 'success' THEN
        PERFORM pattern_charge(c, p_patterns, p_no_news, p_content_hash, p_simhash);
    END IF;
    IF p_trap <> '' THEN
        UPDATE pages SET trap = p_trap, trap_evidence = p_trap_evidence, updated_at = clock_timestamp()
        WHERE id = c.page_id;
    ELSIF p_skipped <> '' THEN
        NULL; -- nothing new is known of the page
    ELSIF p_outcome = 'success' AND p_unchanged <> '' THEN
        UPDATE pages SET
            status = 'fetched', fetched_at = ended, etag = p_etag, last_modified = p_last_modified,
            fresh_until = ended + ms_interval(nullif(p_fresh_ms, 0)), updated_at = clock_timestamp()
        WHERE id = c.page_id;
    ELSIF p_outcome = 'success' THEN
        UPDATE pages SET
            etag = p_etag, last_modified = p_last_modified,
            fresh_until = ended + ms_interval(nullif(p_fresh_ms, 0)),
            content_hash = p_content_hash, simhash = p_simhash, permits = nullif(p_permits, '')::jsonb,
            status = 'fetched', fetched_at = ended, title = nullif(p_title, ''),
            canonical_url = nullif(p_canonical, ''), noindex = p_noindex, nofollow = p_nofollow,
            updated_at = clock_timestamp()
        WHERE id = c.page_id;
    ELSIF p_retry_in_ms < 0 THEN
        UPDATE pages SET status = 'failed', failed_at = ended, updated_at = clock_timestamp()
        WHERE id = c.page_id;
    END IF;

    IF cardinality(p_link_urls) > 0 THEN
        pages_found := pages_add(p_link_urls, p_link_domains, p_link_origins);
        INSERT INTO page_links (from_page_id, to_page_id, kind, nofollow)
        SELECT c.page_id, l.id, CASE WHEN p_redirect THEN 'redirect' ELSE 'link' END, bool_and(l.nofollow)
        FROM unnest(pages_found, p_link_nofollow) AS l (id, nofollow)
        GROUP BY l.id ORDER BY l.id
        ON CONFLICT DO NOTHING;
        IF cardinality(array_remove(p_link_traps, '')) > 0 THEN
            PERFORM traps_mark(pages_found, p_link_traps, p_link_evidence);
        END IF;
        SELECT
            coalesce(array_agg(l.id), '{}') AS ids, coalesce(array_agg(l.url), '{}') AS urls,
            coalesce(array_agg(l.domain), '{}') AS domains
        INTO target
        FROM unnest(pages_found, p_link_urls, p_link_domains, p_link_nofollow, p_link_traps)
            AS l (id, url, domain, nofollow, trap)
        WHERE NOT l.nofollow AND l.trap = '';
        PERFORM links_follow(c, r, target.ids, target.urls, target.domains, p_redirect);
    END IF;

    IF p_retry_in_ms >= 0 THEN
        INSERT INTO page_crawls
            (page_id, domain, priority, scheduled_for, run_id, previous_id, url, depth, redirects)
        VALUES (c.page_id, c.domain, c.priority, ended + ms_interval(p_retry_in_ms), c.run_id, c.id, c.url,
            c.depth, c.redirects);
    END IF;

    UPDATE run_domains SET
        skipped = skipped + (p_skipped <> '')::integer,
        success = success + (p_outcome = 'success' AND p_skipped = '')::integer,
        failed = failed + (p_outcome = 'failed' AND p_skipped = '')::integer,
        timeout = timeout + (p_outcome = 'timeout')::integer,
        blocked_robots = blocked_robots + (p_outcome = 'blocked_robots')::integer,
        blocked_4xx = blocked_4xx + (p_outcome = 'blocked_4xx')::integer,
        blocked_5xx = blocked_5xx + (p_outcome = 'blocked_5xx')::integer,
        bytes = bytes + p_bytes, updated_at = clock_timestamp()
    WHERE run_id = c.run_id AND domain = p_domain;

    IF held AND p_verdict <> '' THEN
        UPDATE domains SET status = p_verdict::domain_status, status_reason = p_verdict_reason
        WHERE domain = p_domain AND status NOT IN ('blocked', 'unreachable');
    END IF;

    n := crawl_next(p_domain);
    n.closed := true;
    RETURN n;
END
$$;
-- +goose StatementEnd

-- Takes an attempt back that was begun but for which no request was made, through
-- no fault of the page: the row is pending again, its budgets are refunded.
-- +goose StatementBegin
CREATE FUNCTION crawl_abandon(p_crawl_id bigint, p_domain text, p_shared text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    c record;
BEGIN
    PERFORM slot_release(p_domain, p_shared, array_fill(0::bigint, ARRAY[cardinality(p_shared)]),
        'crawl:' || p_crawl_id, 0, 0, '');
    UPDATE page_crawls SET locked_at = NULL
    WHERE id = p_crawl_id AND outcome IS NULL AND locked_at IS NOT NULL
    RETURNING run_id INTO c;
    IF FOUND THEN
        UPDATE run_domains SET pages_started = pages_started - 1
        WHERE run_id = c.run_id AND domain = p_domain;
        UPDATE crawl_runs SET pages_started = pages_started - 1
        WHERE id = c.run_id AND max_pages >= 0 AND pages_started > 0;
    END IF;
END
$$;
-- +goose StatementEnd

-- Stores seeds and makes them part of a run. Seeding is a person's decision, so it
-- also revives domains that were stopped or given up, but not banned ones. Returns how many crawls are new.
-- +goose StatementBegin
CREATE FUNCTION seeds_add(p_run_id bigint, p_urls text[], p_domains text[], p_origins text[])
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ids CONSTANT bigint[] := pages_add(p_urls, p_domains, p_origins);
    added integer;
BEGIN
    added := crawls_add(p_run_id, ids, p_urls, p_domains, 0, 0, true, '');
    UPDATE domains SET status = 'pending', status_reason = '', next_crawl_after = NULL
    WHERE domain = ANY (p_domains) AND status IN ('blocked', 'unreachable') AND NOT banned;
    RETURN added;
END
$$;
-- +goose StatementEnd

-- Ends a domain's workflow unless there is work: returns false where something is
-- due. p_until_ms puts the domain away for that long, due or not; negative
-- does not.
-- +goose StatementBegin
CREATE FUNCTION domain_finish(p_domain text, p_until_ms bigint, p_reason text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    -- waits for those who are adding crawls, see crawls_add
    PERFORM 1 FROM domains WHERE domain = p_domain FOR UPDATE;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    IF p_until_ms < 0 AND EXISTS (
        SELECT 1 FROM domain_runs r INNER JOIN page_crawls c ON c.run_id = r.run_id AND c.domain = r.domain
        WHERE r.domain = p_domain AND c.outcome IS NULL
            AND ((r.has_budget AND c.scheduled_for <= now()) OR c.locked_at IS NOT NULL)
    ) THEN
        RETURN false;
    END IF;
    UPDATE domains SET
        claimed_by = NULL, claim_expires_at = NULL,
        status = CASE
            WHEN status NOT IN ('pending', 'active') THEN status
            WHEN EXISTS (SELECT 1 FROM page_crawls c WHERE c.domain = p_domain AND c.outcome IS NULL)
                THEN 'pending'
            WHEN status = 'active' THEN 'exhausted'
            ELSE status
        END,
        status_reason = CASE WHEN status IN ('pending', 'active') THEN p_reason ELSE status_reason END,
        next_crawl_after = CASE WHEN p_until_ms >= 0 THEN now() + ms_interval(p_until_ms) END
    WHERE domain = p_domain;
    RETURN true;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION domain_finish, seeds_add, crawl_abandon, crawl_finish, crawls_add, pages_add;
