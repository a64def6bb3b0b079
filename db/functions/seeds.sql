-- Stores seeds, an array of crawl.Seed, and adds them to a run, unless a list forbids them. An
-- operator decides to seed, so it revives domains that were stopped or abandoned, but not blocked
-- or paused domains. A finished run resumes. Returns the numbers of new crawls and of forbidden
-- seeds.
CREATE OR REPLACE FUNCTION seeds_add(p_run_id bigint, p_source text, p_seeds jsonb, OUT added integer, OUT listed integer)
LANGUAGE plpgsql SET enable_hashjoin = on AS $$
DECLARE
    v seed[] := ARRAY(
        SELECT (x.url, x.domain, x.registered_domain, x.origin, coalesce(x.kind, 'page'), x.patterns, x.rank, coalesce(x.schemeless, false), row_number() OVER (),
            x.request_target)::seed
        FROM jsonb_to_recordset(p_seeds) AS x (
            url text, domain text, registered_domain text, origin text, kind text, patterns text[], rank integer, schemeless boolean,
            request_target text
        )
    );
    v_new text[];
    v_fresh seed[];
BEGIN
    listed := cardinality(v);
    IF EXISTS (SELECT 1 FROM list_entries) THEN
        v := ARRAY(SELECT s FROM unnest(v) s WHERE domain_listed_by(s.domain) IS NULL);
    END IF;
    listed := listed - cardinality(v);
    PERFORM registered_add(array_agg(s.domain), array_agg(s.registered)) FROM unnest(v) s WHERE s.registered IS NOT NULL;
    WITH d AS (
        INSERT INTO domains (domain, source, seed_rank, schemeless, priority_score, priority_computed_at)
        SELECT s.domain, p_source, s.rank, s.schemeless, domain_priority(s.rank, k.score, NULL, NULL, NULL, NULL, NULL), now()
        FROM (
            SELECT x.domain, min(x.rank) AS rank, bool_or(x.schemeless) AS schemeless FROM unnest(v) x GROUP BY x.domain ORDER BY x.domain
        ) s LEFT JOIN LATERAL (SELECT y.score FROM domain_ranks y WHERE y.domain = s.domain LIMIT 1) k ON true
        ON CONFLICT (domain) DO NOTHING RETURNING domain
    )
    SELECT coalesce(array_agg(d.domain), '{}') INTO v_new FROM d;
    v_fresh := ARRAY(SELECT s FROM unnest(v) s INNER JOIN unnest(v_new) f (domain) ON f.domain = s.domain);
    v := ARRAY(
        SELECT s FROM unnest(v) s LEFT JOIN unnest(v_new) f (domain) ON f.domain = s.domain WHERE f.domain IS NULL ORDER BY s.n
    );
    -- other transactions do not know the new domains, and nothing was decided about them
    INSERT INTO pages (url, domain, origin, kind, patterns, request_target)
    SELECT DISTINCT ON (s.domain, s.url) s.url, s.domain, s.origin, s.kind, s.patterns, s.request_target
    FROM unnest(v_fresh) s ORDER BY s.domain, s.url, s.n
    ON CONFLICT (domain, url) DO NOTHING;
    INSERT INTO run_domains (run_id, domain, registered, seed, next_due_at, priority)
    -- the values that due_update would compute
    SELECT p_run_id, s.domain, s.registered, true, now(), domain_priority(s.rank, k.score, NULL, NULL, NULL, NULL, NULL)
    FROM (
        SELECT x.domain, min(x.registered) AS registered, min(x.rank) AS rank FROM unnest(v_fresh) x GROUP BY x.domain ORDER BY x.domain
    ) s
    LEFT JOIN LATERAL (SELECT y.score FROM domain_ranks y WHERE y.domain = s.domain LIMIT 1) k ON true
    ON CONFLICT (run_id, domain) DO UPDATE SET seed = true;
    -- due in the given order
    INSERT INTO page_crawls (page_id, domain, scheduled_for, run_id, url, kind, schemeless)
    SELECT p.id, s.domain, now() - ((SELECT max(x.n) FROM unnest(v_fresh) x) - s.n) * interval '1 microsecond', p_run_id, s.url, s.kind, nullif(s.schemeless, false)
    FROM (SELECT DISTINCT ON (x.domain, x.url) x.* FROM unnest(v_fresh) x ORDER BY x.domain, x.url, x.schemeless, x.n) s
    CROSS JOIN LATERAL (SELECT y.id FROM pages y WHERE y.domain = s.domain AND y.url = s.url LIMIT 1) p
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS added = ROW_COUNT;
    IF cardinality(v) > 0 THEN
        added := added + seeds_add_known(p_run_id, p_source, v);
    END IF;
    IF added > 0 THEN
        PERFORM run_resume_if_done(p_run_id);
    END IF;
END
$$;

-- Stores the seeds of domains that were known before.
CREATE OR REPLACE FUNCTION seeds_add_known(p_run_id bigint, p_source text, v seed[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ids CONSTANT bigint[] := pages_add((SELECT jsonb_agg(to_jsonb(s) ORDER BY s.n) FROM unnest(v) s));
    domains_seeded CONSTANT text[] := ARRAY(SELECT DISTINCT s.domain AS d FROM unnest(v) s ORDER BY d);
    added integer;
    v_requeued text[];
    v_woken text[];
BEGIN
    UPDATE domains x SET source = p_source, seed_rank = coalesce(s.rank, x.seed_rank), schemeless = x.schemeless OR s.schemeless
    FROM (
        SELECT o.id, g.rank, g.schemeless
        FROM (SELECT y.domain, min(y.rank) AS rank, bool_or(y.schemeless) AS schemeless FROM unnest(v) y GROUP BY y.domain) g
        CROSS JOIN LATERAL (
            SELECT d.id, d.source, d.seed_rank, d.schemeless FROM domains d WHERE d.domain = g.domain LIMIT 1
        ) o
        WHERE o.source IS NULL OR g.rank IS NOT NULL AND o.seed_rank IS DISTINCT FROM g.rank OR g.schemeless AND NOT o.schemeless
        ORDER BY g.domain
    ) s
    WHERE x.id = s.id;
    PERFORM domains_prioritize(domains_seeded);
    SELECT a.added INTO added FROM attempts_add(ARRAY(
        SELECT (p_run_id, x.id, x.domain, x.url, crawl_kind(link_kind(false, i.kind), x.kind), '',
            '{"depth": 0, "seed": true}', false, cardinality(ids) - i.n, NULL)::found_page
        FROM ROWS FROM (unnest(ids), unnest(ARRAY(SELECT s.kind FROM unnest(v) s))) WITH ORDINALITY AS i (id, kind, n)
        CROSS JOIN LATERAL (SELECT y.id, y.domain, y.url, y.kind FROM pages y WHERE y.id = i.id LIMIT 1) x
    )) a;
    -- an operator wants pages that the run has skipped because of their URLs
    WITH n AS (
        INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind)
        SELECT c.page_id, c.domain, c.run_id, c.id, c.url, c.kind
        FROM (SELECT DISTINCT i.id FROM unnest(ids) AS i (id)) g
        CROSS JOIN LATERAL (
            SELECT y.* FROM page_crawls y
            WHERE y.page_id = g.id AND y.run_id = p_run_id AND y.outcome = 'skipped' AND y.skipped = ANY (reasons('seed given'))
            OFFSET 0
        ) c
        -- as in attempts_requeue
        WHERE NOT EXISTS (SELECT 1 FROM page_crawls y WHERE y.page_id = c.page_id AND y.run_id = p_run_id AND y.previous_id >= c.id)
        ORDER BY c.page_id, c.id
        ON CONFLICT DO NOTHING RETURNING page_crawls.domain
    )
    SELECT array_agg(DISTINCT n.domain), (added + count(*))::integer INTO v_requeued, added FROM n;
    -- the last seeding decides about seeds that were not requested
    UPDATE page_crawls c SET schemeless = nullif(s.schemeless, false)
    FROM (
        SELECT o.id, g.schemeless
        FROM (
            SELECT i.id, bool_and(i.schemeless) AS schemeless
            FROM ROWS FROM (unnest(ids), unnest(ARRAY(SELECT s.schemeless FROM unnest(v) s))) AS i (id, schemeless) GROUP BY i.id
        ) g
        CROSS JOIN LATERAL (
            SELECT y.id FROM page_crawls y
            WHERE y.page_id = g.id AND y.run_id = p_run_id AND y.completed_at IS NULL AND y.locked_at IS NULL
                AND NOT y.prerequisite AND y.depth = 0 AND y.redirects = 0 AND coalesce(y.schemeless, false) <> g.schemeless
            OFFSET 0
        ) o
        ORDER BY o.id
    ) s
    WHERE c.id = s.id AND c.completed_at IS NULL AND c.locked_at IS NULL;
    UPDATE domains SET status = 'pending', status_reason = '' WHERE domain = ANY (v_requeued) AND status = 'exhausted';
    v_woken := ARRAY(
        SELECT x.domain FROM unnest(domains_seeded) AS g (domain)
        CROSS JOIN LATERAL (SELECT d.* FROM domains d WHERE d.domain = g.domain LIMIT 1) x
        WHERE (x.domain = ANY (v_requeued) OR is_abandoned(x.status) OR x.next_crawl_after IS NOT NULL
                OR x.opens_at IS NOT NULL OR domain_forbidden_by(x.domain) IS NOT NULL
                OR EXISTS (SELECT 1 FROM robots r WHERE r.domain = x.domain AND r.verdict = 'unreachable'))
        ORDER BY x.domain
    );
    UPDATE domain_controls SET lifted_at = now(), lifted_by = 'seed'
    WHERE domain = ANY (v_woken) AND kind = 'stop' AND lifted_at IS NULL;
    v_woken := ARRAY(SELECT f FROM unnest(v_woken) f WHERE coalesce(domain_forbidden_by(f), '') <> 'block' ORDER BY f);
    PERFORM failures_clear(v_woken);
    PERFORM domains_wake(v_woken);
    RETURN added;
END
$$;
