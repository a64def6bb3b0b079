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
        -- what waits first: a worker that has just taken it has stored it once this goes on
        DELETE FROM keywords_waiting k WHERE k.page_id = ANY (v_gone);
        DELETE FROM page_keywords k WHERE k.page_id = ANY (v_gone);
    END IF;
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
