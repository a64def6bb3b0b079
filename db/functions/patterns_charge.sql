-- Charges a page to its patterns: crawl.Charge. One that was news at an earlier visit
-- is not charged again. Beside what the caller says it brings nothing new if another
-- page of the domain has the same content, but for one that names this page as its
-- canonical URL.
CREATE OR REPLACE FUNCTION patterns_charge(c page_crawls, p jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k CONSTANT jsonb := p -> 'charge';
    v_patterns CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(p #> '{charge,patterns}'));
    v_hash CONSTANT bytea := decode(p #>> '{page,visit,content}', 'hex');
    v_copy CONSTANT boolean := coalesce((p #>> '{charge,copy}')::boolean, false);
    v_duplicate boolean := coalesce((p #>> '{charge,duplicate}')::boolean, false);
    x record;
BEGIN
    SELECT y.fetched_at, y.duplicate INTO x FROM pages y WHERE y.id = c.page_id;
    IF x.fetched_at IS NOT NULL AND NOT x.duplicate THEN
        RETURN;
    END IF;
    IF k ? 'redirect' THEN
        IF NOT redirect_known(c, p) THEN
            RETURN; -- judged when its target is
        END IF;
        v_duplicate := true;
    ELSIF NOT v_duplicate THEN
        v_duplicate := EXISTS (
            SELECT 1 FROM pages y
            WHERE y.domain = c.domain AND y.content_hash = v_hash AND y.id <> c.page_id
                AND (y.signals ->> 'canonical_url') IS DISTINCT FROM c.url
        );
    END IF;
    PERFORM patterns_count(c, v_patterns, v_duplicate, v_copy);
    IF NOT v_duplicate AND k ? 'fingerprints' THEN
        UPDATE url_patterns SET fingerprints = decode(k ->> 'fingerprints', 'base64'),
            shared = coalesce(decode(k ->> 'shared', 'base64'), shared)
        WHERE domain = c.domain AND pattern = v_patterns[1];
    END IF;
    IF NOT k ? 'redirect' AND x.fetched_at IS NULL THEN
        PERFORM patterns_count(c, ARRAY(
            SELECT DISTINCT r FROM redirects_to(c.page_id, c.domain) r WHERE r <> ALL (v_patterns)
        ), v_duplicate, v_copy);
    END IF;
    IF v_duplicate <> x.duplicate THEN
        UPDATE pages SET duplicate = v_duplicate WHERE id = c.page_id;
    END IF;
END
$$;

-- Counts a page in patterns. A run later than the last one forgets half of what was
-- counted before (traps.In).
CREATE OR REPLACE FUNCTION patterns_count(c page_crawls, p_patterns text[], p_duplicate boolean, p_copy boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO url_patterns AS u (domain, pattern, seen, duplicates, copies, run_id)
    SELECT c.domain, k, 1, (p_duplicate AND NOT p_copy)::integer, (p_duplicate AND p_copy)::integer, c.run_id
    FROM unnest(p_patterns) k ORDER BY k
    ON CONFLICT (domain, pattern) DO UPDATE SET
        seen = u.seen / (1 + coalesce(u.run_id < excluded.run_id, false)::integer) + 1,
        duplicates = u.duplicates / (1 + coalesce(u.run_id < excluded.run_id, false)::integer) + excluded.duplicates,
        copies = u.copies / (1 + coalesce(u.run_id < excluded.run_id, false)::integer) + excluded.copies,
        run_id = greatest(u.run_id, excluded.run_id),
        updated_at = clock_timestamp();
END
$$;

-- Whether a redirect leads to what is known without it: a page that was fetched, or to
-- which another redirect led before.
CREATE OR REPLACE FUNCTION redirect_known(c page_crawls, p jsonb) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1 FROM pages t
        WHERE t.domain = p #>> '{links,0,domain}' AND t.url = p #>> '{links,0,url}'
            AND (t.fetched_at IS NOT NULL OR EXISTS (
                SELECT 1 FROM page_links l
                WHERE l.to_page_id = t.id AND l.kind = 'redirect' AND l.from_page_id <> c.page_id
            ))
    );
END
$$;

-- The patterns of the domain's pages that led to a page first, over any redirects in
-- between: their news is its news.
CREATE OR REPLACE FUNCTION redirects_to(p_page_id bigint, p_domain text) RETURNS SETOF text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_page bigint := p_page_id;
    v_patterns text[];
BEGIN
    FOR i IN 1..20 LOOP
        SELECT l.from_page_id, x.patterns INTO v_page, v_patterns
        FROM page_links l CROSS JOIN LATERAL (
            SELECT y.patterns, y.domain FROM pages y WHERE y.id = l.from_page_id LIMIT 1
        ) x
        WHERE l.to_page_id = v_page AND l.kind = 'redirect' AND x.domain = p_domain
        ORDER BY l.created_at, l.from_page_id LIMIT 1;
        EXIT WHEN NOT FOUND;
        RETURN QUERY SELECT unnest(v_patterns);
    END LOOP;
END
$$;

-- Forgets what was counted of a domain's patterns, and has what they stopped decided
-- again.
CREATE OR REPLACE FUNCTION patterns_reset(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- as in crawls_add: finishing the domain sees these crawls, or is seen
    PERFORM 1 FROM domains WHERE domain = p_domain FOR KEY SHARE;
    UPDATE url_patterns SET seen = 0, duplicates = 0, copies = 0, shared = NULL, fingerprints = NULL,
        updated_at = clock_timestamp()
    WHERE domain = p_domain;
    UPDATE pages SET duplicate = false, trap = nullif(trap, 'pattern'),
        trap_evidence = CASE WHEN trap <> 'pattern' THEN trap_evidence END, updated_at = clock_timestamp()
    WHERE domain = p_domain AND (duplicate OR trap = 'pattern');
    IF p_domain = ANY (skipped_return(ARRAY[p_domain], NULL, ARRAY['trap'])) THEN
        PERFORM domain_wake(p_domain);
    END IF;
END
$$;

-- Has pages of a run decided again that it has skipped for what their URLs are: its
-- settings have changed.
CREATE OR REPLACE FUNCTION run_skipped_return(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_domains CONSTANT text[] := ARRAY(
        SELECT rd.domain FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.skipped > 0 ORDER BY rd.domain
    );
BEGIN
    PERFORM 1 FROM domains d WHERE d.domain = ANY (v_domains) ORDER BY d.domain FOR KEY SHARE;
    PERFORM skipped_return(v_domains, p_run_id, ARRAY['excluded', 'extension', 'variant']);
END
$$;

-- Has pages of domains decided again that a run has skipped for one of the reasons, or,
-- where it is null, any run that is running. Returns the domains of which there are some.
CREATE OR REPLACE FUNCTION skipped_return(p_domains text[], p_run_id bigint, p_reasons text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    v_returned text[];
BEGIN
    WITH n AS (
        INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, redirects)
        SELECT c.page_id, c.domain, c.priority, c.run_id, c.id, c.url, c.kind, c.depth, c.redirects
        FROM page_crawls c
        WHERE c.domain = ANY (p_domains) AND c.outcome = 'skipped' AND c.skipped = ANY (p_reasons)
            AND (c.run_id = p_run_id OR p_run_id IS NULL
                AND (SELECT r.status FROM crawl_runs r WHERE r.id = c.run_id) = 'running')
            AND (SELECT f.id FROM page_crawls f WHERE f.domain = c.domain AND f.previous_id = c.id) IS NULL
        ON CONFLICT DO NOTHING RETURNING page_crawls.domain
    )
    SELECT coalesce(array_agg(DISTINCT n.domain), '{}') INTO v_returned FROM n;
    UPDATE domains SET status = 'pending', status_reason = '' WHERE domain = ANY (v_returned) AND status = 'exhausted';
    RETURN v_returned;
END
$$;
