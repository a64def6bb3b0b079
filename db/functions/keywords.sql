-- The terms with positions after one and up to another: first come a page's own terms, then
-- those that others have given it. Positions begin at 1 again.
CREATE OR REPLACE FUNCTION keywords_part(p tsvector, p_after integer, p_upto integer) RETURNS tsvector
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(string_agg(
        '''' || replace(replace(t.lexeme, '\', '\\'), '''', '''''') || ''':' || t.places, ' '
    ), '')::tsvector
    FROM (
        SELECT u.lexeme, string_agg((k.place - p_after) || k.weight, ',') AS places
        FROM unnest(p) u CROSS JOIN LATERAL unnest(u.positions, u.weights) AS k (place, weight)
        WHERE k.place > p_after AND k.place <= p_upto
        GROUP BY u.lexeme
    ) t
$$;

-- The last position of terms; 0 where there are none.
CREATE OR REPLACE FUNCTION keywords_end(p tsvector) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(max(k.place), 0) FROM unnest(p) u CROSS JOIN LATERAL unnest(u.positions) AS k (place)
$$;

-- Terms with those that others have given another version of them.
CREATE OR REPLACE FUNCTION keywords_keep(p_own tsvector, p_before tsvector, p_own_before smallint) RETURNS tsvector
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_own_before IS NULL THEN p_own ELSE p_own || keywords_part(p_before, p_own_before, 16383) END
$$;

-- Notes what pages are to be found by: crawl.Index, of the document p of the attempts. They
-- wait to be made keywords of. A page that was read and has no terms is not found any
-- more, nor is one that must not be.
CREATE OR REPLACE FUNCTION keywords_record(p jsonb, v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_gone bigint[];
BEGIN
    IF jsonb_path_exists(p, '$[*].index') THEN
        INSERT INTO keywords_waiting AS k (page_id, domain, language, config, title, headings, description, body)
        SELECT a.page_id, a.domain, a.doc #>> '{page,language}', x.config, x.a, x.b, x.c, x.d
        FROM unnest(v) a CROSS JOIN LATERAL jsonb_to_record(p -> (a.n - 1) -> 'index')
            AS x (config text, a text, b text, c text, d text)
        WHERE p -> (a.n - 1) ? 'index'
        ORDER BY a.page_id
        ON CONFLICT (page_id) DO UPDATE SET
            language = excluded.language, config = excluded.config, title = excluded.title, headings = excluded.headings,
            description = excluded.description, body = excluded.body;
    END IF;
    v_gone := ARRAY(
        SELECT a.page_id FROM unnest(v) a
        WHERE a.fetched_at IS NOT NULL
            AND (a.doc #> '{page,unlisted}' IS NOT NULL OR a.doc #> '{page,signals}' IS NOT NULL AND NOT p -> (a.n - 1) ? 'index')
    );
    IF cardinality(v_gone) > 0 THEN
        PERFORM keywords_forget(v_gone);
    END IF;
END
$$;

-- Deletes what pages are found by, what waits first: a worker that has just taken it has
-- stored it once this goes on.
CREATE OR REPLACE FUNCTION keywords_forget(p_pages bigint []) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM keywords_waiting k WHERE k.page_id = ANY (p_pages);
    DELETE FROM page_keywords k WHERE k.page_id = ANY (p_pages);
END
$$;

-- Stores keywords, but for those of pages whose keywords have not changed.
CREATE OR REPLACE FUNCTION keywords_store(
    p_pages bigint [], p_domains text [], p_languages text [], p_configs text [], p_terms tsvector []
) RETURNS void LANGUAGE plpgsql SET work_mem = '64MB' AS $$
BEGIN
    INSERT INTO page_keywords AS k (page_id, domain, language, config, rank, keywords_tsv)
    SELECT x.page_id, x.domain, nullif(x.language, ''), x.config, w.worth, x.terms
    FROM unnest(p_pages, p_domains, p_languages, p_configs, p_terms) AS x (page_id, domain, language, config, terms)
    CROSS JOIN LATERAL page_worths(x.page_id, x.domain) AS w (worth)
    ORDER BY x.page_id
    ON CONFLICT (page_id) DO UPDATE SET
        language = excluded.language, config = excluded.config,
        keywords_tsv = keywords_keep(excluded.keywords_tsv, k.keywords_tsv, k.own_positions),
        own_positions = CASE WHEN k.own_positions IS NOT NULL THEN keywords_end(excluded.keywords_tsv) END
    WHERE k.keywords_tsv <> keywords_keep(excluded.keywords_tsv, k.keywords_tsv, k.own_positions)
        OR k.language IS DISTINCT FROM excluded.language;
END
$$;

-- Folds what others call pages into what they are found by, in place of what was there of
-- it: an array of page_id and terms, of the weight B. Pages that nobody calls anything
-- have empty terms. Returns how many have changed.
CREATE OR REPLACE FUNCTION anchors_fold(p jsonb) RETURNS integer LANGUAGE plpgsql SET work_mem = '64MB' AS $$
DECLARE
    v_changed integer;
BEGIN
    UPDATE page_keywords k SET keywords_tsv = n.terms, own_positions = CASE WHEN n.anchors <> '' THEN n.own_end END
    FROM (
        SELECT o.page_id, o.own || o.anchors AS terms, o.anchors, keywords_end(o.own)::smallint AS own_end
        FROM (
            SELECT y.page_id, x.terms = '' AND y.own_positions IS NULL AS nothing,
                CASE WHEN y.own_positions IS NULL THEN y.keywords_tsv ELSE keywords_part(y.keywords_tsv, 0, y.own_positions) END AS own,
                setweight(to_tsvector(y.config::regconfig, x.terms), 'B') AS anchors
            FROM jsonb_to_recordset(p) AS x (page_id bigint, terms text)
            INNER JOIN page_keywords y ON y.page_id = x.page_id
            ORDER BY y.page_id FOR NO KEY UPDATE OF y
        ) o
        WHERE NOT o.nothing
    ) n
    WHERE k.page_id = ANY (ARRAY(SELECT (e ->> 'page_id')::bigint FROM jsonb_array_elements(p) e))
        AND k.page_id = n.page_id AND k.keywords_tsv <> n.terms;
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    RETURN v_changed;
END
$$;
