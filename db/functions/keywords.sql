-- Stores the terms of pages, which wait to be indexed: crawl.Index, of the document p of the attempts.
-- A page that was read and has no terms, or must not be found, leaves the index.
CREATE OR REPLACE FUNCTION keywords_record(p jsonb, v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_gone bigint[];
BEGIN
    IF jsonb_path_exists(p, '$[*].index') THEN
        INSERT INTO keywords_waiting AS k
            (page_id, domain, language, configs, second, title, headings, description, address, body, sections)
        SELECT a.page_id, a.domain, a.doc #>> '{page,language}', x.configs, x.second, x.a, x.b, x.c, x.e, x.d, x.sections
        FROM unnest(v) a CROSS JOIN LATERAL jsonb_to_record(p -> (a.n - 1) -> 'index')
            AS x (configs text[], second text, a text, b text, c text, d text, e text, sections jsonb)
        WHERE p -> (a.n - 1) ? 'index'
        ORDER BY a.page_id
        ON CONFLICT (page_id) DO UPDATE SET
            language = excluded.language, configs = excluded.configs, second = excluded.second, title = excluded.title,
            headings = excluded.headings, description = excluded.description, address = excluded.address,
            body = excluded.body, sections = excluded.sections;
    END IF;
    v_gone := ARRAY(
        SELECT a.page_id FROM unnest(v) a
        WHERE a.fetched_at IS NOT NULL
            AND (a.doc #> '{page,unlisted}' IS NOT NULL OR a.doc #> '{page,signals}' IS NOT NULL AND NOT p -> (a.n - 1) ? 'index')
    );
    IF cardinality(v_gone) > 0 THEN
        -- waiting pages first: a worker that has just taken one has stored it then
        DELETE FROM keywords_waiting k WHERE k.page_id = ANY (v_gone);
        DELETE FROM page_keywords k WHERE k.page_id = ANY (v_gone);
    END IF;
END
$$;
