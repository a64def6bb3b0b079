-- Counts what is known of domains over all runs. Of the
-- pages of one no more than a million are counted, and of what they say of images no more
-- than 100,000 rows.
CREATE OR REPLACE FUNCTION domains_count(p_domains text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains d SET
        pages_crawled = r.crawled, bytes = r.bytes, pages_discovered = p.found, error_rate = h.errors,
        yield_rate = h.yields, images_found = i.found, images_stored = i.stored,
        avg_response_ms = h.took, avg_page_bytes = h.bytes, last_crawled_at = h.last,
        first_crawled_at = coalesce(d.first_crawled_at, CASE WHEN h.last IS NOT NULL THEN (
            SELECT c.completed_at FROM page_crawls c
            WHERE c.domain = d.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL ORDER BY c.completed_at LIMIT 1
        ) END),
        counted_at = clock_timestamp()
    FROM unnest(p_domains) k (domain) CROSS JOIN LATERAL (
        SELECT coalesce(sum(x.success), 0)::bigint AS crawled, coalesce(sum(x.bytes), 0)::bigint AS bytes
        FROM run_domains x WHERE x.domain = k.domain
    ) r CROSS JOIN LATERAL (
        -- by indexes alone, as the domain may be locked: those that are images are many
        SELECT least(greatest((
            SELECT count(*) FROM (SELECT 1 FROM pages x WHERE x.domain = k.domain LIMIT 2000000) y
        ) - (
            SELECT count(*) FROM (SELECT 1 FROM images x WHERE x.domain = k.domain LIMIT 2000000) y
        ), 0), 1000000) AS found
    ) p CROSS JOIN LATERAL (
        SELECT count(*) AS found, count(*) FILTER (WHERE y.stored) AS stored FROM (
            SELECT DISTINCT x.image_id, EXISTS (
                SELECT 1 FROM images s WHERE s.id = x.image_id AND s.sha256_hash IS NOT NULL
            ) AS stored
            FROM (SELECT z.image_id FROM provenance z WHERE z.source_domain = k.domain LIMIT 100000) x
        ) y
    ) i CROSS JOIN LATERAL (
        SELECT avg((x.outcome IN ('failed', 'timeout', 'blocked_4xx', 'blocked_5xx'))::integer)::real AS errors,
            avg((x.outcome = 'success' AND x.unchanged IS NULL AND NOT x.refused)::integer)::real AS yields, avg(x.duration_ms)::integer AS took, avg(x.bytes)::integer AS bytes, max(x.completed_at) AS last
        FROM (
            SELECT c.outcome, c.unchanged, c.duration_ms, c.bytes, c.completed_at,
                kind_image(c.kind) AND c.error_message IS NOT NULL AS refused
            FROM page_crawls c
            WHERE c.domain = k.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL
            ORDER BY c.completed_at DESC LIMIT 100
        ) x
    ) h
    WHERE d.domain = ANY (p_domains) AND d.domain = k.domain;
END
$$;

-- Has claims on domains run out: those given, or, where that is null, those that should
-- have been renewed. A workflow that runs all the same keeps its place, as each domain has
-- one only. Returns the domains.
CREATE OR REPLACE FUNCTION domains_release(p_domains text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_released text[];
BEGIN
    WITH stale AS (
        SELECT d.id FROM domains d
        WHERE d.claimed_by IS NOT NULL AND (
            CASE WHEN p_domains IS NULL THEN d.claim_expires_at < now() ELSE d.domain = ANY (p_domains) END
        ) ORDER BY d.domain || '' FOR UPDATE -- see finishes_await
    ), released AS (
        UPDATE domains d SET claimed_by = NULL, claim_expires_at = NULL,
            status = CASE WHEN d.status = 'active' THEN 'pending' ELSE d.status END
        FROM stale s WHERE d.id = s.id RETURNING d.domain
    )
    SELECT coalesce(array_agg(r.domain ORDER BY r.domain), '{}') INTO v_released FROM released r;
    PERFORM due_update(v_released);
    RETURN v_released;
END
$$;

-- Notes which registered domains domains are part of that are found; what is known of them
-- stays.
CREATE OR REPLACE FUNCTION registered_add(p_domains text[], p_registered text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO registered_domains (domain, registered)
    SELECT DISTINCT ON (u.domain) u.domain, u.registered FROM unnest(p_domains, p_registered) AS u (domain, registered)
    WHERE (SELECT g.domain FROM registered_domains g WHERE g.domain = u.domain) IS NULL
    ORDER BY u.domain ON CONFLICT (domain) DO NOTHING;
END
$$;
