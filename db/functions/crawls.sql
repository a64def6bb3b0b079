-- Adds stored pages in scope to runs: their domains, and a pending attempt for each page and run.
-- It omits pages that are part of their run, unless the run wants a skipped page after all
-- (skipped_attempt_to_reconsider). It also omits domains that a list forbids and, with seeds_only,
-- other domains. Returns the number of new crawls, and the runs with newly due domains.
CREATE OR REPLACE FUNCTION attempts_add(p found_page[], OUT added integer, OUT newly_due_runs bigint[]) LANGUAGE plpgsql AS $$
DECLARE
    v found_page[];
    v_domains text[];
    v_out jsonb[];
    v_joining found_page[];
BEGIN
    added := 0;
    IF EXISTS (SELECT 1 FROM unnest(p) f WHERE f.priority > 0 AND kind_priority(f.kind) IS NULL) THEN
        -- a finder may raise the priority of pending attempts
        UPDATE page_crawls c SET priority = r.priority
        FROM (
            SELECT x.id, f.priority FROM unnest(p) f CROSS JOIN LATERAL (
                SELECT y.id FROM page_crawls y
                WHERE y.page_id = f.page_id AND y.run_id = f.run_id AND NOT y.prerequisite AND y.completed_at IS NULL
                    AND y.locked_at IS NULL AND y.previous_id IS NULL AND y.priority < f.priority
            ) x
            WHERE f.priority > 0 AND kind_priority(f.kind) IS NULL AND jsonb_typeof(f.follow) = 'object'
            ORDER BY x.id
        ) r
        WHERE c.id = r.id AND c.completed_at IS NULL AND c.locked_at IS NULL;
    END IF;
    SELECT array_agg(f ORDER BY f.page_id) INTO v FROM unnest(p) f
    WHERE jsonb_typeof(f.follow) = 'object'
        AND (NOT f.follow ? 'seeds_only' OR coalesce((
            SELECT rd.seed FROM run_domains rd WHERE rd.run_id = f.run_id AND rd.domain = f.domain
        ), false))
        AND (f.is_new OR f.follow ? 'seed' OR (
            SELECT c.id FROM page_crawls c
            WHERE c.page_id = f.page_id AND c.run_id = f.run_id
                AND coalesce(c.previous_id, CASE WHEN c.prerequisite THEN -c.id ELSE 0 END) = 0
                AND (c.skipped IS NULL OR c.skipped <> ALL (reasons('link found')))
        ) IS NULL OR f.kind = ANY (kinds('image')) AND skipped_attempt_to_reconsider(f.page_id, f.run_id, true) IS NOT NULL);
    IF EXISTS (SELECT 1 FROM list_entries) THEN
        SELECT array_agg(f ORDER BY f.page_id) INTO v FROM unnest(v) f WHERE f.domain = f.claimed_domain OR domain_listed_by(f.domain) IS NULL;
    END IF;
    IF EXISTS (SELECT 1 FROM unnest(v) f WHERE f.domain <> f.claimed_domain AND f.follow ? 'max_subdomains') THEN
        -- new domains beyond the finder's limit for a registered domain
        v_out := ARRAY(
            SELECT jsonb_build_array(n.run_id, n.domain) FROM (
                SELECT k.run_id, k.domain, k.registered, k.max_subdomains,
                    row_number() OVER (PARTITION BY k.run_id, k.registered ORDER BY k.domain) AS n
                FROM (
                    SELECT f.run_id, f.domain, g.registered, max((f.follow ->> 'max_subdomains')::bigint) AS max_subdomains
                    FROM unnest(v) f CROSS JOIN LATERAL (
                        SELECT x.registered FROM registered_domains x WHERE x.domain = f.domain LIMIT 1
                    ) g
                    WHERE f.domain <> f.claimed_domain AND NOT f.follow ? 'seed'
                        AND (SELECT rd.run_id FROM run_domains rd WHERE rd.run_id = f.run_id AND rd.domain = f.domain) IS NULL
                    GROUP BY f.run_id, f.domain, g.registered
                    HAVING bool_and(f.follow ? 'max_subdomains')
                ) k
            ) n
            WHERE n.n > n.max_subdomains - (SELECT count(*) FROM (
                SELECT 1 FROM run_domains rd WHERE rd.run_id = n.run_id AND rd.registered = n.registered LIMIT n.max_subdomains
            ) y)
        );
        IF cardinality(v_out) > 0 THEN
            SELECT array_agg(f ORDER BY f.page_id) INTO v FROM unnest(v) f WHERE jsonb_build_array(f.run_id, f.domain) <> ALL (v_out);
        END IF;
    END IF;
    IF v IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(DISTINCT f.domain ORDER BY f.domain) INTO v_domains FROM unnest(v) f WHERE f.domain <> f.claimed_domain;
    IF v_domains IS NOT NULL THEN
        SELECT array_agg(k.f ORDER BY k.domain) INTO v_joining FROM (
            SELECT DISTINCT ON (f.domain, f.run_id) f AS f, f.domain FROM unnest(v) f
            WHERE f.domain <> f.claimed_domain AND (f.follow ? 'seed' OR (
                SELECT r.run_id FROM run_domains r WHERE r.run_id = f.run_id AND r.domain = f.domain
            ) IS NULL)
            ORDER BY f.domain, f.run_id, f.follow ? 'seed' DESC
        ) k;
        IF v_joining IS NOT NULL THEN
            INSERT INTO domains (domain)
            SELECT DISTINCT f.domain FROM unnest(v_joining) f
            WHERE (SELECT d.id FROM domains d WHERE d.domain = f.domain) IS NULL
            ORDER BY f.domain ON CONFLICT (domain) DO NOTHING;
            INSERT INTO run_domains (run_id, domain, registered, seed, priority)
            SELECT f.run_id, f.domain, (SELECT g.registered FROM registered_domains g WHERE g.domain = f.domain),
                f.follow ? 'seed', (SELECT d.priority_score FROM domains d WHERE d.domain = f.domain)
            FROM unnest(v_joining) f ORDER BY f.domain, f.run_id
            ON CONFLICT (run_id, domain) DO UPDATE SET seed = true
            WHERE excluded.seed AND NOT run_domains.seed;
            -- a run requests a found domain even if another run has abandoned it
            PERFORM failures_clear(ARRAY(
                SELECT DISTINCT f.domain FROM unnest(v_joining) f
                CROSS JOIN LATERAL (SELECT x.status FROM domains x WHERE x.domain = f.domain) d
                WHERE NOT f.follow ? 'seed'
                    AND (is_abandoned(d.status) OR EXISTS (
                        SELECT 1 FROM robots r WHERE r.domain = f.domain AND r.verdict = 'unreachable' AND r.expires_at > now()
                    ))
            ));
        END IF;
        -- a finish locks FOR UPDATE and sees these crawls, or updates below see it; the
        -- claimed domain is active
        PERFORM 1 FROM unnest(v_domains) f CROSS JOIN LATERAL (
            SELECT 1 FROM domains x WHERE x.domain = f FOR KEY SHARE
        ) d;
    END IF;
    -- in the order of ids to avoid deadlocks, and due in the order of finding
    INSERT INTO page_crawls (page_id, domain, priority, scheduled_for, run_id, previous_id, url, kind, depth, redirects)
    SELECT DISTINCT ON (f.page_id, f.run_id) f.page_id, f.domain,
        coalesce(f.priority, page_priority((f.follow ->> 'depth')::integer,
            CASE WHEN NOT f.is_new AND f.kind = ANY (kinds('document')) THEN (SELECT r.score FROM page_ranks r WHERE r.page_id = f.page_id) END,
            CASE WHEN f.kind = ANY (kinds('document')) AND (f.follow ->> 'depth')::integer > 0 THEN k.penalty END)
            - CASE WHEN k.another THEN 1000 ELSE 0 END),
        now() - f.after * interval '1 microsecond', f.run_id,
        CASE WHEN NOT f.is_new THEN skipped_attempt_to_reconsider(f.page_id, f.run_id, f.kind = ANY (kinds('image'))) END, f.url, f.kind, (f.follow ->> 'depth')::smallint,
        coalesce((f.follow ->> 'redirects')::smallint, 0)
    FROM unnest(v) f LEFT JOIN LATERAL (
        -- Other pages of its pattern were duplicates. A page on a new port of a known host is last.
        SELECT pattern_penalty(u.seen, u.duplicates + u.copies) AS penalty,
            CASE WHEN (f.follow ->> 'depth')::integer > 0 AND f.url ~ '^https?://[^/]+:[0-9]+/' THEN (
                SELECT NOT bool_or(r.origin = x.origin) FROM robots r WHERE r.domain = x.domain
            ) END AS another
        FROM pages x LEFT JOIN LATERAL (
            SELECT y.seen, y.duplicates, y.copies FROM url_patterns y
            WHERE y.domain = x.domain AND y.pattern = x.patterns [cardinality(x.patterns)] LIMIT 1
        ) u ON true
        WHERE x.id = f.page_id
    ) k ON true
    ORDER BY f.page_id, f.run_id, f.after DESC
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF added = 0 OR v_domains IS NULL THEN
        RETURN;
    END IF;
    UPDATE domains d SET status = 'pending', status_reason = ''
    WHERE d.domain = ANY (v_domains) AND d.status = 'exhausted';
    -- many pages may link to one domain: skip domains that have due work or are served
    SELECT array_agg(DISTINCT k.domain) INTO v_domains
    FROM (
        SELECT f.run_id, f.domain, bool_or(f.kind = ANY (kinds('image'))) AS image FROM unnest(v) f WHERE f.domain <> f.claimed_domain GROUP BY f.run_id, f.domain
    ) k CROSS JOIN LATERAL (
        SELECT x.next_due_at, x.images_due_at FROM run_domains x WHERE x.run_id = k.run_id AND x.domain = k.domain LIMIT 1
    ) r CROSS JOIN LATERAL (
        SELECT x.claimed_by FROM domains x WHERE x.domain = k.domain LIMIT 1
    ) d
    WHERE d.claimed_by IS NULL AND (r.next_due_at IS NULL OR r.next_due_at > now() OR k.image AND r.images_due_at IS NULL AND (
        SELECT (x.settings ->> 'max_pages')::bigint >= 0 FROM crawl_runs x WHERE x.id = k.run_id
    ));
    IF v_domains IS NOT NULL THEN
        newly_due_runs := nullif(due_update(v_domains), '{}');
    END IF;
END
$$;

-- Returns the skipped crawl of a page that its run wants after all, or null. Either a page shows
-- an image that was linked to as a page, or http was requested for a seed without a scheme.
CREATE OR REPLACE FUNCTION skipped_attempt_to_reconsider(p_page_id bigint, p_run_id bigint, p_image boolean) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (
        SELECT c.id FROM (
            SELECT x.id, x.skipped FROM page_crawls x
            WHERE x.page_id = p_page_id AND x.run_id = p_run_id AND NOT x.prerequisite ORDER BY x.id DESC LIMIT 1
        ) c
        WHERE c.skipped = ANY (reasons('link found')) OR p_image AND c.skipped = ANY (reasons('image found'))
    )
$$;

-- Decides closed crawls of domains again, unless others follow. Returns domains of new crawls.
CREATE OR REPLACE FUNCTION attempts_requeue(p_domains text[], p_crawls bigint[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_domains text[];
BEGIN
    -- as in attempts_add
    PERFORM 1 FROM domains d WHERE d.domain = ANY (p_domains) ORDER BY d.domain FOR KEY SHARE;
    WITH n AS (
        INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects, is_revisit, schemeless)
        SELECT c.page_id, c.domain, c.priority, c.run_id, c.id, c.url, c.kind, c.depth, c.redirects, c.is_revisit, c.schemeless
        FROM page_crawls c WHERE c.id = ANY (p_crawls)
            -- the next attempt may be moved while a later one stays
            AND NOT EXISTS (SELECT 1 FROM page_crawls y WHERE y.page_id = c.page_id AND y.run_id = c.run_id AND y.previous_id >= c.id)
        ON CONFLICT DO NOTHING RETURNING page_crawls.domain
    )
    SELECT coalesce(array_agg(DISTINCT n.domain), '{}') INTO v_domains FROM n;
    UPDATE domains SET status = 'pending', status_reason = '' WHERE domain = ANY (v_domains) AND status = 'exhausted';
    RETURN v_domains;
END
$$;

-- Makes deferred crawls of origins due.
CREATE OR REPLACE FUNCTION attempts_make_due(p_domains text[], p_origins text[]) RETURNS void LANGUAGE sql AS $$
    UPDATE page_crawls c SET scheduled_for = now() FROM pages p
    WHERE p.id = c.page_id AND c.domain = ANY (p_domains) AND p.origin = ANY (p_origins)
        AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for > now()
$$;

-- Attempts, with the total of the run that counts each (totals_add), and whether only history needs
-- it, because a later attempt at its page in its run ended alike. The first makes the page part of
-- the run, and the last of each outcome describes its state.
CREATE OR REPLACE VIEW counted_attempts AS SELECT
    c.id, c.run_id, c.domain, c.outcome,
    CASE WHEN NOT c.prerequisite AND c.kind = ANY (kinds('counted')) AND c.skipped IS DISTINCT FROM 'undone' THEN c.outcome END AS total,
    CASE WHEN NOT c.prerequisite AND c.kind = ANY (kinds('counted') || kinds('image')) THEN c.bytes END AS total_bytes,
    (c.previous_id IS NOT NULL OR c.prerequisite) AND EXISTS (
        SELECT 1 FROM (
            SELECT n.outcome, n.skipped FROM page_crawls AS n
            WHERE n.page_id = c.page_id AND n.run_id = c.run_id
                -- along page_crawls_page, where the later attempts at a page are adjacent
                AND coalesce(n.previous_id, CASE WHEN n.prerequisite THEN -n.id ELSE 0 END) BETWEEN
                CASE WHEN c.prerequisite THEN -9223372036854775807 ELSE c.id END AND CASE WHEN c.prerequisite THEN -c.id - 1 ELSE 9223372036854775807 END
            OFFSET 0 -- never all attempts by time, whatever the statistics say of the outcomes
        ) AS y WHERE y.outcome = c.outcome AND y.skipped IS NOT DISTINCT FROM c.skipped
    ) AS movable
FROM page_crawls AS c;
