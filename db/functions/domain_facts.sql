-- What is stored about a domain that bears on what to do next: crawl.Facts. Of each
-- running run that has something pending there it names the crawl that is first in
-- line and due, or when one will be. It decides nothing and changes nothing.
CREATE OR REPLACE FUNCTION domain_facts(p_domain text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_slot politeness_slots;
    v_flying record;
    v_runs jsonb := '[]'::jsonb;
    v_due timestamptz;
    v_locked timestamptz;
    r record;
BEGIN
    SELECT s.* INTO v_slot FROM politeness_slots s WHERE s.key = 'domain:' || p_domain;
    SELECT x.run_id, x.locked_at INTO v_flying FROM page_crawls x WHERE x.id = holder_crawl(v_slot.holder);
    -- One run at a time, each a step along page_crawls_next.
    FOR r IN
        SELECT rd.run_id, rd.seed, rd.pages_started AS domain_started, u.name, u.settings, u.pages_started, c.id AS crawl
        FROM run_domains rd CROSS JOIN LATERAL (
            SELECT x.name, x.settings, x.pages_started FROM crawl_runs x
            WHERE x.id = rd.run_id AND x.status = 'running' LIMIT 1
        ) u LEFT JOIN LATERAL (
            SELECT x.id FROM page_crawls x
            WHERE x.domain = p_domain AND x.run_id = rd.run_id AND x.outcome IS NULL
                AND x.locked_at IS NULL AND x.scheduled_for <= t
            ORDER BY x.priority DESC, x.scheduled_for, x.id LIMIT 1
        ) c ON true
        WHERE rd.domain = p_domain
    LOOP
        v_due := NULL;
        IF r.crawl IS NULL THEN
            SELECT min(x.scheduled_for) INTO v_due
            FROM page_crawls x
            WHERE x.domain = p_domain AND x.run_id = r.run_id AND x.outcome IS NULL AND x.locked_at IS NULL;
        END IF;
        v_locked := CASE WHEN v_flying.run_id = r.run_id THEN v_flying.locked_at END;
        CONTINUE WHEN r.crawl IS NULL AND v_due IS NULL AND v_locked IS NULL;
        v_runs := v_runs || jsonb_build_object(
            'id', r.run_id, 'name', r.name, 'settings', r.settings, 'seed', r.seed,
            'pages_started', r.pages_started, 'domain_started', r.domain_started,
            'crawl', CASE WHEN r.crawl IS NOT NULL THEN crawl_facts(r.crawl) END,
            'next_due', v_due, 'locked_at', v_locked);
    END LOOP;
    RETURN jsonb_build_object('now', t, 'domain', domain_state(p_domain, v_slot), 'runs', v_runs);
END
$$;

-- The same after closing what dead workers have left.
CREATE OR REPLACE FUNCTION domain_next(p_domain text) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    PERFORM domain_reap(p_domain);
    RETURN domain_facts(p_domain);
END
$$;

-- What is stored about a domain itself: crawl.DomainFacts.
CREATE OR REPLACE FUNCTION domain_state(p_domain text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_slot politeness_slots;
BEGIN
    SELECT s.* INTO v_slot FROM politeness_slots s WHERE s.key = 'domain:' || p_domain;
    RETURN domain_state(p_domain, v_slot);
END
$$;

-- The same with its slot, which has been read. Each page asks for it.
CREATE OR REPLACE FUNCTION domain_state(p_domain text, s politeness_slots) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
            'name', p_domain,
            'status', d.status, 'reason', d.status_reason, 'deferred_until', d.next_crawl_after, 'bare', d.bare,
            'refused_since', CASE WHEN d.refused_since IS NOT NULL THEN domain_refused_since(p_domain) END,
            'controls', (
                SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'kind', c.kind, 'value', c.value, 'reason', c.reason, 'set_by', c.set_by, 'set_at', c.set_at,
                    'until', c.until
                )) ORDER BY c.kind)
                FROM domain_controls c
                WHERE c.domain = p_domain AND c.lifted_at IS NULL AND (c.until IS NULL OR c.until > clock_timestamp())
            ),
            'crawl_delay_ms', o.crawl_delay_ms, 'reachable_origins', o.reachable,
            'health', (SELECT h.health FROM domain_health h WHERE h.domain = p_domain),
            'slot_free_at', s.free_at, 'slot_reason', s.reason, 'spared_since', s.spared_since
        )
        FROM (
            SELECT max(x.crawl_delay_ms) AS crawl_delay_ms, count(*) FILTER (WHERE x.failures = 0) AS reachable
            FROM robots x WHERE x.domain = p_domain
        ) o LEFT JOIN LATERAL (
            SELECT x.status, x.status_reason, x.next_crawl_after, x.bare, x.refused_since
            FROM domains x WHERE x.domain = p_domain LIMIT 1
        ) d ON true
    );
END
$$;

-- What is stored about an origin's robots.txt: crawl.RobotsFacts.
CREATE OR REPLACE FUNCTION robots_facts(p_origin text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
            'verdict', ro.verdict, 'version', ro.version, 'expires_at', ro.expires_at, 'reason', ro.reason,
            'agent', ro.agent, 'tdm_known', ro.tdm IS NOT NULL,
            'answered', ro.status_code IS NOT NULL, 'read', ro.read_at IS NOT NULL)
        FROM robots ro WHERE ro.origin = p_origin
    );
END
$$;

-- What is stored about a crawl and its page: crawl.CrawlFacts.
CREATE OR REPLACE FUNCTION crawl_facts(p_crawl_id bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
            'id', c.id, 'url', c.url, 'kind', c.kind, 'origin', p.origin, 'depth', c.depth, 'redirects', c.redirects,
            'priority', c.priority, 'scheduled_for', c.scheduled_for, 'locked_at', c.locked_at, 'outcome', c.outcome,
            'attempt', (
                SELECT count(*) FROM page_crawls x
                WHERE x.page_id = c.page_id AND x.run_id = c.run_id AND x.id <= c.id AND NOT x.prerequisite
                    AND x.skipped IS DISTINCT FROM 'taken back'
            ),
            'visit', jsonb_strip_nulls(jsonb_build_object(
                'at', p.fetched_at, 'fresh_until', p.fresh_until, 'etag', p.etag, 'last_modified', p.last_modified,
                'content', encode(p.content_hash, 'hex')
            )),
            'duplicate', p.duplicate,
            'patterns', (
                SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                    'pattern', k.pattern, 'seen', coalesce(u.seen, 0), 'duplicates', coalesce(u.duplicates, 0),
                    'copies', u.copies, 'run_id', u.run_id,
                    'shared', CASE WHEN k.n = 1 AND (p.fetched_at IS NULL OR p.duplicate) THEN encode(u.shared, 'base64') END,
                    'fingerprints',
                    CASE WHEN k.n = 1 AND (p.fetched_at IS NULL OR p.duplicate) THEN encode(u.fingerprints, 'base64') END
                )) ORDER BY k.n)
                FROM unnest(p.patterns) WITH ORDINALITY AS k (pattern, n) LEFT JOIN LATERAL (
                    SELECT x.seen, x.duplicates, x.copies, x.run_id, x.shared, x.fingerprints FROM url_patterns x
                    WHERE x.domain = p.domain AND x.pattern = k.pattern LIMIT 1
                ) u ON true
            ),
            'worked', CASE
                WHEN (SELECT (h.health ->> 'probing')::boolean FROM domain_health h WHERE h.domain = c.domain)
                    THEN page_worked(c.domain, p.origin)
            END,
            'answered', CASE WHEN p.status = 'failed' THEN page_answered(p.id) END,
            'robots', robots_facts(p.origin)
        ) || CASE WHEN p.usage IS NULL THEN '{}' ELSE jsonb_build_object('usage', p.usage) END
        FROM page_crawls c INNER JOIN pages p ON c.page_id = p.id WHERE c.id = p_crawl_id
    );
END
$$;

-- The page of an origin that was answered well last, among the domain's latest
-- requests; null is none.
CREATE OR REPLACE FUNCTION page_worked(p_domain text, p_origin text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT x.url FROM (
            SELECT y.url, y.page_id, y.kind, y.outcome, y.status_code, y.error_message, y.completed_at
            FROM page_crawls y WHERE y.domain = p_domain AND y.outcome IS NOT NULL
            ORDER BY y.completed_at DESC LIMIT 1000
        ) x INNER JOIN pages p ON p.id = x.page_id
        WHERE x.kind = 'page' AND x.outcome = 'success' AND x.error_message IS NULL AND p.origin = p_origin
            AND (x.status_code BETWEEN 200 AND 299 OR x.status_code = 304)
        ORDER BY x.completed_at DESC LIMIT 1
    );
END
$$;

-- The answer from 400 to 499 that the last request for a page had: crawl.Answered;
-- null is another one, or none.
CREATE OR REPLACE FUNCTION page_answered(p_page_id bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object('at', x.completed_at, 'status', x.status_code) FROM (
            SELECT y.completed_at, y.status_code, y.outcome FROM page_crawls y
            WHERE y.page_id = p_page_id AND y.outcome NOT IN ('skipped', 'blocked_robots') AND NOT y.prerequisite
            ORDER BY y.id DESC LIMIT 1
        ) x
        WHERE x.outcome = 'blocked_4xx'
    );
END
$$;

-- The facts of one page in each run, whatever has become of it there: what
-- explains it.
CREATE OR REPLACE FUNCTION page_facts(p_domain text, p_url text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'now', clock_timestamp(),
        'domain', domain_state(p_domain),
        'runs', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'id', r.id, 'name', r.name, 'status', r.status, 'settings', r.settings, 'seed', rd.seed,
                'pages_started', r.pages_started, 'domain_started', rd.pages_started,
                'crawl', crawl_facts((
                    SELECT c.id FROM page_crawls c
                    WHERE c.page_id = p.id AND c.run_id = r.id AND NOT c.prerequisite
                    ORDER BY c.created_at DESC, c.id DESC LIMIT 1
                ))
            ) ORDER BY r.id), '[]')
            FROM pages p
            INNER JOIN run_domains rd ON rd.domain = p.domain
            INNER JOIN crawl_runs r ON r.id = rd.run_id
            WHERE p.domain = p_domain AND p.url = p_url
        )
    );
END
$$;
