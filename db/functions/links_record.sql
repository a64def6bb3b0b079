-- Stores the links that an attempt has found and makes the pages behind them part
-- of the run, as far as the caller has decided that they are to be followed. A
-- page that was not read again links to what it linked to at its last visit.
-- Returns whether the dispatcher has something new to look at.
CREATE OR REPLACE FUNCTION links_record(c page_crawls, p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_redirect CONSTANT boolean := coalesce((p ->> 'redirect')::boolean, false);
    v_ids bigint[];
    v_followed bigint[];
    v_known text;
    v_news boolean := false;
BEGIN
    IF jsonb_array_length(coalesce(p -> 'links', '[]')) > 0 THEN
        v_ids := pages_add(p -> 'links');
        INSERT INTO page_links (from_page_id, to_page_id, kind, nofollow)
        SELECT c.page_id, l.id, CASE WHEN v_redirect THEN 'redirect' ELSE 'link' END,
            bool_and(coalesce((l.link ->> 'nofollow')::boolean, false))
        FROM unnest(v_ids, ARRAY(SELECT x FROM jsonb_array_elements(p -> 'links') x)) AS l (id, link)
        GROUP BY l.id ORDER BY l.id
        ON CONFLICT DO NOTHING;
        UPDATE pages x SET trap = l.link ->> 'trap', trap_evidence = l.link ->> 'trap_evidence', updated_at = clock_timestamp()
        FROM (
            SELECT DISTINCT ON (u.id) u.id, u.link
            FROM unnest(v_ids, ARRAY(SELECT x FROM jsonb_array_elements(p -> 'links') x)) AS u (id, link)
            WHERE u.link ? 'trap' ORDER BY u.id
        ) l
        WHERE x.id = l.id AND x.trap IS NULL;
        SELECT array_agg(l.id ORDER BY l.n) INTO v_followed
        FROM unnest(v_ids, ARRAY(SELECT x FROM jsonb_array_elements(p -> 'links') x)) WITH ORDINALITY AS l (id, link, n)
        WHERE NOT l.link ? 'nofollow' AND NOT l.link ? 'trap';
        v_news := links_follow(c, v_followed, p -> 'follow');
    END IF;
    FOR v_known IN SELECT jsonb_object_keys(coalesce(p -> 'follow_known', '{}')) LOOP
        SELECT array_agg(x.id) INTO v_followed
        FROM page_links l CROSS JOIN LATERAL (
            SELECT y.id, y.trap FROM pages y WHERE y.id = l.to_page_id LIMIT 1
        ) x
        WHERE l.from_page_id = c.page_id AND l.kind = v_known AND NOT l.nofollow
            -- what a pattern stopped is decided again by each run
            AND coalesce(x.trap, 'pattern') = 'pattern';
        v_news := links_follow(c, v_followed, p -> 'follow_known' -> v_known) OR v_news;
    END LOOP;
    RETURN v_news;
END
$$;

-- Makes pages that a crawl has found part of its run. p is crawl.Follow; null
-- follows none of them.
CREATE OR REPLACE FUNCTION links_follow(c page_crawls, p_ids bigint[], p jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT a.news FROM links_enqueue(c.run_id, c.domain, p_ids, p) a);
END
$$;

-- The same for a run. p_own is the domain whose claim the caller holds, if any.
-- Returns what crawls_add does.
CREATE OR REPLACE FUNCTION links_enqueue(
    p_run_id bigint, p_own text, p_ids bigint[], p jsonb, OUT added integer, OUT news boolean
) LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[];
BEGIN
    added := 0;
    news := false;
    IF p IS NULL OR jsonb_typeof(p) = 'null' OR p_ids IS NULL THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(l.id ORDER BY l.n), '{}') INTO v_ids
    FROM unnest(p_ids) WITH ORDINALITY AS l (id, n)
    CROSS JOIN LATERAL (SELECT x.domain FROM pages x WHERE x.id = l.id LIMIT 1) x
    WHERE (NOT coalesce((p ->> 'seeds_only')::boolean, false) OR coalesce((
            SELECT rd.seed FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = x.domain
        ), false))
        AND (
            SELECT y.id FROM page_crawls y
            WHERE y.domain = x.domain AND y.run_id = p_run_id AND y.page_id = l.id
                AND y.previous_id IS NULL AND NOT y.prerequisite
        ) IS NULL;
    SELECT a.added, a.news INTO added, news FROM crawls_add(
        p_run_id, v_ids, (p ->> 'depth')::integer, coalesce((p ->> 'redirects')::integer, 0),
        coalesce((p ->> 'seed')::boolean, false), p_own) a;
END
$$;
