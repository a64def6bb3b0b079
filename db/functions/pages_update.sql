-- Writes what attempts have found out about their pages: crawl.PageUpdate, and whether
-- they brought nothing new. visit is set if a page was read or is unchanged; signals
-- only if it was read. said comes with an unchanged page, of which the header was read.
CREATE OR REPLACE FUNCTION pages_update(v closed_attempt[], p_charged charged_attempt[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pages x SET
        kind = CASE WHEN u.page ? 'is_page' THEN 'page' ELSE x.kind END,
        status = CASE WHEN u.visited THEN 'fetched' WHEN u.page ? 'failed' THEN 'failed' ELSE x.status END,
        fetched_at = CASE WHEN u.visited THEN a.ended ELSE x.fetched_at END,
        failed_at = CASE WHEN u.page ? 'failed' THEN a.ended ELSE x.failed_at END,
        etag = CASE WHEN u.visited THEN u.visit ->> 'etag' ELSE x.etag END,
        last_modified = CASE WHEN u.visited THEN (u.visit ->> 'last_modified')::timestamptz ELSE x.last_modified END,
        fresh_until = CASE WHEN u.visited THEN a.ended + ms_interval((u.visit ->> 'fresh_ms')::bigint) ELSE x.fresh_until END,
        content_hash = CASE WHEN u.was_read THEN decode(u.visit ->> 'content', 'hex') ELSE x.content_hash END,
        simhash = CASE WHEN u.was_read THEN (u.page ->> 'simhash')::bigint ELSE x.simhash END,
        language = CASE WHEN u.was_read THEN u.page ->> 'language' ELSE x.language END,
        extractor = CASE
            WHEN u.was_read THEN (u.page ->> 'extractor')::smallint
            WHEN u.page ? 'outdated' THEN NULL
            ELSE x.extractor
        END,
        images = CASE WHEN u.was_read THEN u.page ? 'images' ELSE x.images END,
        signals = CASE WHEN u.was_read THEN nullif(u.page -> 'signals', '{}') ELSE x.signals END,
        usage = CASE WHEN u.said THEN u.page -> 'usage' ELSE x.usage END,
        noindex = CASE WHEN u.said THEN coalesce((u.page ->> 'noindex')::boolean, false) ELSE x.noindex END,
        nofollow = CASE WHEN u.said THEN coalesce((u.page ->> 'nofollow')::boolean, false) ELSE x.nofollow END,
        -- what a pattern stopped is decided again by each visit
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
            y.page ? 'signals' OR y.visit IS NOT NULL AND y.page ? 'said' AS said, y.page ->> 'trap' AS trap
        FROM (SELECT a.doc -> 'page' AS page, a.doc #> '{page,visit}' AS visit) y
    ) u
    WHERE x.id = ANY (ARRAY(SELECT y.page_id FROM unnest(v) y)) AND x.id = a.page_id AND (u.page IS NOT NULL OR g.duplicate <> a.duplicate);
END
$$;
