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
    SELECT array_agg(x.id), array_agg(x.domain), array_agg(w.run_id), array_agg(domain_priority(
        x.seed_rank, (SELECT k.score FROM domain_ranks k WHERE k.domain = x.domain), x.yield_rate,
        (x.images_stored::real / greatest(x.pages_crawled, 1))::real,
        x.pages_discovered - x.pages_crawled, (extract(EPOCH FROM t - x.last_crawled_at) / 86400)::real, x.error_rate,
        (SELECT r.settings -> 'priority_weights' FROM crawl_runs r WHERE r.id = w.run_id)
    ))
    INTO v_ids, v_names, v_runs, v_scores
    FROM (
        SELECT d.* FROM unnest(p_domains) u (domain) CROSS JOIN LATERAL (SELECT x.* FROM domains x WHERE x.domain = u.domain LIMIT 1) d
        ORDER BY d.id
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

-- Claims domains that have due work for a run: those first that were active when their
-- claim ran out, then those that have had the fewest turns, by priority, skipping those
-- that another dispatcher is just claiming. Of a run whose budget of pages is spent only
-- images are due.
-- Where few are due they are looked up by when they are, else by whose turn it is: either
-- looks at few that it does not take.
CREATE OR REPLACE FUNCTION domains_claim(p_run_id bigint, p_most integer, p_claim interval) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    -- how many that are due are sorted at the most
    c_few CONSTANT integer := 20000;
    v_due CONSTANT bigint := run_due_count(p_run_id, c_few + 1);
    v_images CONSTANT boolean := run_open(p_run_id) = 'images';
    v_lost text[];
    v_taken text[];
    v_free text[];
BEGIN
    IF v_due = 0 THEN
        RETURN '{}'::text[];
    END IF;
    v_lost := ARRAY(
        -- OFFSET 0: along domains_lost, and not through all domains in the order of their names
        SELECT d.domain FROM (
            SELECT x.domain FROM domains x
            WHERE x.last_crawl_run_id = p_run_id AND x.status = 'active' AND x.claimed_by IS NULL OFFSET 0
        ) d CROSS JOIN LATERAL (
            SELECT x.next_due_at, x.images_due_at FROM run_domains x WHERE x.run_id = p_run_id AND x.domain = d.domain LIMIT 1
        ) rd
        WHERE CASE WHEN v_images THEN rd.images_due_at ELSE rd.next_due_at END <= now()
        ORDER BY d.domain LIMIT p_most
    );
    v_taken := ARRAY(
        (
            SELECT rd.domain FROM run_domains rd WHERE v_images AND rd.run_id = p_run_id AND rd.images_due_at <= now()
            ORDER BY rd.images_due_at LIMIT p_most
        ) UNION ALL (
            SELECT rd.domain FROM run_domains rd
            WHERE NOT v_images AND v_due > c_few AND rd.run_id = p_run_id AND rd.next_due_at < 'infinity' AND rd.next_due_at <= now()
            ORDER BY rd.turns, rd.priority DESC, rd.domain LIMIT p_most
        ) UNION ALL (
            SELECT rd.domain FROM run_domains rd
            WHERE NOT v_images AND v_due <= c_few AND rd.run_id = p_run_id AND rd.next_due_at <= now()
            ORDER BY rd.turns, rd.priority DESC, rd.domain LIMIT p_most
        )
    );
    v_taken := (v_lost || ARRAY(
        SELECT u.domain FROM unnest(v_taken) WITH ORDINALITY AS u (domain, n) WHERE u.domain <> ALL (v_lost) ORDER BY u.n
    )) [:p_most];
    v_free := ARRAY(
        SELECT d.domain FROM domains d WHERE d.domain = ANY (v_taken) AND d.claimed_by IS NULL AND d.status <> 'exhausted'
        ORDER BY d.domain FOR UPDATE SKIP LOCKED
    );
    v_taken := ARRAY(
        SELECT u.domain FROM unnest(v_taken) WITH ORDINALITY AS u (domain, n)
        WHERE u.domain IN (SELECT unnest(v_free)) ORDER BY u.n
    );
    UPDATE domains d SET
        status = 'active', status_reason = '', claimed_by = 'domain/' || d.domain, claim_expires_at = now() + p_claim,
        last_crawl_run_id = p_run_id, next_crawl_after = NULL, opens_at = NULL
    WHERE d.domain = ANY (v_taken);
    UPDATE run_domains rd SET
        next_due_at = NULL, images_due_at = NULL, waits = '',
        turn_started = CASE WHEN rd.run_id = p_run_id THEN rd.pages_started + rd.images_started ELSE rd.turn_started END
    WHERE rd.domain = ANY (v_taken) AND (rd.next_due_at IS NOT NULL OR rd.run_id = p_run_id);
    RETURN v_taken;
END
$$;

-- Ends claims that have run out, at most so many: the workflow has died, or was never started.
-- One that runs all the same takes its claim again with its next request. What a dead worker
-- has left in flight is closed, once its lease is over. The domains stay active, so that their
-- turn comes first. Returns how many those were.
CREATE OR REPLACE FUNCTION claims_expire(p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_domains text[] := ARRAY(
        SELECT x.domain FROM (
            SELECT d.domain, (
                SELECT s.free_at FROM politeness_slots s WHERE s.key = 'domain:' || d.domain AND s.holder IS NOT NULL
            ) AS lease
            FROM domains d WHERE d.claimed_by IS NOT NULL AND d.claim_expires_at < now() ORDER BY d.claim_expires_at LIMIT p_most
        ) x
        WHERE x.lease IS NULL OR x.lease <= clock_timestamp() ORDER BY x.domain
    );
BEGIN
    IF cardinality(v_domains) > 0 THEN
        -- slots are locked before any other row
        PERFORM domain_reap(u.domain) FROM unnest(v_domains) u (domain);
        v_domains := ARRAY(
            SELECT d.domain FROM domains d
            WHERE d.domain = ANY (v_domains) AND d.claimed_by IS NOT NULL AND d.claim_expires_at < now()
            ORDER BY d.domain FOR UPDATE SKIP LOCKED
        );
        UPDATE domains d SET claimed_by = NULL, claim_expires_at = NULL WHERE d.domain = ANY (v_domains);
        PERFORM due_update(v_domains);
    END IF;
    RETURN cardinality(v_domains);
END
$$;
