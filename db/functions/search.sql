-- The pages that are found by some terms, as report.SearchHit, the best first, at most
-- p_most. p_terms is what websearch_to_tsquery reads; p_loose is the same without what
-- only leaves pages out, as phrases and negations do, so that the index alone tells what
-- may be found. A term of p_prefixes stands for all that begin with it. Each of p_configs
-- finds the pages that it has made the terms of. Null is any language (a prefix of its
-- tag: "pt" is "pt-BR", too), any domain, any time.
--
-- Of what the index names p_looked are looked at, and of these the p_ranked pages that are
-- worth most are read and ordered by how well they answer: that bounds how long it takes
-- to search for what is everywhere.
CREATE OR REPLACE FUNCTION pages_search(
    p_configs text [], p_terms text, p_loose text, p_prefixes text [], p_language text, p_domain text,
    p_since timestamptz, p_looked integer, p_ranked integer, p_most integer
) RETURNS SETOF jsonb LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_configs text[];
    v_queries tsquery[];
    v_any tsquery;
    v_loose tsquery;
BEGIN
    SELECT array_agg(x.config), array_agg(x.q) INTO v_configs, v_queries FROM (
        SELECT c AS config, search_query(c, p_terms, p_prefixes) AS q FROM unnest(p_configs) c
    ) x WHERE numnode(x.q) > 0;
    FOR v_loose IN
        SELECT DISTINCT search_query(c, p_loose, p_prefixes) FROM unnest(v_configs) c
    LOOP
        v_any := CASE WHEN v_any IS NULL THEN v_loose ELSE v_any || v_loose END;
    END LOOP;
    IF coalesce(numnode(v_any), 0) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH looked AS MATERIALIZED (
        SELECT k.page_id, k.config, k.rank FROM page_keywords k
        WHERE k.keywords_tsv @@ v_any AND (p_domain IS NULL OR k.domain = p_domain)
            AND (p_language IS NULL OR k.language = p_language OR k.language LIKE p_language || '-%')
            AND (p_since IS NULL OR (
                -- as it says itself, else when it was fetched last
                SELECT coalesce((p.signals ->> 'published')::timestamptz, (p.signals ->> 'modified')::timestamptz, p.fetched_at)
                FROM pages p WHERE p.id = k.page_id
            ) >= p_since)
        LIMIT p_looked
    ), best AS MATERIALIZED (
        SELECT l.page_id, l.config, l.rank FROM looked l ORDER BY l.rank DESC, l.page_id DESC LIMIT p_ranked
    ), answering AS MATERIALIZED (
        -- few of them are left out below: those that are gone since
        SELECT b.page_id, ts_rank('{0.1, 0.3, 0.5, 1.0}', k.keywords_tsv, q.q, 1) * (0.25 + b.rank) AS score
        FROM best b
        INNER JOIN unnest(v_configs, v_queries) AS q (config, q) ON q.config = b.config
        CROSS JOIN LATERAL (SELECT x.keywords_tsv FROM page_keywords x WHERE x.page_id = b.page_id LIMIT 1) k
        WHERE k.keywords_tsv @@ q.q
        ORDER BY score DESC, b.page_id LIMIT 2 * p_most
    )
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'url', f.url, 'domain', f.domain, 'language', f.language, 'title', f.signals ->> 'title',
        'description', CASE WHEN NOT coalesce(f.usage ? 'nosnippet', false) THEN f.signals ->> 'description' END,
        'canonical_url', f.signals ->> 'canonical_url', 'published', f.signals ->> 'published',
        'modified', f.signals ->> 'modified', 'fetched_at', f.fetched_at,
        'content', encode(f.content_hash, 'hex'), 'simhash', f.simhash, 'score', f.score
    ))
    FROM (
        SELECT p.*, a.score
        FROM answering a CROSS JOIN LATERAL (SELECT x.* FROM pages x WHERE x.id = a.page_id LIMIT 1) p
        WHERE NOT p.noindex
            AND coalesce((p.usage ->> 'unavailable_after')::timestamptz > now(), true)
            AND p.usage #>> '{content_signals,search,answer}' IS DISTINCT FROM 'no'
        ORDER BY a.score DESC, p.id LIMIT p_most
    ) f
    ORDER BY f.score DESC, f.id;
END
$$;

-- What is looked for in one language.
CREATE OR REPLACE FUNCTION search_query(p_config text, p_terms text, p_prefixes text []) RETURNS tsquery
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v text := websearch_to_tsquery(p_config::regconfig, p_terms)::text;
    v_prefix text;
BEGIN
    FOREACH v_prefix IN ARRAY p_prefixes LOOP
        v := replace(v, quote_literal(v_prefix), quote_literal(v_prefix) || ':*');
    END LOOP;
    RETURN v::tsquery;
END
$$;
