-- Writes what pages are found by: crawl.Index, of the document p of the attempts. A page
-- that was read and has none is not found any more, nor is one that must not be. Nothing
-- is written where nothing has changed.
CREATE OR REPLACE FUNCTION keywords_record(p jsonb, v closed_attempt[]) RETURNS void LANGUAGE plpgsql
SET work_mem = '64MB' AS $$
DECLARE
    v_gone bigint[];
BEGIN
    IF jsonb_path_exists(p, '$[*].index') THEN
        INSERT INTO page_keywords AS k (page_id, domain, language, config, rank, keywords_tsv)
        SELECT a.page_id, a.domain, a.doc #>> '{page,language}', x.config, page_worth(a.page_id, a.domain),
            keywords(x.config, x.a, x.b, x.c, x.d)
        FROM unnest(v) a CROSS JOIN LATERAL jsonb_to_record(p -> (a.n - 1) -> 'index')
            AS x (config text, a text, b text, c text, d text)
        WHERE p -> (a.n - 1) ? 'index'
        ORDER BY a.page_id
        ON CONFLICT (page_id) DO UPDATE SET
            language = excluded.language, config = excluded.config,
            keywords_tsv = keywords_keep(excluded.keywords_tsv, k.keywords_tsv, k.own_positions),
            own_positions = CASE WHEN k.own_positions IS NOT NULL THEN keywords_end(excluded.keywords_tsv) END
        WHERE k.keywords_tsv <> keywords_keep(excluded.keywords_tsv, k.keywords_tsv, k.own_positions)
            OR k.language IS DISTINCT FROM excluded.language;
    END IF;
    v_gone := ARRAY(
        SELECT a.page_id FROM unnest(v) a
        WHERE a.fetched_at IS NOT NULL
            AND (a.doc #> '{page,unlisted}' IS NOT NULL OR a.doc #> '{page,signals}' IS NOT NULL AND NOT p -> (a.n - 1) ? 'index')
    );
    IF cardinality(v_gone) > 0 THEN
        DELETE FROM page_keywords k WHERE k.page_id = ANY (v_gone);
    END IF;
END
$$;

-- The terms of a page with their weights: A of its title, B of its headings, C of its
-- description, D of its text.
CREATE OR REPLACE FUNCTION keywords(p_config text, a text, b text, c text, d text) RETURNS tsvector
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT setweight(to_tsvector(p_config::regconfig, coalesce(a, '')), 'A')
        || setweight(to_tsvector(p_config::regconfig, coalesce(b, '')), 'B')
        || setweight(to_tsvector(p_config::regconfig, coalesce(c, '')), 'C')
        || to_tsvector(p_config::regconfig, coalesce(d, ''))
$$;
