-- Returns the facts of domains (crawl.Facts), in their order. A running run with pending attempts
-- has the first due attempt, or the time of the next. The run that has waited longest comes first.
CREATE OR REPLACE FUNCTION domain_facts(p_domains text[]) RETURNS jsonb[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_states CONSTANT jsonb[] := domain_state(p_domains);
    v_runs domain_run[];
    v_crawls jsonb[];
    v_due run_due[];
BEGIN
    -- For each run a step along page_crawls_next, and another if no crawl is due.
    v_runs := ARRAY(
        SELECT (d.n, c.id, rd.run_id, q.more OR f.locked_at IS NOT NULL, b.run_pages, jsonb_build_object(
            'id', rd.run_id, 'name', u.name, 'settings', u.settings, 'seed', rd.seed, 'forbidden_by_budget', b.spent,
            'domain_started', rd.pages_started, 'images_started', rd.images_started, 'budget', b.budget,
            'has_waiting_domains', u.has_waiting_domains, 'requests_at_claim', rd.requests_at_claim,
            'yielded', rd.requests_at_claim IS NULL, 'locked_at', f.locked_at
        ))::domain_run
        FROM unnest(p_domains) WITH ORDINALITY AS d (domain, n)
        CROSS JOIN LATERAL (SELECT domain_budget(d.domain) AS own OFFSET 0) o
        CROSS JOIN LATERAL (SELECT x.*, x AS row FROM run_domains x WHERE x.domain = d.domain OFFSET 0) rd
        CROSS JOIN LATERAL (
            SELECT x.name, x.settings, x.has_waiting_domains, x AS row FROM crawl_runs x
            WHERE x.id = rd.run_id AND x.status = 'running' LIMIT 1
        ) u CROSS JOIN LATERAL (
            SELECT forbidden_by_budget(rd.row, u.settings, o.own, u.row) AS spent, run_pages_spent(u.row) AS run_pages,
                pages_budget(u.settings, o.own) AS budget OFFSET 0
        ) b LEFT JOIN LATERAL (
            SELECT x.id, x.kind FROM page_crawls x
            WHERE x.domain = d.domain AND x.run_id = rd.run_id AND x.outcome IS NULL
                AND x.locked_at IS NULL AND x.scheduled_for <= t
            ORDER BY x.priority DESC, x.scheduled_for, x.id LIMIT 1
        ) c ON true CROSS JOIN LATERAL (
            -- look up when a crawl is due: if none is due, or without a budget for pages
            SELECT CASE
                WHEN c.id IS NULL THEN EXISTS (
                    SELECT 1 FROM page_crawls x
                    WHERE x.domain = d.domain AND x.run_id = rd.run_id AND x.outcome IS NULL AND x.locked_at IS NULL
                )
                ELSE c.kind <> ALL (kinds('image')) AND u.settings ->> 'images' <> 'off' AND b.spent = 'pages'
            END AS more OFFSET 0
        ) q LEFT JOIN LATERAL (
            SELECT x.locked_at FROM page_crawls x
            WHERE x.id = substr((
                    SELECT s.holder FROM politeness_slots s WHERE s.key = 'domain:' || d.domain
                ), 7)::bigint
                AND x.run_id = rd.run_id LIMIT 1
        ) f ON true
        WHERE c.id IS NOT NULL OR q.more OR f.locked_at IS NOT NULL
        ORDER BY d.n, rd.last_request_at NULLS FIRST, rd.run_id
    );
    v_crawls := attempt_facts(ARRAY(SELECT r.crawl FROM unnest(v_runs) r));
    v_due := domains_due(ARRAY(SELECT DISTINCT p_domains[r.n] FROM unnest(v_runs) r WHERE r.needs_due_time), false);
    RETURN ARRAY(
        SELECT jsonb_build_object('now', t, 'domain', d.state, 'runs', coalesce(r.runs, '[]'))
        FROM unnest(v_states) WITH ORDINALITY AS d (state, n) LEFT JOIN (
            SELECT x.n, jsonb_agg(x.doc || jsonb_build_object(
                'crawl', x.facts, 'wait_reason', u.reason, 'due', nullif(CASE
                    WHEN x.doc ->> 'forbidden_by_budget' = 'all' THEN NULL
                    WHEN x.run_pages THEN u.images_due_at
                    ELSE u.due_at
                END, 'infinity')
            ) ORDER BY x.i) AS runs
            FROM ROWS FROM (unnest(v_runs), unnest(v_crawls)) WITH ORDINALITY
                AS x (n, crawl, run_id, needs_due_time, run_pages, doc, facts, i)
            LEFT JOIN unnest(v_due) u ON u.run_id = x.run_id AND u.domain = p_domains[x.n]
            GROUP BY x.n
        ) r ON r.n = d.n
        ORDER BY d.n
    );
END
$$;

-- Returns the facts of one domain, after closing attempts of dead workers.
CREATE OR REPLACE FUNCTION domain_next(p_domain text) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    PERFORM domain_reap(p_domain);
    RETURN (domain_facts(ARRAY[p_domain]))[1];
END
$$;

-- Returns the facts of domains themselves (crawl.DomainFacts), in their order.
CREATE OR REPLACE FUNCTION domain_state(p_domains text[]) RETURNS jsonb[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT jsonb_build_object(
            'name', k.domain, 'status', d.status, 'reason', d.status_reason, 'schemeless', d.schemeless,
            'deferred_until', d.next_crawl_after,
            'refused_since', CASE WHEN d.refused_since IS NOT NULL THEN domain_refused_since(k.domain, d.refused_since) END,
            'controls', nullif(coalesce((
                SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'kind', c.kind, 'value', c.value, 'reason', c.reason, 'set_by', c.set_by, 'set_at', c.set_at,
                    'until', c.until
                )) ORDER BY c.kind)
                FROM domain_controls c
                WHERE c.domain = k.domain AND c.lifted_at IS NULL AND (c.until IS NULL OR c.until > clock_timestamp())
            ), '[]') || coalesce(domain_listed_by(k.domain), '[]'), '[]'),
            'crawl_delay_ms', o.crawl_delay_ms, 'visit_times', o.visit_times, 'origins', o.origins, 'reachable_origins', o.reachable,
            'health', (SELECT h.health FROM domain_health h WHERE h.domain = k.domain),
            'slot_free_at', s.free_at, 'slot_reason', s.reason, 'unreachable_since', s.unreachable_since
        ) || CASE WHEN d.recrawl IS NULL THEN '{}' ELSE jsonb_build_object('recrawl', d.recrawl) END
        FROM unnest(p_domains) WITH ORDINALITY AS k (domain, n) CROSS JOIN LATERAL (
            SELECT max(x.crawl_delay_ms) AS crawl_delay_ms, count(*) AS origins, count(*) FILTER (WHERE x.failures = 0) AS reachable,
                -- for two days: a Visit-time opens daily, and robots.txt is read again before
                jsonb_path_query_array(
                    jsonb_agg(jsonb_build_object('windows', x.visit_times, 'until', x.read_at + interval '2 days') ORDER BY x.read_at DESC)
                        FILTER (WHERE x.visit_times IS NOT NULL AND x.read_at > clock_timestamp() - interval '2 days'),
                    '$[0 to 7]'
                ) AS visit_times
            FROM robots x WHERE x.domain = k.domain
        ) o LEFT JOIN LATERAL (
            SELECT x.status, x.status_reason, x.next_crawl_after, x.schemeless, x.refused_since, x.recrawl
            FROM domains x WHERE x.domain = k.domain LIMIT 1
        ) d ON true LEFT JOIN LATERAL (
            SELECT x.free_at, x.reason, x.unreachable_since FROM politeness_slots x WHERE x.key = 'domain:' || k.domain LIMIT 1
        ) s ON true
        ORDER BY k.n
    );
END
$$;

-- Returns the facts of crawls and their pages (crawl.AttemptFacts), in their order; null if
-- unknown.
CREATE OR REPLACE FUNCTION attempt_facts(p_attempt_ids bigint[]) RETURNS jsonb[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT CASE WHEN c.id IS NOT NULL THEN jsonb_build_object(
            'id', c.id, 'url', c.url, 'kind', c.kind, 'origin', p.origin, 'depth', c.depth, 'redirects', c.redirects,
            'priority', c.priority, 'scheduled_for', c.scheduled_for, 'locked_at', c.locked_at, 'outcome', c.outcome,
            'attempt', c.attempt,
            'visit', jsonb_strip_nulls(jsonb_build_object(
                'at', p.fetched_at, 'fresh_until', p.fresh_until, 'etag', p.etag, 'last_modified', p.last_modified,
                'content', encode(p.content_hash, 'hex'), 'request_target', p.request_target
            )),
            'extractor', p.extractor, 'duplicate', p.duplicate, 'is_revisit', c.is_revisit, 'images_recorded', p.images_recorded,
            'image', CASE WHEN c.kind = ANY (kinds('image')) THEN (
                SELECT jsonb_build_object(
                    'stored', x.stored_at IS NOT NULL, 'thumbnail', x.thumbnail_at IS NOT NULL OR x.undecoded_reason IS NOT NULL
                )
                FROM images i INNER JOIN image_contents x ON x.sha256_hash = i.sha256_hash WHERE i.page_id = p.id
            ) END,
            'patterns', (
                SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'pattern', k.pattern, 'seen', coalesce(pattern_count(u.seen, u.run_id, c.run_id), 0),
                    'duplicates', coalesce(pattern_count(u.duplicates, u.run_id, c.run_id), 0),
                    'copies', pattern_count(u.copies, u.run_id, c.run_id),
                    'shared_text', CASE WHEN k.n = 1 AND (p.fetched_at IS NULL OR p.duplicate) THEN encode(u.shared_text, 'base64') END,
                    'fingerprints',
                    CASE WHEN k.n = 1 AND (p.fetched_at IS NULL OR p.duplicate) THEN encode(u.fingerprints, 'base64') END
                )) ORDER BY k.n)
                FROM unnest(p.patterns) WITH ORDINALITY AS k (pattern, n) LEFT JOIN LATERAL (
                    SELECT x.seen, x.duplicates, x.copies, x.run_id, x.shared_text, x.fingerprints FROM url_patterns x
                    WHERE x.domain = p.domain AND x.pattern = k.pattern LIMIT 1
                ) u ON true
            ),
            'final_answer', CASE WHEN p.status = 'failed' THEN (
                SELECT jsonb_build_object('at', x.completed_at, 'status', x.status_code) FROM (
                    -- OFFSET 0: of the page's crawls, not of all crawls until one of the page
                    SELECT z.completed_at, z.status_code, z.outcome FROM (
                        SELECT y.id, y.completed_at, y.status_code, y.outcome FROM page_crawls y
                        WHERE y.page_id = p.id AND y.outcome NOT IN ('skipped', 'blocked_robots') AND NOT y.prerequisite OFFSET 0
                    ) z
                    ORDER BY z.id DESC LIMIT 1
                ) x
                WHERE x.outcome = 'blocked_4xx'
            ) END,
            'named_by_domains', CASE WHEN c.kind = ANY (kinds('nested')) THEN sitemap_naming_domains(p.id) END,
            'robots', (
                SELECT jsonb_build_object(
                    'verdict', r.verdict, 'version', r.version, 'expires_at', r.expires_at, 'reason', r.reason,
                    'agent', r.agent, 'tdm_known', r.tdm IS NOT NULL,
                    'unanswered_count', r.unanswered_count, 'was_read', r.read_at IS NOT NULL
                ) FROM robots r WHERE r.origin = p.origin
            )
        ) || CASE WHEN p.usage IS NULL THEN '{}' ELSE jsonb_build_object('usage', p.usage) END
            || CASE WHEN p.history IS NULL THEN '{}' ELSE jsonb_build_object('history', p.history) END
            || CASE WHEN c.schemeless THEN '{"schemeless": true}'::jsonb ELSE '{}' END
            || CASE
                WHEN (SELECT (h.health ->> 'probing')::boolean FROM domain_health h WHERE h.domain = c.domain)
                    THEN origin_probe_facts(c.domain, p.origin)
                ELSE '{}'
            END
        END
        FROM unnest(p_attempt_ids) WITH ORDINALITY AS i (id, n) LEFT JOIN LATERAL (
            SELECT x.* FROM page_crawls x WHERE x.id = i.id LIMIT 1
        ) c ON true LEFT JOIN LATERAL (
            SELECT x.* FROM pages x WHERE x.id = c.page_id LIMIT 1
        ) p ON true
        ORDER BY i.n
    );
END
$$;

-- Returns the facts of a probed origin: its last page or image with a good response among the
-- domain's latest requests, and whether it has pages there or among the first pending ones.
CREATE OR REPLACE FUNCTION origin_probe_facts(p_domain text, p_origin text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH latest AS NOT MATERIALIZED (
            SELECT x.*, p.request_target FROM (
                SELECT y.url, y.page_id, y.kind, y.outcome, y.status_code, y.error_message, y.completed_at, y.prerequisite
                FROM page_crawls y WHERE y.domain = p_domain AND y.outcome IS NOT NULL
                ORDER BY y.completed_at DESC LIMIT 1000
            ) x INNER JOIN pages p ON p.id = x.page_id
            WHERE x.outcome = 'success' AND p.origin = p_origin
        )
        SELECT coalesce(
            (
                SELECT jsonb_build_object('last_reachable_url', x.url, 'last_reachable_target', x.request_target) FROM latest x
                WHERE (x.kind = ANY (kinds('document')) OR x.kind = ANY (kinds('image'))) AND x.error_message IS NULL
                    AND (x.status_code BETWEEN 200 AND 299 OR x.status_code = 304)
                ORDER BY x.completed_at DESC LIMIT 1
            ), '{}'
        ) || jsonb_build_object(
            'origin_has_pages', EXISTS (SELECT 1 FROM latest x WHERE x.kind = ANY (kinds('document')) AND NOT x.prerequisite) OR EXISTS (
                SELECT 1 FROM run_domains rd CROSS JOIN LATERAL (
                    SELECT y.page_id, y.kind FROM page_crawls y
                    WHERE y.domain = rd.domain AND y.run_id = rd.run_id AND y.outcome IS NULL AND y.priority < kind_priority('image') - 1
                    ORDER BY y.priority DESC, y.scheduled_for, y.id LIMIT 1000
                ) x INNER JOIN pages p ON p.id = x.page_id
                WHERE rd.domain = p_domain AND x.kind = ANY (kinds('document')) AND p.origin = p_origin
            )
        )
    );
END
$$;

-- Returns the domains that name a sitemap in robots.txt or sitemaps, at most 1,000, or null. A
-- redirect passes on the domains of its source. It does not vouch itself: it may lead to any URL.
CREATE OR REPLACE FUNCTION sitemap_naming_domains(p_page_id bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE named (id, hops, list, domain) AS (
            SELECT p_page_id, 0, true, NULL::text
            UNION
            SELECT l.id, n.hops + 1, l.list, l.domain FROM named n CROSS JOIN LATERAL (
                SELECT f.id, f.kind = ANY (kinds('nested')) AS list, CASE WHEN x.kind = ANY (kinds('nested')) THEN f.domain END AS domain
                FROM page_links x INNER JOIN pages f ON f.id = x.from_page_id
                WHERE x.to_page_id = n.id AND x.gone_at IS NULL
                    AND (x.kind = ANY (kinds('nested')) OR x.kind = 'redirect' AND f.kind = ANY (kinds('nested')))
                LIMIT 1000
            ) l
            WHERE n.list AND n.hops < 4
        )
        SELECT jsonb_agg(DISTINCT v.domain) FROM (SELECT n.domain FROM named n WHERE n.domain IS NOT NULL LIMIT 1000) v
    );
END
$$;
