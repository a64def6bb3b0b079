-- Stores the terms of pages, which wait to be indexed: crawl.Index, of the document p of the
-- attempts. A read page without terms, or one that must not be found, leaves the index.
CREATE OR REPLACE FUNCTION keywords_record(p jsonb, v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_gone bigint[];
BEGIN
    IF jsonb_path_exists(p, '$[*].index') THEN
        INSERT INTO page_keywords AS k (
            page_id, domain, language, configs, second_language, title, headings, description, address, body, words, title_words, outline
        )
        SELECT
            a.page_id, a.domain, a.doc #>> '{page,language}', x.configs, x.second_language, x.a, x.b, x.c, x.e, x.d,
            coalesce(x.words, 0), coalesce(x.title_words, 0), x.outline
        FROM unnest(v) a CROSS JOIN LATERAL jsonb_to_record(p -> (a.n - 1) -> 'index') AS x (
            configs text[], second_language text, a text, b text, c text, d text, e text, words integer, title_words integer, outline text[]
        )
        WHERE p -> (a.n - 1) ? 'index'
        ORDER BY a.page_id
        ON CONFLICT (page_id) DO UPDATE SET
            language = excluded.language, index_pending = true, configs = excluded.configs, second_language = excluded.second_language,
            title = excluded.title, headings = excluded.headings, description = excluded.description, address = excluded.address,
            body = excluded.body, words = excluded.words, title_words = excluded.title_words, outline = excluded.outline;
    END IF;
    v_gone := ARRAY(
        SELECT a.page_id FROM unnest(v) a
        WHERE a.fetched_at IS NOT NULL
            AND (a.doc #> '{page,leaves_index}' IS NOT NULL OR a.doc #> '{page,signals}' IS NOT NULL AND NOT p -> (a.n - 1) ? 'index')
    );
    IF cardinality(v_gone) > 0 THEN
        DELETE FROM page_keywords k WHERE k.page_id = ANY (v_gone);
    END IF;
END
$$;
