-- +goose Up

-- What becomes of the pages found. As in the functions that call these, rows are
-- looked up one at a time by a unique key.

-- Makes pages that a crawl has found part of its run, if they are in its scope.
-- +goose StatementBegin
CREATE FUNCTION links_follow(
    c page_crawls, r crawl_runs, p_ids bigint[], p_urls text[], p_domains text[], p_redirect boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- A seed that has moved to another domain takes its scope along.
    moved_seed CONSTANT boolean := p_redirect AND c.depth = 0;
    target record;
BEGIN
    -- Redirects keep their depth, so chains need a bound of their own: the 20 that
    -- browsers follow (WHATWG Fetch, HTTP-redirect fetch).
    IF (p_redirect AND c.redirects >= 20) OR (NOT p_redirect AND r.max_depth >= 0 AND c.depth >= r.max_depth) THEN
        RETURN;
    END IF;
    SELECT
        coalesce(array_agg(l.id), '{}') AS ids, coalesce(array_agg(l.url), '{}') AS urls,
        coalesce(array_agg(l.domain), '{}') AS domains
    INTO target
    FROM unnest(p_ids, p_urls, p_domains) AS l (id, url, domain)
    WHERE (moved_seed OR r.scope = 'web' OR coalesce((
            SELECT rd.seed FROM run_domains rd WHERE rd.run_id = c.run_id AND rd.domain = l.domain
        ), false))
        AND (
            SELECT x.id FROM page_crawls x
            WHERE x.run_id = c.run_id AND x.page_id = l.id AND x.previous_id IS NULL
        ) IS NULL;
    PERFORM crawls_add(
        c.run_id, target.ids, target.urls, target.domains,
        least(c.depth + CASE WHEN p_redirect THEN 0 ELSE 1 END, 32767),
        CASE WHEN p_redirect THEN c.redirects + 1 ELSE 0 END, moved_seed, c.domain);
END
$$;
-- +goose StatementEnd

-- The same for a page that was not read again: what it linked to at its last
-- visit, it links to now.
-- +goose StatementBegin
CREATE FUNCTION links_follow_known(c page_crawls, r crawl_runs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    known text;
    target record;
BEGIN
    FOREACH known IN ARRAY ARRAY['link', 'redirect'] LOOP
        SELECT
            coalesce(array_agg(p.id), '{}') AS ids, coalesce(array_agg(p.url), '{}') AS urls,
            coalesce(array_agg(p.domain), '{}') AS domains
        INTO target
        FROM page_links l CROSS JOIN LATERAL (
            SELECT x.id, x.url, x.domain, x.trap FROM pages x WHERE x.id = l.to_page_id LIMIT 1
        ) p
        WHERE l.from_page_id = c.page_id AND l.kind = known AND NOT l.nofollow AND p.trap IS NULL;
        PERFORM links_follow(c, r, target.ids, target.urls, target.domains, known = 'redirect');
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Stores why pages are taken for traps.
-- +goose StatementBegin
CREATE FUNCTION traps_mark(p_ids bigint[], p_traps text[], p_evidence text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    l record;
BEGIN
    FOR l IN
        SELECT * FROM unnest(p_ids, p_traps, p_evidence) AS u (id, trap, evidence) WHERE u.trap <> '' ORDER BY u.id
    LOOP
        UPDATE pages SET trap = l.trap, trap_evidence = l.evidence, updated_at = clock_timestamp()
        WHERE id = l.id AND trap IS NULL;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- Whether a fingerprint is close to one of others: crawl.NearDuplicate.
CREATE FUNCTION simhash_near(p_simhash bigint, p_others bigint[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN EXISTS (SELECT 1 FROM unnest(p_others) AS o WHERE bit_count((o # p_simhash)::bit(64)) <= 3);

-- Charges a page that was read for the first time to its patterns: as a
-- duplicate if it is known to bring no news, or has the content of another page
-- of the domain, or nearly that of one of the pattern's last.
-- +goose StatementBegin
CREATE FUNCTION pattern_charge(
    c page_crawls, p_patterns text[], p_no_news boolean, p_content_hash bytea, p_simhash bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    copy CONSTANT boolean := p_no_news OR EXISTS (
        SELECT 1 FROM pages p WHERE p.domain = c.domain AND p.content_hash = p_content_hash AND p.id <> c.page_id
    );
BEGIN
    IF (SELECT p.fetched_at FROM pages p WHERE p.id = c.page_id) IS NOT NULL THEN
        RETURN;
    END IF;
    INSERT INTO url_patterns AS u (domain, pattern, seen, duplicates, recent)
    SELECT c.domain, k, 1, copy::integer, CASE WHEN copy OR p_simhash IS NULL THEN '{}' ELSE ARRAY[p_simhash] END
    FROM unnest(p_patterns) k ORDER BY k
    ON CONFLICT (domain, pattern) DO UPDATE SET
        seen = u.seen + 1,
        duplicates = u.duplicates + (copy OR coalesce(simhash_near(p_simhash, u.recent), false))::integer,
        recent = CASE
            WHEN copy OR p_simhash IS NULL OR simhash_near(p_simhash, u.recent) THEN u.recent
            ELSE (p_simhash || u.recent)[1:32]
        END,
        updated_at = clock_timestamp();
END
$$;
-- +goose StatementEnd

-- Records what a fetch of robots.txt found. p_failed says that it could not be
-- read: then the verdict is unreachable, or that of the last copy. An unreachable
-- one keeps the last known Crawl-delay: a host in trouble is not to be asked
-- faster. Pages that were disallowed by other rules come back to their runs.
-- +goose StatementBegin
CREATE FUNCTION robots_save(
    p_origin text, p_domain text, p_verdict robots_verdict, p_agent text, p_rules text,
    p_crawl_delay_ms bigint, p_sitemaps text[], p_reason text, p_status_code integer, p_fresh_ms bigint,
    p_etag text, p_last_modified timestamptz, p_failed boolean, p_tdm text,
    OUT failures integer
) LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    old robots;
    new robots;
BEGIN
    SELECT * INTO old FROM robots r WHERE r.origin = p_origin FOR UPDATE;
    INSERT INTO robots AS r
        (origin, domain, verdict, agent, rules, crawl_delay_ms, sitemaps, reason, status_code, etag, last_modified, tdm,
        failures, failing_since, read_at, fetched_at, expires_at)
    VALUES (p_origin, p_domain, p_verdict, p_agent, p_rules, p_crawl_delay_ms, p_sitemaps, p_reason,
        nullif(p_status_code, 0), p_etag, p_last_modified, nullif(p_tdm, '')::jsonb,
        p_failed::integer, CASE WHEN p_failed THEN t END, CASE WHEN NOT p_failed THEN t END,
        t, t + ms_interval(p_fresh_ms))
    ON CONFLICT (origin) DO UPDATE SET
        verdict = excluded.verdict, agent = excluded.agent, rules = excluded.rules,
        crawl_delay_ms = CASE
            WHEN excluded.verdict = 'unreachable' THEN r.crawl_delay_ms ELSE excluded.crawl_delay_ms
        END,
        sitemaps = excluded.sitemaps, reason = excluded.reason, status_code = excluded.status_code,
        etag = excluded.etag, last_modified = excluded.last_modified, tdm = excluded.tdm,
        failures = CASE WHEN p_failed THEN r.failures + 1 ELSE 0 END,
        failing_since = CASE WHEN p_failed THEN coalesce(r.failing_since, t) END,
        read_at = CASE WHEN p_failed THEN r.read_at ELSE t END,
        fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
    RETURNING * INTO new;
    failures := new.failures;
    INSERT INTO robots_history (origin, version, verdict, agent, rules, fetched_at, expires_at)
    VALUES (p_origin, (extract(EPOCH FROM t) * 1e6)::bigint, p_verdict, p_agent, p_rules, t, new.expires_at)
    ON CONFLICT DO NOTHING;
    IF p_failed OR old.origin IS NULL OR (old.verdict, old.rules) = (new.verdict, new.rules) THEN
        RETURN;
    END IF;
    INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, depth, redirects)
    SELECT c.page_id, c.domain, c.priority, c.run_id, c.id, c.url, c.depth, c.redirects
    FROM page_crawls c
    WHERE c.domain = p_domain AND c.outcome = 'blocked_robots'
        AND (SELECT p.origin FROM pages p WHERE p.id = c.page_id) = p_origin
        AND (SELECT r.status FROM crawl_runs r WHERE r.id = c.run_id) = 'running'
        AND (SELECT f.id FROM page_crawls f WHERE f.previous_id = c.id) IS NULL
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        UPDATE domains SET status = 'pending', status_reason = '' WHERE domain = p_domain AND status = 'exhausted';
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION robots_save, pattern_charge, simhash_near, traps_mark, links_follow_known, links_follow;
