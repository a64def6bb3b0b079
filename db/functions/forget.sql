-- For mosey block --forget, some hundred ids at a time. History keeps pages, links and requests.

-- Erases the texts of pages, of their links and images, and their terms in the index, as if the
-- pages were never fetched. Returns the number of rows with texts.
CREATE OR REPLACE FUNCTION pages_forget(p_pages bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_rows bigint;
BEGIN
    WITH page AS (
        UPDATE pages p SET
            status = 'discovered', language = NULL, signals = NULL, noindex = false, nofollow = false, usage = NULL, etag = NULL,
            last_modified = NULL, fresh_until = NULL, content_hash = NULL, simhash = NULL, trap = NULL, trap_evidence = NULL,
            fetched_at = NULL, failed_at = NULL, duplicate = false, extractor = NULL, history = NULL, images_recorded = NULL,
            updated_at = clock_timestamp()
        WHERE p.id = ANY (p_pages) AND (
            p.status <> 'discovered' OR p.noindex OR p.nofollow OR p.duplicate OR num_nonnulls(
                p.language, p.signals, p.usage, p.etag, p.last_modified, p.fresh_until, p.content_hash, p.simhash, p.trap,
                p.trap_evidence, p.fetched_at, p.failed_at, p.extractor, p.history, p.images_recorded
            ) > 0
        )
        RETURNING 1
    ), link AS (
        UPDATE page_links l SET anchor = NULL WHERE l.from_page_id = ANY (p_pages) AND l.anchor IS NOT NULL RETURNING 1
    ), image AS (
        UPDATE provenance o SET
            alt = NULL, caption = NULL, width = NULL, height = NULL, variants = NULL, gone_at = coalesce(o.gone_at, clock_timestamp())
        WHERE o.page_id = ANY (p_pages)
            AND (o.gone_at IS NULL OR num_nonnulls(o.alt, o.caption, o.width, o.height, o.variants) > 0)
        RETURNING 1
    ), found AS (
        DELETE FROM page_keywords k WHERE k.page_id = ANY (p_pages) RETURNING 1
    )
    SELECT count(*) INTO v_rows FROM (TABLE page UNION ALL TABLE link UNION ALL TABLE image UNION ALL TABLE found) x;
    RETURN v_rows;
END
$$;

-- Erases the results of images' fetches, by their page ids, and contents that no image has then.
-- Their bytes are already deleted. It locks contents before images, as images_record does.
CREATE OR REPLACE FUNCTION images_forget(p_pages bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_contents CONSTANT text[] := ARRAY(
        SELECT DISTINCT i.sha256_hash FROM images i WHERE i.page_id = ANY (p_pages) AND i.sha256_hash IS NOT NULL
    );
    v_rows bigint;
BEGIN
    PERFORM 1 FROM image_contents c WHERE c.sha256_hash = ANY (v_contents) ORDER BY c.sha256_hash FOR UPDATE;
    UPDATE images i SET
        sha256_hash = NULL, width = NULL, height = NULL, format = NULL, content_type = NULL, file_size_bytes = NULL,
        phash = NULL, dhash = NULL, last_seen_at = NULL, download_success = NULL, problem = NULL
    WHERE i.page_id = ANY (p_pages) AND num_nonnulls(
        i.sha256_hash, i.width, i.height, i.format, i.content_type, i.file_size_bytes, i.phash, i.dhash, i.last_seen_at,
        i.download_success, i.problem
    ) > 0;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    PERFORM image_contents_drop(v_contents);
    -- runs do not request them again
    DELETE FROM revisits v WHERE v.page_id = ANY (p_pages);
    RETURN v_rows;
END
$$;

-- Deletes the given contents that no image has.
CREATE OR REPLACE FUNCTION image_contents_drop(p_contents text[]) RETURNS bigint LANGUAGE sql AS $$
    SELECT FROM image_contents c WHERE c.sha256_hash = ANY (p_contents) ORDER BY c.sha256_hash FOR UPDATE;
    -- a separate statement sees rows that others stored before the lock
    WITH dropped AS (
        DELETE FROM image_contents c
        WHERE c.sha256_hash = ANY (p_contents) AND NOT EXISTS (SELECT 1 FROM images i WHERE i.sha256_hash = c.sha256_hash)
        RETURNING 1
    )
    SELECT count(*) FROM dropped
$$;
