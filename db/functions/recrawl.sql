-- Keeps what visits have told of how often pages change, and when they are due again:
-- crawl.Recrawl. Each run that crawls its pages again has a time of its own for each page. A
-- visit moves those of other runs with it: what one has just seen no other needs to ask for.
CREATE OR REPLACE FUNCTION recrawls_record(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pages x SET history = a.doc #> '{recrawl,history}'
    FROM unnest(v) a
    WHERE x.id = ANY (ARRAY(SELECT y.page_id FROM unnest(v) y)) AND x.id = a.page_id AND a.doc ? 'recrawl' AND NOT a.prerequisite;
    PERFORM revisits_set(ARRAY(
        SELECT (a.page_id, a.run_id, a.ended, ms_interval((a.doc #>> '{recrawl,in_ms}')::bigint))::revisit
        FROM unnest(v) a WHERE a.doc ? 'recrawl' AND NOT a.prerequisite
    ));
    UPDATE domains d SET recrawl = coalesce(d.recrawl, '{}') || jsonb_build_object('source', a.doc #> '{recrawl,source}')
    FROM unnest(v) a
    WHERE d.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v) y)) AND d.domain = a.domain
        AND a.doc #> '{recrawl,source}' IS NOT NULL;
END
$$;

-- Notes when runs ask for pages again that they have just visited; without an interval they do
-- not.
CREATE OR REPLACE FUNCTION revisits_set(v revisit[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO revisits AS r (page_id, run_id, due_at, every)
    SELECT u.page_id, u.run_id, u.visited + u.every, coalesce(u.every, interval '1 day') FROM unnest(v) u
    ORDER BY u.page_id, u.run_id
    ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = excluded.due_at, every = excluded.every;
    UPDATE revisits r SET due_at = u.visited + u.every, every = u.every
    FROM unnest(v) u
    WHERE r.page_id = ANY (ARRAY(SELECT x.page_id FROM unnest(v) x)) AND r.page_id = u.page_id AND r.run_id <> u.run_id
        AND r.due_at < u.visited + u.every;
END
$$;

-- Pages that a run has crawled, with ids after one: when they were fetched, and what visits
-- have told of them. Of some a time is noted for the run already. At most so many pages are
-- looked at, whether the run knows them or not: last is the last of them, null is that there
-- are none.
CREATE OR REPLACE FUNCTION revisits_missing(p_run_id bigint, p_after bigint, p_most integer)
RETURNS TABLE (last bigint, page_id bigint, fetched_at timestamptz, history jsonb) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY WITH looked AS (
        SELECT p.id, p.fetched_at, p.failed_at, p.history FROM pages p WHERE p.id > p_after ORDER BY p.id LIMIT p_most
    )
    SELECT (SELECT max(x.id) FROM looked x), k.id, coalesce(k.fetched_at, k.failed_at), k.history
    FROM (SELECT 1) one LEFT JOIN looked k ON EXISTS (
        SELECT 1 FROM page_crawls c WHERE c.page_id = k.id AND c.run_id = p_run_id AND NOT c.prerequisite
    );
END
$$;

-- Notes when a run asks again for pages that it knows. Pages that are pending there are left
-- out, and those that have a time already. p_next is how far that has come; null means: done.
CREATE OR REPLACE FUNCTION revisits_add(p_run_id bigint, p jsonb, p_was bigint, p_next bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO revisits AS r (page_id, run_id, due_at, every)
    SELECT (u.doc ->> 'id')::bigint, p_run_id, (u.doc ->> 'due')::timestamptz, ms_interval((u.doc ->> 'every_ms')::bigint)
    FROM jsonb_array_elements(p) AS u (doc)
    WHERE NOT EXISTS (
        SELECT 1 FROM page_crawls c
        WHERE c.page_id = (u.doc ->> 'id')::bigint AND c.run_id = p_run_id AND c.completed_at IS NULL AND NOT c.prerequisite
    )
    ORDER BY 1
    ON CONFLICT (page_id, run_id) DO UPDATE SET due_at = excluded.due_at, every = excluded.every WHERE r.due_at IS NULL;
    UPDATE crawl_runs SET revisits_from = p_next WHERE id = p_run_id AND revisits_from = p_was;
END
$$;

-- Makes pages pending whose time has come, at most so many, those first that are due
-- longest. Returns how many were looked at.
CREATE OR REPLACE FUNCTION recrawls_due(p_run_id bigint, p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_pages CONSTANT bigint[] := ARRAY(
        SELECT r.page_id FROM revisits r WHERE r.run_id = p_run_id AND r.due_at <= now()
        ORDER BY r.due_at LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED
    );
BEGIN
    IF cardinality(v_pages) > 0 THEN
        PERFORM recrawls_add(p_run_id, v_pages);
    END IF;
    RETURN cardinality(v_pages);
END
$$;

-- Has a run ask for pages again that it knows, and of which nothing is pending there.
-- Returns how many that are. Who makes them pending is the visit that follows, so that
-- attempts are counted anew.
CREATE OR REPLACE FUNCTION recrawls_add(p_run_id bigint, p_pages bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_domains CONSTANT text[] := ARRAY(SELECT DISTINCT p.domain AS d FROM pages p WHERE p.id = ANY (p_pages) ORDER BY d);
    v_added integer;
BEGIN
    -- as in crawls_add: a domain that is just being finished sees what is added here
    PERFORM 1 FROM unnest(v_domains) f CROSS JOIN LATERAL (SELECT 1 FROM domains x WHERE x.domain = f FOR KEY SHARE) d;
    UPDATE revisits r SET due_at = NULL WHERE r.page_id = ANY (p_pages) AND r.run_id = p_run_id AND r.due_at IS NOT NULL;
    INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, again)
    SELECT p.id, p.domain, coalesce(kind_priority(c.kind),
            page_priority(c.depth, (SELECT r.score FROM page_ranks r WHERE r.page_id = p.id))
        ), p_run_id, c.id, p.url,
        CASE WHEN kind_announces(c.kind) THEN p.kind ELSE c.kind END, c.depth, true
    FROM unnest(p_pages) AS u (id) CROSS JOIN LATERAL (
        SELECT y.id, y.domain, y.url, y.kind FROM pages y WHERE y.id = u.id LIMIT 1
    ) p CROSS JOIN LATERAL (
        SELECT y.id, y.kind, y.depth, y.outcome FROM page_crawls y
        WHERE y.page_id = u.id AND y.run_id = p_run_id AND NOT y.prerequisite ORDER BY y.id DESC LIMIT 1
    ) c
    WHERE c.outcome IS NOT NULL
    ORDER BY p.id
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_added = ROW_COUNT;
    UPDATE domains d SET status = 'pending', status_reason = '' WHERE d.domain = ANY (v_domains) AND d.status = 'exhausted';
    PERFORM due_update(v_domains);
    RETURN v_added;
END
$$;

-- Has a run ask again for its pages that were fetched before an instant: those of one domain or,
-- where that is null, of all. It looks at p_most pages after p_after, of whichever run. Images
-- are among them if the run takes images. A run that is done goes on. Returns the last page
-- that it has looked at, or null at the end, and how many pages are pending by it.
CREATE OR REPLACE FUNCTION recrawls_older(
    p_run_id bigint, p_domain text, p_before timestamptz, p_after bigint, p_most integer, OUT last bigint, OUT added integer
) LANGUAGE plpgsql AS $$
DECLARE
    v_images CONSTANT boolean := (SELECT r.settings ->> 'images' <> 'off' FROM crawl_runs r WHERE r.id = p_run_id);
    v_looked bigint[];
    v_pages bigint[];
BEGIN
    IF p_domain IS NULL THEN
        v_looked := ARRAY(SELECT p.id FROM pages p WHERE p.id > p_after ORDER BY p.id LIMIT p_most);
    ELSE
        -- along the domain's own index, sorted: in the order of ids all pages would be read
        v_looked := ARRAY(
            SELECT p.id FROM (SELECT x.id FROM pages x WHERE x.domain = p_domain OFFSET 0) p
            WHERE p.id > p_after ORDER BY p.id LIMIT p_most
        );
    END IF;
    last := v_looked[cardinality(v_looked)];
    added := 0;
    v_pages := ARRAY(
        SELECT p.id FROM unnest(v_looked) u (id) CROSS JOIN LATERAL (
            SELECT y.id, y.fetched_at, y.kind FROM pages y WHERE y.id = u.id LIMIT 1
        ) p
        WHERE p.fetched_at < p_before AND (kind_document(p.kind) OR v_images AND kind_image(p.kind))
            AND EXISTS (SELECT 1 FROM page_crawls c WHERE c.page_id = p.id AND c.run_id = p_run_id)
        ORDER BY p.id
    );
    IF cardinality(v_pages) > 0 THEN
        added := recrawls_add(p_run_id, v_pages);
        IF added > 0 THEN
            PERFORM run_go_on(p_run_id);
        END IF;
    END IF;
END
$$;
