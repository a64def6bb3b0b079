-- Keeps what visits have told of how often pages change, and when they are due again:
-- crawl.Recrawl.
CREATE OR REPLACE FUNCTION recrawls_record(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pages x SET
        history = a.doc #> '{recrawl,history}', recrawl_run_id = a.run_id,
        next_due_at = a.ended + ms_interval((a.doc #>> '{recrawl,in_ms}')::bigint)
    FROM unnest(v) a
    WHERE x.id = ANY (ARRAY(SELECT y.page_id FROM unnest(v) y)) AND x.id = a.page_id AND a.doc ? 'recrawl' AND NOT a.prerequisite;
    UPDATE domains d SET recrawl = coalesce(d.recrawl, '{}') || jsonb_build_object('source', a.doc #> '{recrawl,source}')
    FROM unnest(v) a
    WHERE d.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v) y)) AND d.domain = a.domain
        AND a.doc #> '{recrawl,source}' IS NOT NULL;
END
$$;

-- Makes pages pending whose time has come, at most so many, those first that are due
-- longest. Returns how many were looked at.
CREATE OR REPLACE FUNCTION recrawls_due(p_run_id bigint, p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_pages bigint[];
BEGIN
    v_pages := ARRAY(
        SELECT p.id FROM pages p WHERE p.recrawl_run_id = p_run_id AND p.next_due_at <= now()
        ORDER BY p.next_due_at LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED
    );
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
    UPDATE pages p SET next_due_at = NULL WHERE p.id = ANY (p_pages) AND p.recrawl_run_id = p_run_id;
    INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, again)
    SELECT p.id, p.domain, CASE WHEN c.kind = 'image' THEN image_priority() ELSE
            page_priority(c.depth, (SELECT r.score FROM page_ranks r WHERE r.page_id = p.id))
        END, p_run_id, c.id, p.url,
        CASE WHEN c.kind IN ('page', 'image') THEN c.kind ELSE p.kind END, c.depth, true
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
    UPDATE run_domains r SET next_due_at = x.free_at
    FROM (
        SELECT d.domain, greatest(now(), d.next_crawl_after, domain_forbidden_until(d.domain)) AS free_at
        FROM domains d
        WHERE d.domain = ANY (v_domains) AND (d.status NOT IN ('blocked', 'unreachable') OR d.next_crawl_after IS NOT NULL)
    ) x
    WHERE r.run_id = p_run_id AND r.domain = x.domain
        AND (r.next_due_at IS NULL OR r.next_due_at > x.free_at) AND r.next_due_at IS DISTINCT FROM 'infinity';
    RETURN v_added;
END
$$;

-- Has a run ask again for those of its pages with ids after one that were fetched before
-- an instant, of one domain or, where that is null, of all; at most so many are looked
-- at. Its images are among them if it takes images. Returns the last of them, null if there
-- are none, and how many are pending now.
CREATE OR REPLACE FUNCTION recrawls_older(
    p_run_id bigint, p_domain text, p_before timestamptz, p_after bigint, p_most integer, OUT last bigint, OUT added integer
) LANGUAGE plpgsql AS $$
DECLARE
    v_kinds CONSTANT text[] := (
        SELECT CASE WHEN r.settings ->> 'images' <> 'off' THEN ARRAY['page', 'image'] ELSE ARRAY['page'] END
        FROM crawl_runs r WHERE r.id = p_run_id
    );
    v_pages bigint[];
BEGIN
    SELECT array_agg(x.id), max(x.id) INTO v_pages, last FROM (
        SELECT p.id FROM pages p
        WHERE p.id > p_after AND p.fetched_at < p_before AND p.kind = ANY (v_kinds) AND (p_domain IS NULL OR p.domain = p_domain)
            AND EXISTS (SELECT 1 FROM page_crawls c WHERE c.page_id = p.id AND c.run_id = p_run_id)
        ORDER BY p.id LIMIT p_most
    ) x;
    added := 0;
    IF last IS NOT NULL THEN
        added := recrawls_add(p_run_id, v_pages);
    END IF;
END
$$;
