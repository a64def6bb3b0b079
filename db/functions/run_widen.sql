-- Makes the pages that some pages link to part of a run, as crawl.KnownLinks lets
-- it. Returns how many are new to it.
CREATE OR REPLACE FUNCTION run_widen(p_run_id bigint, p_pages bigint[], p jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_found found_page[];
BEGIN
    SELECT array_agg(y.f) INTO v_found FROM (
        SELECT DISTINCT ON (x.id) (p_run_id, x.id, x.domain, x.url, crawl_kind(k.kind, x.kind), '', k.follow, false, 0,
            list_priority(k.kind, k.follow, row_number() OVER (PARTITION BY f.id, k.kind ORDER BY x.id)))::found_page AS f
        FROM jsonb_each(p) AS k (kind, follow)
        CROSS JOIN unnest(p_pages) AS f (id)
        CROSS JOIN LATERAL (
            SELECT y.to_page_id, y.nofollow FROM page_links y
            WHERE y.from_page_id = f.id AND y.kind = k.kind AND y.gone_at IS NULL OFFSET 0
        ) l
        CROSS JOIN LATERAL (
            SELECT y.id, y.domain, y.url, y.kind, y.trap FROM pages y WHERE y.id = l.to_page_id LIMIT 1
        ) x
        WHERE NOT l.nofollow AND coalesce(x.trap, 'pattern') = 'pattern'
        ORDER BY x.id, k.kind
    ) y;
    RETURN (SELECT a.added FROM crawls_add(v_found) a);
END
$$;
