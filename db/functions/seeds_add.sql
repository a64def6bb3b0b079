-- Stores seeds and makes them part of a run. Seeding is a person's decision, so it
-- also revives domains that were stopped or given up, but not those that are
-- blocked or paused. Returns how many crawls are new.
CREATE OR REPLACE FUNCTION seeds_add(p_run_id bigint, p_pages jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ids CONSTANT bigint[] := pages_add(p_pages);
    domains_seeded CONSTANT text[] := ARRAY(
        SELECT DISTINCT l.page ->> 'domain' AS d FROM jsonb_array_elements(p_pages) AS l (page) ORDER BY d
    );
    added integer;
    again text[];
    d record;
BEGIN
    SELECT a.added INTO added FROM crawls_add(ARRAY(
        SELECT (p_run_id, x.id, x.domain, x.url, crawl_kind('link', x.kind), '', '{"depth": 0, "seed": true}', false, cardinality(ids) - i.n, NULL)::found_page
        FROM unnest(ids) WITH ORDINALITY AS i (id, n)
        CROSS JOIN LATERAL (SELECT y.id, y.domain, y.url, y.kind FROM pages y WHERE y.id = i.id LIMIT 1) x
    )) a;
    -- what the run has passed over for what its URL is, a person wants now
    WITH n AS (
        INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind)
        SELECT c.page_id, c.domain, c.run_id, c.id, c.url, c.kind FROM page_crawls c
        WHERE c.page_id = ANY (ids) AND c.run_id = p_run_id AND c.outcome = 'skipped'
            AND c.skipped IN ('trap', 'excluded', 'extension', 'variant')
            AND NOT crawl_followed(c)
        ON CONFLICT DO NOTHING RETURNING page_crawls.domain
    )
    SELECT array_agg(DISTINCT n.domain), (added + count(*))::integer INTO again, added FROM n;
    UPDATE domains SET status = 'pending', status_reason = '' WHERE domain = ANY (again) AND status = 'exhausted';
    FOR d IN
        SELECT x.domain FROM domains x
        WHERE x.domain = ANY (domains_seeded)
            AND (x.domain = ANY (again) OR x.status IN ('blocked', 'unreachable') OR x.next_crawl_after IS NOT NULL
                OR domain_forbidden_until(x.domain) IS NOT NULL
                OR EXISTS (SELECT 1 FROM robots r WHERE r.domain = x.domain AND r.verdict = 'unreachable'))
        ORDER BY x.domain
    LOOP
        UPDATE domain_controls SET lifted_at = now(), lifted_by = 'seed'
        WHERE domain = d.domain AND kind = 'stop' AND lifted_at IS NULL;
        CONTINUE WHEN coalesce(domain_forbidden(d.domain), '') = 'block';
        PERFORM troubles_lift(ARRAY[d.domain]);
        PERFORM domain_wake(d.domain);
    END LOOP;
    RETURN added;
END
$$;
