-- Returns the priority of a domain: the sum of these parts from 0 to 1, minus its errors. A higher
-- one comes sooner. Remaining and staleness count half. An unknown part is 0.
--   rank       its position in a seed file: 1 is 1, 1,000 is 0.57, 10,000,000 and unlisted are 0
--   inlinks    its score by inlinks (domain_ranks.score)
--   yield      the share of its last requests that brought something new
--   images     the recorded images of a page: 10 or more are 1
--   remaining  the known pages that were not crawled: 500 or more are 1
--   staleness  the days since the last crawl: 30 or more are 1
--   errors     the share of its last requests that failed
CREATE OR REPLACE FUNCTION domain_priority(
    p_rank integer, p_inlinks real, p_yield real, p_images real, p_remaining bigint, p_days real, p_errors real
) RETURNS real LANGUAGE sql IMMUTABLE AS $$
    SELECT (
        CASE WHEN p_rank IS NULL THEN 0 ELSE greatest(0, 1 - ln(greatest(p_rank, 1)) / ln(10000000)) END
        + coalesce(p_inlinks, 0)
        + coalesce(p_yield, 0)
        + least(greatest(coalesce(p_images, 0), 0), 10) / 10
        + 0.5::real * least(greatest(coalesce(p_remaining, 0), 0), 500) / 500
        + 0.5::real * least(greatest(coalesce(p_days, 0), 0), 30) / 30
        - coalesce(p_errors, 0)
    )::real
$$;

-- Returns the current priority of a domain, or one part of it; a null part means all parts.
CREATE OR REPLACE FUNCTION domain_current_priority(d domains, p_now timestamptz, p_part text) RETURNS real LANGUAGE sql STABLE AS $$
    SELECT domain_priority(
        CASE WHEN coalesce(p_part, 'rank') = 'rank' THEN d.seed_rank END,
        CASE WHEN coalesce(p_part, 'inlinks') = 'inlinks' THEN (SELECT k.score FROM domain_ranks k WHERE k.domain = d.domain) END,
        CASE WHEN coalesce(p_part, 'yield') = 'yield' THEN d.yield_rate END,
        CASE WHEN coalesce(p_part, 'images') = 'images' THEN (d.images_stored::real / greatest(d.pages_crawled, 1))::real END,
        CASE WHEN coalesce(p_part, 'remaining') = 'remaining' THEN d.pages_discovered - d.pages_crawled END,
        CASE WHEN coalesce(p_part, 'staleness') = 'staleness' THEN (extract(EPOCH FROM p_now - d.last_crawled_at) / 86400)::real END,
        CASE WHEN coalesce(p_part, 'errors') = 'errors' THEN d.error_rate END
    )
$$;

-- Computes the priorities of domains, and stores large changes. Returns their number.
CREATE OR REPLACE FUNCTION domains_prioritize(p_domains text[]) RETURNS integer LANGUAGE plpgsql SET enable_hashjoin = on AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_ids bigint[];
    v_names text[];
    v_scores real[];
    v_changed integer;
BEGIN
    SELECT array_agg(x.id), array_agg(x.domain), array_agg(domain_current_priority(x.d, t, NULL)) INTO v_ids, v_names, v_scores
    FROM (
        SELECT o.d, (o.d).id, (o.d).domain
        FROM unnest(p_domains) u (domain) CROSS JOIN LATERAL (SELECT x AS d FROM domains x WHERE x.domain = u.domain LIMIT 1) o
        ORDER BY (o.d).id
    ) x;
    UPDATE domains d SET priority_score = s.score, priority_computed_at = t
    FROM unnest(v_ids, v_scores) AS s (id, score)
    WHERE d.id = s.id AND (abs(d.priority_score - s.score) > 0.001 OR d.priority_computed_at IS NULL);
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    UPDATE run_domains rd SET priority = s.score
    FROM unnest(v_names, v_scores) AS s (domain, score)
    WHERE rd.domain = s.domain AND abs(rd.priority - s.score) > 0.001;
    RETURN v_changed;
END
$$;
