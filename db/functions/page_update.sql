-- Writes what an attempt has found out about a page: crawl.PageUpdate. visit is set
-- if the page was read or is unchanged; signals only if it was read. said comes with
-- an unchanged page, of which the header was read.
CREATE OR REPLACE FUNCTION page_update(p_page_id bigint, p jsonb, p_ended timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p IS NULL THEN
        RETURN;
    END IF;
    IF p ? 'trap' THEN
        UPDATE pages SET trap = p ->> 'trap', trap_evidence = p ->> 'trap_evidence', updated_at = clock_timestamp()
        WHERE id = p_page_id;
    END IF;
    IF p ? 'failed' THEN
        UPDATE pages SET status = 'failed', failed_at = p_ended, updated_at = clock_timestamp()
        WHERE id = p_page_id;
    END IF;
    IF p ? 'signals' THEN
        UPDATE pages SET
            status = 'fetched', fetched_at = p_ended, etag = p #>> '{visit,etag}',
            last_modified = (p #>> '{visit,last_modified}')::timestamptz,
            fresh_until = p_ended + ms_interval((p #>> '{visit,fresh_ms}')::bigint),
            content_hash = decode(p #>> '{visit,content}', 'hex'), simhash = (p ->> 'simhash')::bigint,
            signals = nullif(p -> 'signals', '{}'), usage = p -> 'usage',
            noindex = coalesce((p ->> 'noindex')::boolean, false),
            nofollow = coalesce((p ->> 'nofollow')::boolean, false),
            trap = nullif(trap, 'pattern'), trap_evidence = CASE WHEN trap <> 'pattern' THEN trap_evidence END,
            updated_at = clock_timestamp()
        WHERE id = p_page_id;
    ELSIF p ? 'visit' THEN
        UPDATE pages SET
            status = 'fetched', fetched_at = p_ended, etag = p #>> '{visit,etag}',
            last_modified = (p #>> '{visit,last_modified}')::timestamptz,
            fresh_until = p_ended + ms_interval((p #>> '{visit,fresh_ms}')::bigint),
            usage = CASE WHEN p ? 'said' THEN p -> 'usage' ELSE usage END,
            noindex = CASE WHEN p ? 'said' THEN coalesce((p ->> 'noindex')::boolean, false) ELSE noindex END,
            nofollow = CASE WHEN p ? 'said' THEN coalesce((p ->> 'nofollow')::boolean, false) ELSE nofollow END,
            updated_at = clock_timestamp()
        WHERE id = p_page_id;
    END IF;
END
$$;
