-- Makes pages part of a run: pending crawls, once a page and run, and the domains
-- they belong to. The caller has stored the pages and decided that they are in
-- scope. p_own is the domain whose claim the caller holds, if any. Returns how
-- many crawls are new, and whether the dispatcher has something new to look at.
CREATE OR REPLACE FUNCTION crawls_add(
    p_run_id bigint, p_ids bigint[], p_depth integer, p_redirects integer, p_seed boolean, p_own text,
    OUT added integer, OUT news boolean
) LANGUAGE plpgsql AS $$
DECLARE
    others text[];
    newcomers text[];
    idle text[];
BEGIN
    added := 0;
    news := false;
    IF cardinality(p_ids) = 0 THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(DISTINCT p.domain ORDER BY p.domain), '{}') INTO others
    FROM unnest(p_ids) i CROSS JOIN LATERAL (SELECT x.domain FROM pages x WHERE x.id = i) p WHERE p.domain <> p_own;
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
        -- a run that finds a domain asks it, even if another has given it up
        PERFORM troubles_lift(ARRAY(
            SELECT f FROM unnest(newcomers) f CROSS JOIN LATERAL (SELECT x.status FROM domains x WHERE x.domain = f) d
            WHERE NOT p_seed AND (d.status IN ('blocked', 'unreachable') OR EXISTS (
                SELECT 1 FROM robots r WHERE r.domain = f AND r.verdict = 'unreachable' AND r.expires_at > now()
            ))
        ));
    END IF;
    -- Finishing a domain locks its row FOR UPDATE: with this, either it sees the
    -- crawls added here or the updates below see it finished. The caller's own
    -- domain cannot be finished while its attempt is open.
    SELECT array_agg(d.domain ORDER BY d.domain) FILTER (WHERE d.status = 'exhausted')
    INTO idle FROM unnest(others) f CROSS JOIN LATERAL (
        SELECT x.domain, x.status FROM domains x WHERE x.domain = f FOR KEY SHARE
    ) d;
    -- Stored in the order of their ids, so that two transactions do not deadlock, and due
    -- in the order in which they were found: what a page names first is asked for first.
    INSERT INTO page_crawls (page_id, domain, priority, scheduled_for, run_id, url, kind, depth, redirects)
    SELECT DISTINCT ON (p.id) p.id, p.domain, -p_depth,
        now() - (cardinality(p_ids) - i.n) * interval '1 microsecond', p_run_id, p.url, p.kind, p_depth, p_redirects
    FROM unnest(p_ids) WITH ORDINALITY AS i (id, n) CROSS JOIN LATERAL (
        SELECT x.id, x.domain, x.url, x.kind FROM pages x WHERE x.id = i.id
    ) p
    ORDER BY p.id, i.n
    ON CONFLICT (domain, run_id, page_id) WHERE previous_id IS NULL AND NOT prerequisite DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF added = 0 THEN
        RETURN;
    END IF;
    IF idle IS NOT NULL THEN
        UPDATE domains d SET status = 'pending', status_reason = ''
        WHERE d.domain = ANY (idle) AND d.status = 'exhausted';
    END IF;
    -- Only domains that have nothing due are written to: many pages may link to one.
    -- Where nothing can be due (infinity), one page more changes nothing.
    UPDATE run_domains r SET next_due_at = d.free_at
    FROM (
        SELECT x.domain, greatest(now(), x.next_crawl_after, domain_forbidden_until(x.domain)) AS free_at
        FROM domains x
        WHERE x.domain = ANY (others)
            AND (x.status NOT IN ('blocked', 'unreachable') OR x.next_crawl_after IS NOT NULL)
    ) d
    WHERE r.run_id = p_run_id AND r.domain = d.domain
        AND (r.next_due_at IS NULL OR r.next_due_at > d.free_at) AND r.next_due_at IS DISTINCT FROM 'infinity';
    news := FOUND;
END
$$;
