-- Stores found pages, sorted against deadlocks, and returns their ids in order. URLs may repeat.
CREATE OR REPLACE FUNCTION pages_add(p_pages jsonb) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pages (url, domain, origin, kind, patterns, request_target)
    SELECT DISTINCT ON (l.domain, l.url) l.url, l.domain, l.origin, coalesce(l.kind, 'page'), l.patterns, l.request_target
    FROM jsonb_to_recordset(p_pages) AS l (url text, domain text, origin text, kind text, patterns text[], request_target text)
    WHERE (SELECT p.id FROM pages p WHERE p.domain = l.domain AND p.url = l.url) IS NULL
    ORDER BY l.domain, l.url ON CONFLICT (domain, url) DO NOTHING;
    RETURN (
        SELECT coalesce(array_agg((
            SELECT p.id FROM pages p WHERE p.domain = l.page ->> 'domain' AND p.url = l.page ->> 'url'
        ) ORDER BY l.n), '{}')
        FROM jsonb_array_elements(p_pages) WITH ORDINALITY AS l (page, n)
    );
END
$$;

-- Stores the registered domains of found domains; existing rows stay.
CREATE OR REPLACE FUNCTION registered_add(p_domains text[], p_registered text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO registered_domains (domain, registered)
    SELECT DISTINCT ON (u.domain) u.domain, u.registered FROM unnest(p_domains, p_registered) AS u (domain, registered)
    WHERE (SELECT g.domain FROM registered_domains g WHERE g.domain = u.domain) IS NULL
    ORDER BY u.domain ON CONFLICT (domain) DO NOTHING;
END
$$;

-- Updates the pages of attempts: crawl.PageUpdate, and duplicates. visit is set if a page was read
-- or is unchanged, signals only if it was read, headers_read if its headers were.
CREATE OR REPLACE FUNCTION pages_update(v closed_attempt[], p_charged charged_attempt[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pages x SET
        kind = CASE WHEN u.page ? 'is_page' THEN 'page' ELSE x.kind END,
        status = CASE WHEN u.visited THEN 'fetched' WHEN u.page ? 'failed' THEN 'failed' ELSE x.status END,
        fetched_at = CASE WHEN u.visited THEN a.ended_at ELSE x.fetched_at END,
        failed_at = CASE WHEN u.page ? 'failed' THEN a.ended_at ELSE x.failed_at END,
        request_target = coalesce(u.page ->> 'request_target', x.request_target),
        etag = CASE WHEN u.visited THEN u.visit ->> 'etag' ELSE x.etag END,
        last_modified = CASE WHEN u.visited THEN (u.visit ->> 'last_modified')::timestamptz ELSE x.last_modified END,
        fresh_until = CASE WHEN u.visited THEN a.ended_at + ms_interval((u.visit ->> 'fresh_ms')::bigint) ELSE x.fresh_until END,
        content_hash = CASE WHEN u.was_read THEN decode(u.visit ->> 'content', 'hex') ELSE x.content_hash END,
        simhash = CASE WHEN u.was_read THEN (u.page ->> 'simhash')::bigint ELSE x.simhash END,
        language = CASE WHEN u.was_read THEN u.page ->> 'language' ELSE x.language END,
        extractor = CASE
            WHEN u.was_read THEN (u.page ->> 'extractor')::smallint
            WHEN u.page ? 'must_reread' THEN NULL
            ELSE x.extractor
        END,
        images_recorded = CASE WHEN u.was_read THEN u.page ? 'images_recorded' ELSE x.images_recorded END,
        signals = CASE WHEN u.was_read THEN nullif(u.page -> 'signals', '{}') ELSE x.signals END,
        usage = CASE WHEN u.has_statements THEN u.page -> 'usage' ELSE x.usage END,
        noindex = CASE WHEN u.has_statements THEN coalesce((u.page ->> 'noindex')::boolean, false) ELSE x.noindex END,
        nofollow = CASE WHEN u.has_statements THEN coalesce((u.page ->> 'nofollow')::boolean, false) ELSE x.nofollow END,
        -- each visit decides again about a page that a pattern stopped
        trap = CASE WHEN u.was_read THEN nullif(coalesce(u.trap, x.trap), 'pattern') ELSE coalesce(u.trap, x.trap) END,
        trap_evidence = CASE
            WHEN u.was_read AND coalesce(u.trap, x.trap) = 'pattern' THEN NULL
            WHEN u.trap IS NOT NULL THEN u.page ->> 'trap_evidence'
            ELSE x.trap_evidence
        END,
        duplicate = coalesce(g.duplicate, x.duplicate), updated_at = clock_timestamp()
    FROM unnest(v) a
    LEFT JOIN unnest(p_charged) g ON g.n = a.n
    CROSS JOIN LATERAL (
        SELECT y.page, y.visit, y.visit IS NOT NULL AS visited, y.page ? 'signals' AS was_read,
            y.page ? 'signals' OR y.visit IS NOT NULL AND y.page ? 'headers_read' AS has_statements, y.page ->> 'trap' AS trap
        FROM (SELECT a.doc -> 'page' AS page, a.doc #> '{page,visit}' AS visit) y
    ) u
    WHERE x.id = ANY (ARRAY(SELECT y.page_id FROM unnest(v) y)) AND x.id = a.page_id AND (u.page IS NOT NULL OR g.duplicate <> a.duplicate);
END
$$;
