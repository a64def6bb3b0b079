-- Makes the pages that some pages link to part of a run, as crawl.KnownLinks lets
-- it. Returns how many are new to it.
CREATE OR REPLACE FUNCTION run_widen(p_run_id bigint, p_pages bigint[], p jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_kind text;
    v_ids bigint[];
    v_added integer := 0;
BEGIN
    FOR v_kind IN SELECT jsonb_object_keys(p) LOOP
        SELECT array_agg(DISTINCT x.id) INTO v_ids
        FROM unnest(p_pages) AS f (id)
        INNER JOIN page_links l ON l.from_page_id = f.id
        CROSS JOIN LATERAL (SELECT y.id, y.trap FROM pages y WHERE y.id = l.to_page_id LIMIT 1) x
        WHERE l.kind = v_kind AND NOT l.nofollow AND coalesce(x.trap, 'pattern') = 'pattern';
        v_added := v_added + (SELECT a.added FROM links_enqueue(p_run_id, '', v_ids, p -> v_kind) a);
    END LOOP;
    RETURN v_added;
END
$$;
