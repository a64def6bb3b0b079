-- Returns the score of a page for a search, from 0 to 1: half by its domain, half by itself.
-- Postgres inlines it into the plan of its caller because it returns a set.
CREATE OR REPLACE FUNCTION page_scores(p_page_id bigint, p_domain text) RETURNS SETOF real LANGUAGE sql STABLE AS $$
    SELECT (coalesce((SELECT d.score FROM domain_ranks d WHERE d.domain = p_domain), 0)
        + coalesce((SELECT r.score FROM page_ranks r WHERE r.page_id = p_page_id), 0)) / 2
$$;

-- Returns the priority of a page at a depth. Each factor of ten of its score saves a link.
CREATE OR REPLACE FUNCTION page_priority(p_depth integer, p_score real, p_penalty integer) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT (least(0, floor(5 * coalesce(p_score, 0)) - p_depth) - coalesce(p_penalty, 0))::smallint
$$;
