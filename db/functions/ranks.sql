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

-- Stores what domains are worth, and has the dispatcher take those sooner that are worth
-- more. Returns how many have changed.
CREATE OR REPLACE FUNCTION domain_ranks_store(p_domains text [], p_inlinks integer [], p_scores real []) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_changed text[];
BEGIN
    WITH c AS (
        INSERT INTO domain_ranks AS r (domain, inlinks, score)
        SELECT x.domain, x.inlinks, x.score FROM unnest(p_domains, p_inlinks, p_scores) AS x (domain, inlinks, score)
        ORDER BY x.domain
        ON CONFLICT (domain) DO UPDATE SET inlinks = excluded.inlinks, score = excluded.score
        WHERE r.inlinks <> excluded.inlinks OR abs(r.score - excluded.score) > 0.001
        RETURNING r.domain
    )
    SELECT coalesce(array_agg(c.domain), '{}') INTO v_changed FROM c;
    IF cardinality(v_changed) > 0 THEN
        PERFORM domains_prioritize(v_changed);
    END IF;
    RETURN cardinality(v_changed);
END
$$;

-- Drops the ranks of domains to which nothing links any more.
CREATE OR REPLACE FUNCTION domain_ranks_drop(p_domains text []) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM domain_ranks r WHERE r.domain = ANY (p_domains);
    PERFORM domains_prioritize(p_domains);
END
$$;

-- Stores what the pages with ids after one and up to another are worth: all others of them
-- are worth nothing, and come in their turn again. Returns how many have changed.
CREATE OR REPLACE FUNCTION page_ranks_store(
    p_after bigint, p_upto bigint, p_pages bigint [], p_inlinks integer [], p_scores real []
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_changed integer;
    v_gone bigint[];
BEGIN
    -- EXCEPT, which is hashed whatever the planner takes the tables for
    v_gone := ARRAY(
        SELECT r.page_id FROM page_ranks r WHERE r.page_id > p_after AND r.page_id <= p_upto
        EXCEPT SELECT unnest(p_pages)
    );
    DELETE FROM page_ranks r WHERE r.page_id = ANY (v_gone);
    UPDATE page_crawls c SET priority = -c.depth
    WHERE c.page_id = ANY (v_gone) AND c.completed_at IS NULL AND c.locked_at IS NULL AND c.previous_id IS NULL
        AND NOT c.prerequisite AND kind_document(c.kind) AND c.priority > -c.depth AND c.priority <= 0;
    INSERT INTO page_ranks AS r (page_id, inlinks, score)
    SELECT x.page_id, x.inlinks, x.score FROM unnest(p_pages, p_inlinks, p_scores) AS x (page_id, inlinks, score)
    ON CONFLICT (page_id) DO UPDATE SET inlinks = excluded.inlinks, score = excluded.score
    WHERE r.inlinks <> excluded.inlinks OR abs(r.score - excluded.score) > 0.001;
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    RETURN v_changed + cardinality(v_gone);
END
$$;

-- Has the pages that are pending come in the order of what they are worth now. Those that
-- are tried again, that a feed has named, or that come later for their pattern, stay where
-- they are. Returns how many have
-- moved.
CREATE OR REPLACE FUNCTION page_ranks_raise(p_pages bigint []) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_moved integer;
BEGIN
    UPDATE page_crawls c SET priority = x.priority
    FROM (
        SELECT y.id, page_priority(y.depth, r.score) AS priority
        FROM unnest(p_pages) AS u (page_id) CROSS JOIN LATERAL (
            SELECT s.page_id, s.score FROM page_ranks s WHERE s.page_id = u.page_id LIMIT 1
        ) r CROSS JOIN LATERAL (
            SELECT z.id, z.depth, z.priority FROM page_crawls z
            WHERE z.page_id = r.page_id AND z.completed_at IS NULL AND z.locked_at IS NULL AND z.previous_id IS NULL
                AND NOT z.prerequisite AND kind_document(z.kind) AND z.priority BETWEEN -z.depth AND 0
        ) y
        WHERE y.priority <> page_priority(y.depth, r.score)
        ORDER BY y.id
    ) x
    WHERE c.id = x.id AND c.completed_at IS NULL AND c.locked_at IS NULL;
    GET DIAGNOSTICS v_moved = ROW_COUNT;
    RETURN v_moved;
END
$$;

-- Gives the pages with ids after one, at most p_most, the worth by which they are found.
-- Returns the last of them; null is that there are none.
CREATE OR REPLACE FUNCTION keywords_rank(p_after bigint, p_most integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_last bigint;
BEGIN
    SELECT max(y.page_id) INTO v_last FROM (
        SELECT k.page_id FROM page_keywords k WHERE k.page_id > p_after ORDER BY k.page_id LIMIT p_most
    ) y;
    UPDATE page_keywords k SET rank = x.worth
    FROM (
        SELECT y.page_id, w.worth
        FROM page_keywords y CROSS JOIN LATERAL page_worths(y.page_id, y.domain) AS w (worth)
        WHERE y.page_id > p_after AND y.page_id <= v_last AND abs(y.rank - w.worth) > 0.001
        ORDER BY y.page_id FOR NO KEY UPDATE OF y
    ) x
    WHERE k.page_id = x.page_id; -- with the range, too, each of x would be compared with all of it
    RETURN v_last;
END
$$;
