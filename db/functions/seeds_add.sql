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
    d record;
BEGIN
    SELECT a.added INTO added FROM crawls_add(p_run_id, ids, 0, 0, true, '') a;
    FOR d IN
        SELECT x.domain FROM domains x
        WHERE x.domain = ANY (domains_seeded)
            AND (x.status IN ('blocked', 'unreachable') OR x.next_crawl_after IS NOT NULL
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
