-- How soon a domain's turn comes, the higher the sooner: a sum of what speaks for it, each
-- part from 0 to 1 times its weight, and of its errors against it.
--   rank       its place on a seed file: 1 is 1, 1,000 is 0.57, 10,000,000 and none 0
--   inlinks    what it is worth by who links to it, from 0 to 1 (domain_ranks.score)
--   yield      the share of its last requests that brought something new
--   images     how many images its pages have brought whose content was recorded, a page:
--              10 or more are 1
--   remaining  what is known of it and was not crawled: 500 pages or more are 1
--   staleness  the days since it was crawled last: 30 or more are 1
--   errors     the share of its last requests that failed
-- What is not known is 0. p_weights has weights by these names; those that are left out are
-- 1, and a half for remaining and staleness.
CREATE OR REPLACE FUNCTION domain_priority(
    p_rank integer, p_inlinks real, p_yield real, p_images real, p_remaining bigint, p_days real, p_errors real, p_weights jsonb
) RETURNS real LANGUAGE sql IMMUTABLE AS $$
    SELECT (
        coalesce((p_weights ->> 'rank')::real, 1) * CASE WHEN p_rank IS NULL THEN 0 ELSE
            greatest(0, 1 - ln(greatest(p_rank, 1)) / ln(10000000))
        END
        + coalesce((p_weights ->> 'inlinks')::real, 1) * coalesce(p_inlinks, 0)
        + coalesce((p_weights ->> 'yield')::real, 1) * coalesce(p_yield, 0)
        + coalesce((p_weights ->> 'images')::real, 1) * least(greatest(coalesce(p_images, 0), 0), 10) / 10
        + coalesce((p_weights ->> 'remaining')::real, 0.5) * least(greatest(coalesce(p_remaining, 0), 0), 500) / 500
        + coalesce((p_weights ->> 'staleness')::real, 0.5) * least(greatest(coalesce(p_days, 0), 0), 30) / 30
        - coalesce((p_weights ->> 'errors')::real, 1) * coalesce(p_errors, 0)
    )::real
$$;

-- The priority of a domain as it stands, with weights, or what one part adds to that; a part of null
-- is all.
CREATE OR REPLACE FUNCTION domain_priority_now(d domains, p_now timestamptz, p_weights jsonb, p_part text) RETURNS real LANGUAGE sql STABLE AS $$
    SELECT domain_priority(
        CASE WHEN coalesce(p_part, 'rank') = 'rank' THEN d.seed_rank END,
        CASE WHEN coalesce(p_part, 'inlinks') = 'inlinks' THEN (SELECT k.score FROM domain_ranks k WHERE k.domain = d.domain) END,
        CASE WHEN coalesce(p_part, 'yield') = 'yield' THEN d.yield_rate END,
        CASE WHEN coalesce(p_part, 'images') = 'images' THEN (d.images_stored::real / greatest(d.pages_crawled, 1))::real END,
        CASE WHEN coalesce(p_part, 'remaining') = 'remaining' THEN d.pages_discovered - d.pages_crawled END,
        CASE WHEN coalesce(p_part, 'staleness') = 'staleness' THEN (extract(EPOCH FROM p_now - d.last_crawled_at) / 86400)::real END,
        CASE WHEN coalesce(p_part, 'errors') = 'errors' THEN d.error_rate END,
        p_weights
    )
$$;

-- Works out when the turn of domains comes. Rows that stay about the same are not written. Returns
-- how many domains have changed.
CREATE OR REPLACE FUNCTION domains_prioritize(p_domains text[]) RETURNS integer LANGUAGE plpgsql SET enable_hashjoin = on AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    -- the runs with weights of their own
    v_weighted CONSTANT bigint[] := ARRAY(
        SELECT r.id FROM crawl_runs r WHERE r.settings -> 'priority_weights' <> '{}' AND r.status <> 'done'
    );
    v_ids bigint[];
    v_names text[];
    v_runs bigint[];
    v_scores real[];
    v_changed integer;
BEGIN
    SELECT array_agg(x.id), array_agg(x.domain), array_agg(w.run_id), array_agg(domain_priority_now(
        x.d, t, (SELECT r.settings -> 'priority_weights' FROM crawl_runs r WHERE r.id = w.run_id), NULL
    ))
    INTO v_ids, v_names, v_runs, v_scores
    FROM (
        SELECT o.d, (o.d).id, (o.d).domain
        FROM unnest(p_domains) u (domain) CROSS JOIN LATERAL (SELECT x AS d FROM domains x WHERE x.domain = u.domain LIMIT 1) o
        ORDER BY (o.d).id
    ) x CROSS JOIN unnest(NULL::bigint || v_weighted) AS w (run_id); -- null is for all other runs
    -- each is looked up by its key: few domains or many, and whatever the planner takes the
    -- tables for
    UPDATE domains d SET priority_score = s.score, priority_computed_at = t
    FROM unnest(v_ids, v_runs, v_scores) AS s (id, run_id, score)
    WHERE d.id = s.id AND s.run_id IS NULL AND (abs(d.priority_score - s.score) > 0.001 OR d.priority_computed_at IS NULL);
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    UPDATE run_domains rd SET priority = s.score
    FROM unnest(v_names, v_runs, v_scores) AS s (domain, run_id, score)
    WHERE rd.domain = s.domain AND abs(rd.priority - s.score) > 0.001
        AND (rd.run_id = s.run_id OR s.run_id IS NULL AND rd.run_id <> ALL (v_weighted));
    RETURN v_changed;
END
$$;
