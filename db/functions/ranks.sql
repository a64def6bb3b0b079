-- How much a page is worth to a search, from 0 to 1: half of it is what its domain is,
-- half what it is itself.
-- As a set it is made part of the plan of what calls it, once for all pages.
CREATE OR REPLACE FUNCTION page_worths(p_page_id bigint, p_domain text) RETURNS SETOF real LANGUAGE sql STABLE AS $$
    SELECT (coalesce((SELECT d.score FROM domain_ranks d WHERE d.domain = p_domain), 0)
        + coalesce((SELECT r.score FROM page_ranks r WHERE r.page_id = p_page_id), 0)) / 2
$$;

-- The priority of a page at a depth: each ten times that it is worth are a link less
-- between it and a seed. What nobody else links to is worth nothing.
CREATE OR REPLACE FUNCTION page_priority(p_depth integer, p_score real) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT least(0, floor(5 * coalesce(p_score, 0)) - p_depth)::smallint
$$;

-- The part of a page's terms that is its own, and the part that others have given it, of
-- which the positions begin at 1.
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
