-- Stores the changes that visits have seen, and when pages are due again: crawl.Recrawl. Each run
-- that crawls its pages again has its own times. A visit also defers the visits of other runs.
CREATE OR REPLACE FUNCTION recrawls_record(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_visits revisit[];
BEGIN
    UPDATE pages x SET history = a.doc #> '{recrawl,history}'
    FROM unnest(v) a
    WHERE x.id = ANY (ARRAY(SELECT y.page_id FROM unnest(v) y)) AND x.id = a.page_id AND a.doc ? 'recrawl' AND NOT a.prerequisite;
    v_visits := ARRAY(
        SELECT (a.page_id, a.run_id, a.ended_at, ms_interval((a.doc #>> '{recrawl,in_ms}')::bigint))::revisit
        FROM unnest(v) a WHERE a.doc ? 'recrawl' AND NOT a.prerequisite
    );
    IF EXISTS (SELECT 1 FROM unnest(v_visits) u WHERE u.revisit_interval IS NULL) THEN
        -- the run does not visit these pages again
        DELETE FROM revisits r USING unnest(v_visits) u
        WHERE r.page_id = ANY (ARRAY(SELECT x.page_id FROM unnest(v_visits) x)) AND r.page_id = u.page_id AND r.run_id = u.run_id
            AND u.revisit_interval IS NULL;
    END IF;
    INSERT INTO revisits AS r (page_id, run_id, due_at, revisit_interval)
    SELECT u.page_id, u.run_id, u.visited_at + u.revisit_interval, u.revisit_interval FROM unnest(v_visits) u
    WHERE u.revisit_interval IS NOT NULL
    ORDER BY u.page_id, u.run_id
    ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = excluded.due_at, revisit_interval = excluded.revisit_interval;
    UPDATE revisits r SET due_at = u.visited_at + u.revisit_interval, revisit_interval = u.revisit_interval
    FROM unnest(v_visits) u
    WHERE r.page_id = ANY (ARRAY(SELECT x.page_id FROM unnest(v_visits) x)) AND r.page_id = u.page_id AND r.run_id <> u.run_id
        AND r.due_at < u.visited_at + u.revisit_interval;
    UPDATE domains d SET recrawl = coalesce(d.recrawl, '{}') || jsonb_build_object('source', a.doc #> '{recrawl,source}')
    FROM unnest(v) a
    WHERE d.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v) y)) AND d.domain = a.domain
        AND a.doc #> '{recrawl,source}' IS NOT NULL;
END
$$;

-- Returns the priority of a repeated request: after new pages, except sitemaps and feeds.
CREATE OR REPLACE FUNCTION refresh_priority(p_kind text, p_depth integer, p_score real) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        kind_priority(p_kind), page_priority(p_depth, p_score, CASE WHEN p_kind = ANY (kinds('announces')) THEN 0 ELSE 500 END)
    )
$$;

-- Makes known pages of a run pending again, as new visits, unless they are pending. With
-- p_add_foreign it adds pages of other runs, like seeds, but does not revive stopped domains. A
-- finished run resumes. Returns the number of pages.
CREATE OR REPLACE FUNCTION recrawls_add(p_run_id bigint, p_pages bigint[], p_add_foreign boolean DEFAULT false) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_domains CONSTANT text[] := ARRAY(SELECT DISTINCT p.domain AS d FROM pages p WHERE p.id = ANY (p_pages) ORDER BY d);
    v_added integer;
    v_others integer := 0;
BEGIN
    IF p_add_foreign THEN
        SELECT a.added INTO v_others FROM attempts_add(ARRAY(
            SELECT (p_run_id, p.id, p.domain, p.url, p.kind, '', '{"depth": 0, "seed": true}', false, cardinality(p_pages) - u.n,
                refresh_priority(p.kind, 0, NULL))::found_page
            FROM unnest(p_pages) WITH ORDINALITY AS u (id, n)
            CROSS JOIN LATERAL (SELECT y.id, y.domain, y.url, y.kind FROM pages y WHERE y.id = u.id LIMIT 1) p
        )) a;
    END IF;
    -- as in attempts_add
    PERFORM 1 FROM unnest(v_domains) f CROSS JOIN LATERAL (SELECT 1 FROM domains x WHERE x.domain = f FOR KEY SHARE) d;
    -- A page with a pending attempt of another kind comes later: only a new visit clears its time.
    WITH added AS (
        INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, is_revisit)
        SELECT p.id, p.domain,
            refresh_priority(c.kind, c.depth, (SELECT r.score FROM page_ranks r WHERE r.page_id = p.id)), p_run_id, c.id, p.url,
            CASE WHEN c.kind = ANY (kinds('announces')) THEN p.kind ELSE c.kind END, c.depth, true
        FROM unnest(p_pages) AS u (id) CROSS JOIN LATERAL (
            SELECT y.id, y.domain, y.url, y.kind FROM pages y WHERE y.id = u.id LIMIT 1
        ) p CROSS JOIN LATERAL (
            SELECT y.id, y.kind, y.depth, y.outcome FROM page_crawls y
            WHERE y.page_id = u.id AND y.run_id = p_run_id AND NOT y.prerequisite ORDER BY y.id DESC LIMIT 1
        ) c
        WHERE c.outcome IS NOT NULL
        ORDER BY p.id
        ON CONFLICT DO NOTHING RETURNING page_crawls.page_id
    ), moved AS (
        UPDATE revisits r SET due_at = CASE WHEN r.page_id NOT IN (SELECT a.page_id FROM added a) THEN clock_timestamp() + r.revisit_interval END
        WHERE r.page_id = ANY (p_pages) AND r.run_id = p_run_id AND r.due_at IS NOT NULL
    )
    SELECT count(*)::integer INTO v_added FROM added;
    UPDATE domains d SET status = 'pending', status_reason = '' WHERE d.domain = ANY (v_domains) AND d.status = 'exhausted';
    PERFORM due_update(v_domains);
    v_added := v_added + v_others;
    IF v_added > 0 THEN
        PERFORM run_resume_if_done(p_run_id);
    END IF;
    RETURN v_added;
END
$$;

-- Makes a run request pages before all others of their domains, at once, even if it has fetched
-- them. Politeness, robots.txt and operators' decisions still hold. Returns the number of pages.
CREATE OR REPLACE FUNCTION recrawls_now(p_run_id bigint, p_pages bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_prioritized integer;
BEGIN
    PERFORM recrawls_add(p_run_id, p_pages);
    UPDATE page_crawls c SET priority = 100, scheduled_for = least(c.scheduled_for, now())
    FROM (
        SELECT x.id FROM unnest(p_pages) AS u (id) CROSS JOIN LATERAL (
            SELECT y.id FROM page_crawls y
            WHERE y.page_id = u.id AND y.run_id = p_run_id AND y.completed_at IS NULL AND NOT y.prerequisite
            OFFSET 0
        ) x
        ORDER BY x.id
    ) o
    WHERE c.id = o.id AND c.completed_at IS NULL AND c.locked_at IS NULL;
    GET DIAGNOSTICS v_prioritized = ROW_COUNT;
    PERFORM due_update(ARRAY(SELECT DISTINCT p.domain AS d FROM pages p WHERE p.id = ANY (p_pages) ORDER BY d));
    IF v_prioritized > 0 THEN
        PERFORM run_resume_if_done(p_run_id);
    END IF;
    RETURN v_prioritized;
END
$$;
