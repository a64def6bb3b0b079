-- Charges pages to their patterns (crawl.Charge), unless they were new at an earlier visit. A page
-- is also a duplicate if another page of the domain has the same content and does not name it as
-- its canonical URL. Returns the charged attempts.
CREATE OR REPLACE FUNCTION patterns_charge(v closed_attempt[]) RETURNS charged_attempt[] LANGUAGE plpgsql AS $$
DECLARE
    v_charged charged_attempt[];
    v_row record;
BEGIN
    SELECT array_agg((a.n, d.duplicate)::charged_attempt) INTO v_charged
    FROM unnest(v) a CROSS JOIN LATERAL (
        -- evaluated first, so that a cached plan uses pages_content even for an empty table
        SELECT decode(a.doc #>> '{page,visit,content}', 'hex') AS content OFFSET 0
    ) h CROSS JOIN LATERAL (
        SELECT CASE
            -- a redirect to an unknown page is judged with its target
            WHEN a.doc -> 'charge' ? 'redirect' THEN CASE WHEN EXISTS (
                SELECT 1 FROM pages t
                WHERE t.domain = a.doc #>> '{links,0,domain}' AND t.url = a.doc #>> '{links,0,url}'
                    AND (t.fetched_at IS NOT NULL OR EXISTS (
                        SELECT 1 FROM page_links l
                        WHERE l.to_page_id = t.id AND l.kind = 'redirect' AND l.from_page_id <> a.page_id
                    ))
            ) THEN true END
            WHEN a.doc -> 'charge' ? 'duplicate' THEN true
            ELSE EXISTS (
                SELECT 1 FROM pages y
                WHERE y.domain = a.domain AND y.content_hash = h.content
                    AND y.id <> a.page_id AND (y.signals ->> 'canonical_url') IS DISTINCT FROM a.url
            )
        END AS duplicate
    ) d
    WHERE a.doc ? 'charge' AND (a.fetched_at IS NULL OR a.duplicate) AND d.duplicate IS NOT NULL;
    IF v_charged IS NULL THEN
        RETURN ARRAY[]::charged_attempt[];
    END IF;
    FOR v_row IN
    INSERT INTO url_patterns AS u (domain, pattern, seen, duplicates, copies, run_id, fingerprints, shared_text)
    SELECT a.domain, k.pattern, 1, (g.duplicate AND NOT k.copy)::integer, (g.duplicate AND k.copy)::integer, a.run_id,
        CASE WHEN k.n = 1 AND NOT g.duplicate THEN decode(a.doc #>> '{charge,fingerprints}', 'base64') END,
        CASE WHEN k.n = 1 AND NOT g.duplicate THEN decode(a.doc #>> '{charge,shared_text}', 'base64') END
    FROM unnest(v_charged) g INNER JOIN unnest(v) a ON a.n = g.n CROSS JOIN LATERAL (
        SELECT x.pattern, x.n, a.doc -> 'charge' ? 'copy' AS copy
        FROM (
            SELECT c.pattern, c.n FROM jsonb_array_elements_text(a.doc #> '{charge,patterns}') WITH ORDINALITY AS c (pattern, n)
            UNION ALL
            SELECT DISTINCT r.pattern, 0 FROM redirects_to(CASE
                WHEN a.fetched_at IS NULL AND NOT a.doc -> 'charge' ? 'redirect'
                    AND EXISTS (SELECT 1 FROM page_links l WHERE l.to_page_id = a.page_id AND l.kind = 'redirect')
                    THEN a.page_id
            END, a.domain) AS r (pattern)
            WHERE NOT a.doc #> '{charge,patterns}' ? r.pattern
        ) x
    ) k
    ORDER BY a.domain, k.pattern
    ON CONFLICT (domain, pattern) DO UPDATE SET
        seen = pattern_count(u.seen, u.run_id, excluded.run_id) + 1,
        duplicates = pattern_count(u.duplicates, u.run_id, excluded.run_id) + excluded.duplicates,
        copies = pattern_count(u.copies, u.run_id, excluded.run_id) + excluded.copies,
        run_id = greatest(u.run_id, excluded.run_id),
        fingerprints = coalesce(excluded.fingerprints, u.fingerprints), shared_text = coalesce(excluded.shared_text, u.shared_text),
        updated_at = clock_timestamp()
    RETURNING u.domain, u.pattern, u.seen, pattern_penalty(u.seen, u.duplicates + u.copies) AS penalty
    LOOP
        -- Each time the pattern has doubled, demotes its first pending pages.
        CONTINUE WHEN v_row.penalty = 0 OR v_row.seen & (v_row.seen - 1) <> 0;
        UPDATE page_crawls c SET priority = d.priority
        FROM (
            SELECT x.id, page_priority(x.depth, s.score, v_row.penalty) AS priority FROM (
                SELECT rd.run_id FROM run_domains rd INNER JOIN crawl_runs r ON r.id = rd.run_id
                WHERE rd.domain = v_row.domain AND r.status <> 'done'
            ) n CROSS JOIN LATERAL (
                SELECT y.id, y.page_id, y.kind, y.depth FROM page_crawls y
                WHERE y.domain = v_row.domain AND y.run_id = n.run_id AND y.outcome IS NULL AND y.locked_at IS NULL
                    AND y.previous_id IS NULL AND NOT y.prerequisite AND y.depth > 0
                    AND y.priority <= 0 AND y.priority > -y.depth - v_row.penalty
                ORDER BY y.priority DESC, y.scheduled_for, y.id LIMIT 2000
            ) x CROSS JOIN LATERAL (
                SELECT p.patterns FROM pages p WHERE p.id = x.page_id LIMIT 1
            ) p LEFT JOIN LATERAL (SELECT r.score FROM page_ranks r WHERE r.page_id = x.page_id LIMIT 1) s ON true
            WHERE x.kind = ANY (kinds('document')) AND p.patterns [cardinality(p.patterns)] = v_row.pattern
            ORDER BY x.id
        ) d
        WHERE c.id = d.id AND c.completed_at IS NULL AND c.locked_at IS NULL AND c.priority > d.priority;
    END LOOP;
    RETURN v_charged;
END
$$;

-- Returns a count of a pattern as a run sees it: half in a new run, to try stopped patterns again.
CREATE OR REPLACE FUNCTION pattern_count(p_count integer, p_last bigint, p_run_id bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_last < p_run_id THEN p_count / 2 ELSE p_count END
$$;

-- Returns the patterns of the domain's pages that first redirected to a page, over all redirects.
CREATE OR REPLACE FUNCTION redirects_to(p_page_id bigint, p_domain text) RETURNS SETOF text
LANGUAGE plpgsql STABLE STRICT AS $$
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

-- Returns the penalty of a pattern, in links: 4 if all pages were duplicates, 0 for fewer than 8.
CREATE OR REPLACE FUNCTION pattern_penalty(p_seen integer, p_duplicates integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_seen >= 8 THEN floor(4.0 * p_duplicates / p_seen)::integer ELSE 0 END
$$;
