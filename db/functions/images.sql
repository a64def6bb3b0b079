-- Returns a UUID of version 7 (RFC 9562, section 5.7), so that rows of the same time are adjacent.
CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(set_bit(set_bit(overlay(
        uuid_send(gen_random_uuid())
        PLACING substring(int8send(floor(extract(EPOCH FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
    ), 52, 1), 53, 1), 'hex')::uuid
$$;

-- Stores the images on the pages of attempts: as pages, as images, and by the pages that name
-- them. It counts the new ones, and returns the images to add to runs by the attempts'
-- follow_images. It sorts them, so that two transactions with the same images do not deadlock.
CREATE OR REPLACE FUNCTION images_find(v closed_attempt[]) RETURNS found_page[] LANGUAGE plpgsql AS $$
DECLARE
    v_docs CONSTANT jsonb := (
        SELECT jsonb_agg(i.doc || jsonb_build_object('n', a.n, 'place', i.place, 'kind', 'image') ORDER BY a.n, i.place)
        FROM unnest(v) a CROSS JOIN LATERAL jsonb_array_elements(a.doc -> 'images') WITH ORDINALITY AS i (doc, place)
    );
    v_ids CONSTANT bigint[] := pages_add(coalesce(v_docs, '[]'));
    v_images CONSTANT found_image[] := ARRAY(
        SELECT ((i.doc ->> 'n')::integer, (i.doc ->> 'place')::bigint, v_ids[i.place], i.doc)::found_image
        FROM jsonb_array_elements(v_docs) WITH ORDINALITY AS i (doc, place)
    );
    v_named found_image[];
    v_forbidden uuid[];
    v_contents text[];
BEGIN
    IF EXISTS (SELECT 1 FROM unnest(v_images) i WHERE i.doc ? 'registered_domain') THEN
        PERFORM registered_add(array_agg(i.doc ->> 'domain'), array_agg(i.doc ->> 'registered_domain'))
        FROM unnest(v_images) i WHERE i.doc ? 'registered_domain';
    END IF;
    PERFORM images_add(ARRAY(SELECT i.page_id FROM unnest(v_images) i));
    -- targets of images' redirects belong to the same pages, without a position there
    v_named := v_images || ARRAY(
        WITH RECURSIVE targets (n, page_id, doc, hops) AS (
            SELECT f.n, f.page_id, f.doc, 0 FROM unnest(v_images) f
            UNION
            SELECT m.n, l.to_page_id, m.doc, m.hops + 1 FROM targets m CROSS JOIN LATERAL (
                SELECT x.to_page_id FROM page_links x
                WHERE x.from_page_id = m.page_id AND x.kind = 'redirect' AND x.gone_at IS NULL LIMIT 10
            ) l
            WHERE m.hops < 20
        )
        SELECT (m.n, NULL, m.page_id, m.doc)::found_image FROM targets m WHERE m.hops > 0
    );
    WITH found AS (
        SELECT DISTINCT ON (a.page_id, i.id) a.n, i.id AS image_id, a.page_id, a.url, a.domain, a.run_id, f.doc,
            f.place IS NOT NULL AS named
        FROM unnest(v_named) f INNER JOIN unnest(v) a ON a.n = f.n
        CROSS JOIN LATERAL (SELECT x.id FROM images x WHERE x.page_id = f.page_id LIMIT 1) i
        ORDER BY a.page_id, i.id, f.place
    ), added AS (
        INSERT INTO provenance AS o (
            id, image_id, page_id, source_page_url, source_domain, discovery_type, alt, caption, width, height, variants
        )
        SELECT uuid_v7(), f.image_id, f.page_id, f.url, f.domain, f.doc ->> 'discovery', f.doc ->> 'alt', f.doc ->> 'caption',
            (f.doc ->> 'width')::integer, (f.doc ->> 'height')::integer,
            CASE WHEN f.doc ? 'variants' THEN ARRAY(SELECT jsonb_array_elements_text(f.doc -> 'variants')) END
        FROM found f ORDER BY f.page_id, f.image_id
        ON CONFLICT (page_id, image_id) DO UPDATE SET
            discovery_type = excluded.discovery_type, alt = excluded.alt, caption = excluded.caption,
            width = excluded.width, height = excluded.height, variants = excluded.variants, gone_at = NULL
        WHERE (o.discovery_type, o.alt, o.caption, o.width, o.height, o.variants, o.gone_at) IS DISTINCT FROM
            (excluded.discovery_type, excluded.alt, excluded.caption, excluded.width, excluded.height, excluded.variants, NULL)
        RETURNING o.page_id, o.image_id, o.xmax = 0 AS is_new
    ), counted AS (
        SELECT f.run_id, f.domain, count(*) AS images FROM added INNER JOIN found f USING (page_id, image_id)
        WHERE added.is_new AND f.named GROUP BY f.run_id, f.domain
    )
    UPDATE run_domains r SET images_found = r.images_found + c.images, updated_at = clock_timestamp()
    FROM counted c
    WHERE r.domain = ANY (ARRAY(SELECT x.domain FROM unnest(v) x)) AND r.run_id = c.run_id AND r.domain = c.domain;
    UPDATE provenance o SET gone_at = a.ended_at,
        alt = CASE WHEN NOT a.doc ? 'images_forbidden' THEN o.alt END,
        caption = CASE WHEN NOT a.doc ? 'images_forbidden' THEN o.caption END
    FROM unnest(v) a
    WHERE o.page_id = ANY (ARRAY(SELECT x.page_id FROM unnest(v) x WHERE x.doc ? 'all_images' AND x.fetched_at IS NOT NULL))
        AND o.page_id = a.page_id AND a.doc ? 'all_images' AND o.gone_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM unnest(v_named) f INNER JOIN images i ON i.page_id = f.page_id
            WHERE f.n = a.n AND i.id = o.image_id
        );
    IF EXISTS (SELECT 1 FROM unnest(v) a WHERE a.doc ? 'images_forbidden') THEN
        -- erases images of pages whose publisher forbids them now, unless another page names them
        v_forbidden := ARRAY(
            SELECT i.id FROM unnest(v) a
            INNER JOIN provenance o ON o.page_id = a.page_id INNER JOIN images i ON i.id = o.image_id
            WHERE a.doc ? 'images_forbidden' AND o.gone_at = a.ended_at AND i.sha256_hash IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM provenance x WHERE x.image_id = i.id AND x.gone_at IS NULL)
            ORDER BY i.id
        );
        v_contents := ARRAY(SELECT i.sha256_hash FROM images i WHERE i.id = ANY (v_forbidden));
        -- locks contents before images, as images_record does, to avoid deadlocks
        PERFORM 1 FROM image_contents c WHERE c.sha256_hash = ANY (v_contents) ORDER BY c.sha256_hash FOR NO KEY UPDATE;
        UPDATE images i SET
            sha256_hash = NULL, width = NULL, height = NULL, format = NULL, file_size_bytes = NULL, phash = NULL, dhash = NULL,
            content_type = NULL, download_success = false, problem = 'forbidden'
        WHERE i.id = ANY (v_forbidden);
        PERFORM image_contents_forget(v_contents);
    END IF;
    RETURN ARRAY(
        SELECT (a.run_id, i.page_id, i.doc ->> 'domain', i.doc ->> 'url', 'image', a.domain, a.doc -> 'follow_images', false,
            jsonb_array_length(a.doc -> 'images') - i.place, kind_priority('image'))::found_page
        FROM unnest(v_images) i INNER JOIN unnest(v) a ON a.n = i.n
        WHERE a.doc ? 'follow_images' AND i.doc ->> 'discovery' <> 'icon'
    );
END
$$;

-- Adds pages to the images.
CREATE OR REPLACE FUNCTION images_add(p_pages bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO images (id, page_id, url, domain)
    SELECT uuid_v7(), x.id, x.url, x.domain
    FROM (SELECT DISTINCT u.id FROM unnest(p_pages) AS u (id)) u
    CROSS JOIN LATERAL (SELECT y.id, y.url, y.domain FROM pages y WHERE y.id = u.id LIMIT 1) x
    WHERE (SELECT i.id FROM images i WHERE i.page_id = u.id) IS NULL
    ORDER BY x.id ON CONFLICT DO NOTHING;
END
$$;

-- Erases the hashes and metadata of contents that no image has. The caller has locked them.
CREATE OR REPLACE FUNCTION image_contents_forget(p_contents text[]) RETURNS void LANGUAGE sql AS $$
    UPDATE image_contents c SET
        phash = NULL, dhash = NULL, camera = NULL, taken_at = NULL, creator = NULL, credit = NULL, copyright = NULL, license = NULL
    WHERE c.sha256_hash = ANY (p_contents) AND NOT EXISTS (SELECT 1 FROM images i WHERE i.sha256_hash = c.sha256_hash)
$$;

-- Records the results of attempts at images: crawl.ImageUpdate. The target of a redirect becomes
-- an image of the pages that name its source.
CREATE OR REPLACE FUNCTION images_record(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_forgotten CONSTANT text[] := ARRAY(
        SELECT i.sha256_hash FROM unnest(v) a INNER JOIN images i ON i.page_id = a.page_id
        WHERE a.doc #> '{image,forget}' IS NOT NULL AND i.sha256_hash IS NOT NULL
    );
    v_moved bigint[];
BEGIN
    INSERT INTO image_contents AS c (
        sha256_hash, file_size_bytes, format, width, height, frames, phash, dhash, undecoded_reason, low_detail, camera, taken_at,
        creator, credit, copyright, license, stored_at, thumbnail_at
    )
    SELECT DISTINCT ON (k.sha256) k.sha256, k.bytes, k.format, k.width, k.height, k.frames, k.phash, k.dhash, k.undecoded_reason,
        coalesce(k.low_detail, false), m.camera, m.taken_at, m.creator, m.credit, m.copyright, m.license,
        CASE WHEN a.doc #> '{image,stored}' IS NOT NULL THEN clock_timestamp() END,
        CASE WHEN a.doc #> '{image,thumbnail}' IS NOT NULL THEN clock_timestamp() END
    FROM unnest(v) a CROSS JOIN LATERAL jsonb_to_record(a.doc #> '{image,content}') AS k (
        sha256 text, bytes bigint, format text, width integer, height integer, frames integer, phash bigint, dhash bigint,
        undecoded_reason text, low_detail boolean, meta jsonb
    ) CROSS JOIN LATERAL jsonb_to_record(coalesce(k.meta, '{}')) AS m (
        camera text, taken_at timestamptz, creator text, credit text, copyright text, license text
    )
    WHERE a.doc #> '{image,content}' IS NOT NULL
    ORDER BY k.sha256
    ON CONFLICT (sha256_hash) DO UPDATE SET
        phash = excluded.phash, dhash = excluded.dhash, undecoded_reason = excluded.undecoded_reason, low_detail = excluded.low_detail,
        camera = excluded.camera, taken_at = excluded.taken_at, creator = excluded.creator, credit = excluded.credit,
        copyright = excluded.copyright, license = excluded.license,
        stored_at = coalesce(c.stored_at, excluded.stored_at), thumbnail_at = coalesce(c.thumbnail_at, excluded.thumbnail_at)
    WHERE (c.phash, c.dhash, c.undecoded_reason, c.low_detail, c.camera, c.taken_at, c.creator, c.credit, c.copyright, c.license)
            IS DISTINCT FROM (
                excluded.phash, excluded.dhash, excluded.undecoded_reason, excluded.low_detail, excluded.camera, excluded.taken_at,
                excluded.creator, excluded.credit, excluded.copyright, excluded.license
            )
        OR c.stored_at IS NULL AND excluded.stored_at IS NOT NULL
        OR c.thumbnail_at IS NULL AND excluded.thumbnail_at IS NOT NULL;
    IF cardinality(v_forgotten) > 0 THEN
        PERFORM 1 FROM image_contents c WHERE c.sha256_hash = ANY (v_forgotten) ORDER BY c.sha256_hash FOR NO KEY UPDATE;
    END IF;
    UPDATE images i SET
        sha256_hash = CASE WHEN u.unchanged THEN i.sha256_hash ELSE c.sha256_hash END,
        width = CASE WHEN u.unchanged THEN i.width ELSE c.width END, height = CASE WHEN u.unchanged THEN i.height ELSE c.height END,
        format = CASE WHEN u.unchanged THEN i.format ELSE c.format END,
        file_size_bytes = CASE WHEN u.unchanged THEN i.file_size_bytes ELSE c.file_size_bytes END,
        phash = CASE WHEN u.unchanged THEN i.phash ELSE c.phash END, dhash = CASE WHEN u.unchanged THEN i.dhash ELSE c.dhash END,
        content_type = CASE WHEN u.unchanged THEN i.content_type WHEN c.sha256_hash IS NOT NULL THEN a.doc ->> 'content_type' END,
        last_seen_at = CASE WHEN u.seen THEN a.ended_at ELSE i.last_seen_at END,
        download_success = CASE WHEN a.doc ? 'redirect' THEN i.download_success ELSE u.seen END,
        problem = CASE WHEN u.seen THEN NULL ELSE a.doc #>> '{image,problem}' END
    FROM unnest(v) a CROSS JOIN LATERAL (
        SELECT NOT a.doc -> 'image' ? 'problem' AND NOT a.doc ? 'redirect' AS seen,
            a.doc #> '{image,content}' IS NULL AND NOT a.doc -> 'image' ? 'forget' AS unchanged
    ) u LEFT JOIN LATERAL (
        SELECT x.* FROM image_contents x WHERE x.sha256_hash = a.doc #>> '{image,content,sha256}' LIMIT 1
    ) c ON true
    WHERE i.page_id = ANY (ARRAY(SELECT x.page_id FROM unnest(v) x)) AND i.page_id = a.page_id AND a.doc ? 'image';
    IF cardinality(v_forgotten) > 0 THEN
        PERFORM image_contents_forget(v_forgotten);
    END IF;
    v_moved := ARRAY(SELECT a.page_id FROM unnest(v) a WHERE a.kind = ANY (kinds('image')) AND a.doc ? 'redirect');
    IF cardinality(v_moved) > 0 THEN
        -- the redirect is a link (links_record)
        PERFORM images_add(ARRAY(
            SELECT l.to_page_id FROM page_links l
            WHERE l.from_page_id = ANY (v_moved) AND l.kind = 'redirect' AND l.gone_at IS NULL
        ));
        INSERT INTO provenance AS p (
            id, image_id, page_id, source_page_url, source_domain, discovery_type, alt, caption, width, height, variants
        )
        SELECT DISTINCT ON (o.page_id, t.id) uuid_v7(), t.id, o.page_id, o.source_page_url, o.source_domain, o.discovery_type,
            o.alt, o.caption, o.width, o.height, o.variants
        FROM page_links l INNER JOIN images t ON t.page_id = l.to_page_id INNER JOIN images f ON f.page_id = l.from_page_id
        CROSS JOIN LATERAL (
            SELECT x.* FROM provenance x WHERE x.image_id = f.id AND x.gone_at IS NULL ORDER BY x.id LIMIT 1000
        ) o
        WHERE l.from_page_id = ANY (v_moved) AND l.kind = 'redirect' AND l.gone_at IS NULL
        ORDER BY o.page_id, t.id ON CONFLICT (page_id, image_id) DO UPDATE SET gone_at = NULL WHERE p.gone_at IS NOT NULL;
    END IF;
END
$$;

-- Returns the values of a band (the bits set in p_band) within a distance of 2 bits of a hash.
CREATE OR REPLACE FUNCTION image_band_near(p_hash bigint, p_band bigint) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
    WITH flips AS (
        SELECT 0::bigint AS bits UNION ALL
        SELECT 1::bigint << i FROM generate_series(0, 63) AS i WHERE p_band & (1::bigint << i) <> 0
    )
    SELECT array_agg(DISTINCT (p_hash & p_band) # a.bits # b.bits) FROM flips a CROSS JOIN flips b
$$;

-- Returns the contents whose pHash differs from p_phash in at most p_distance bits, up to 8. Unless
-- p_dhash is null, their dHash differs in at most 16 bits, which separates pictures with the same
-- layout, such as pages of text. It uses multi-index hashing (Norouzi, Punjani and Fleet: Fast
-- Search in Hamming Space with Multi-Index Hashing, 2012): of 3 bands one differs in at most 2
-- bits. It omits pictures of low detail. Each band costs some 250 descents of its index; a bitmap
-- would read thousands of blocks.
CREATE OR REPLACE FUNCTION images_near(p_phash bigint, p_dhash bigint, p_distance integer) RETURNS TABLE (sha256_hash text, distance integer)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_band1 CONSTANT bigint[] := image_band_near(p_phash, -7905747460161236407);
    v_band2 CONSTANT bigint[] := image_band_near(p_phash, 2635249153387078802);
    v_band3 CONSTANT bigint[] := image_band_near(p_phash, 5270498306774157604);
BEGIN
    RETURN QUERY
    SELECT c.sha256_hash, bit_count((c.phash # p_phash)::bit(64))::integer AS distance
    FROM (
        SELECT x.phash FROM image_contents x
        WHERE (x.phash & -7905747460161236407) = ANY (v_band1) AND x.phash IS NOT NULL AND NOT x.low_detail
            AND bit_count((x.phash # p_phash)::bit(64)) <= p_distance
        UNION
        SELECT x.phash FROM image_contents x
        WHERE (x.phash & 2635249153387078802) = ANY (v_band2) AND x.phash IS NOT NULL AND NOT x.low_detail
            AND bit_count((x.phash # p_phash)::bit(64)) <= p_distance
        UNION
        SELECT x.phash FROM image_contents x
        WHERE (x.phash & 5270498306774157604) = ANY (v_band3) AND x.phash IS NOT NULL AND NOT x.low_detail
            AND bit_count((x.phash # p_phash)::bit(64)) <= p_distance
    ) f INNER JOIN image_contents c ON (c.phash & 5270498306774157604) = (f.phash & 5270498306774157604) AND c.phash = f.phash
    WHERE c.phash IS NOT NULL AND NOT c.low_detail AND (p_dhash IS NULL OR bit_count((c.dhash # p_dhash)::bit(64)) <= 16)
    ORDER BY 2, 1;
END
$$;
