-- Adds pages and sites to the database of TestPlans, as a crawl would have left them. The
-- pages have the ids after plans.pages_from up to plans.pages_upto, the sites those from
-- plans.sites_from to before plans.sites_upto.
--
-- Of 20 pages in a row four belong to site 0, two to site 1, one to site 2, and 13 to small
-- sites in turn. So of a million pages these three have 200,000, 100,000 and 50,000, and a
-- small site some 32. Run 1 has fetched about 60 % of the pages of each site, the others
-- are pending there. Run 2 is over and has read the first five pages of each site. Run 3
-- has 300 small sites.
--
-- Triggers must be off. The three runs must exist.

-- The name of a site. Every fiftieth is a subdomain of hosting.example.
CREATE OR REPLACE FUNCTION pg_temp.site(s bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN s % 50 = 7 THEN 'blog-' || s || '.hosting.example' ELSE 'site-' || s || '.example' END
$$;

-- Returns the number of pages of a site that run 1 has requested.
CREATE OR REPLACE FUNCTION pg_temp.asked(s bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE s WHEN 0 THEN 120000 WHEN 1 THEN 60000 WHEN 2 THEN 30000 ELSE 20 END
$$;

-- Reports whether a workflow has claimed a site and has a request of run 1 in flight.
CREATE OR REPLACE FUNCTION pg_temp.claimed(s bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT s % 100 = 1
$$;

-- The id of a page of a small site, or of site 0, by its place there from 0.
CREATE OR REPLACE FUNCTION pg_temp.page_id(s bigint, o bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT 1 + CASE s
        WHEN 0 THEN o / 4 * 20 + o % 4
        WHEN 1 THEN o / 2 * 20 + 4 + o % 2
        WHEN 2 THEN o * 20 + 6
        ELSE (o * 19997 + s - 3) / 13 * 20 + 7 + (o * 19997 + s - 3) % 13
    END
$$;

-- o is a page's place on its site; asked says that run 1 has closed its crawl.
CREATE TEMPORARY TABLE made ON COMMIT DROP AS
SELECT
    x.id, x.s, x.o, d.domain, 'https://' || d.domain AS origin, k.kind, x.o < pg_temp.asked(x.s) AS asked,
    'https://' || d.domain || CASE k.kind
        WHEN 'robots' THEN '/robots.txt' WHEN 'sitemap' THEN '/sitemap.xml' WHEN 'image' THEN '/images/' || x.o || '.png'
        ELSE CASE WHEN x.o = 1 THEN '/' ELSE '/section-' || x.o % 7 || '/page-' || x.o END
    END AS url,
    CASE WHEN k.kind = 'page' AND x.o < pg_temp.asked(x.s) THEN
        CASE WHEN x.o % 37 = 5 THEN 'blocked_robots' WHEN x.o % 41 = 6 THEN 'blocked_4xx' WHEN x.o % 43 = 8 THEN 'skipped'
            WHEN x.o % 53 = 11 THEN 'timeout' ELSE 'success' END
    WHEN x.o < pg_temp.asked(x.s) THEN 'success' END::crawl_outcome AS outcome,
    now() - interval '10 days' + x.id * interval '500 ms' AS at
FROM (
    SELECT
        i + 1 AS id,
        CASE WHEN i % 20 < 4 THEN 0 WHEN i % 20 < 6 THEN 1 WHEN i % 20 = 6 THEN 2 ELSE 3 + (i / 20 * 13 + i % 20 - 7) % 19997 END AS s,
        CASE WHEN i % 20 < 4 THEN i / 20 * 4 + i % 20 WHEN i % 20 < 6 THEN i / 20 * 2 + i % 20 - 4 WHEN i % 20 = 6 THEN i / 20
            ELSE (i / 20 * 13 + i % 20 - 7) / 19997 END AS o
    FROM generate_series(current_setting('plans.pages_from')::bigint, current_setting('plans.pages_upto')::bigint - 1) AS i
) AS x
CROSS JOIN LATERAL (SELECT pg_temp.site(x.s) AS domain) AS d
CROSS JOIN LATERAL (
    SELECT CASE WHEN x.o = 0 THEN 'robots' WHEN x.o = 2 THEN 'sitemap' WHEN x.o % 16 = 15 THEN 'image' ELSE 'page' END AS kind
) AS k;
ANALYZE made;

INSERT INTO pages (
    id, url, domain, origin, kind, status, language, signals, patterns, content_hash, simhash, extractor, images_recorded, duplicate,
    trap, history, fetched_at, failed_at, created_at
)
OVERRIDING SYSTEM VALUE
SELECT
    m.id, m.url, m.domain, m.origin, m.kind,
    (CASE m.outcome WHEN 'success' THEN 'fetched' WHEN 'blocked_4xx' THEN 'failed' WHEN 'timeout' THEN 'failed' ELSE 'discovered' END)::page_status,
    CASE WHEN m.outcome = 'success' THEN (ARRAY['en', 'en', 'de', 'fr', 'pt-BR'])[1 + m.id % 5] END,
    CASE WHEN m.outcome = 'success' THEN jsonb_build_object('title', 'Page ' || m.o) END,
    CASE WHEN m.kind = 'page' AND m.o <> 1 THEN ARRAY['/section-N/page-N', '/section-' || m.o % 7 || '/page-N'] END,
    CASE WHEN m.outcome = 'success' THEN decode(md5(m.domain || m.o / (1 + (m.o % 11 = 10)::integer)), 'hex') END,
    CASE WHEN m.outcome = 'success' THEN m.id * 2654435761 END,
    CASE WHEN m.outcome = 'success' THEN CASE WHEN m.o % 500 = 1 AND m.s % 100 = 8 THEN 1 ELSE current_setting('plans.extractor')::integer END END,
    CASE WHEN m.outcome = 'success' THEN true END, m.o % 61 = 12, CASE WHEN m.o % 71 = 13 THEN 'pattern' END,
    CASE WHEN m.outcome = 'success' AND m.o % 5 = 3 THEN '{"visits": 3, "changes": 1}'::jsonb END,
    CASE WHEN m.outcome = 'success' THEN m.at END, CASE WHEN m.outcome IN ('blocked_4xx', 'timeout') THEN m.at END, m.at
FROM made AS m ORDER BY m.id;

-- Run 1 has a crawl of each page, of which a tenth has been asked for again. Run 2 has read
-- five pages of each site; run 3 the first ten of each of its own, and has the others pending.
INSERT INTO page_crawls (
    id, page_id, domain, run_id, previous_id, is_revisit, url, kind, prerequisite, retry_priority, depth, scheduled_for, locked_at,
    completed_at, outcome, status_code, error_message, skipped, duration_ms, bytes, content_type, ip, subnet, registered,
    robots_version, delay_ms, delay_reason, ip_delay_ms, subnet_delay_ms, registered_delay_ms, lost, created_at, feed_position, archived
)
OVERRIDING SYSTEM VALUE
SELECT
    c.id, m.id, m.domain, c.run_id, c.previous_id, c.previous_id IS NOT NULL, m.url, m.kind, m.kind = 'robots', -9,
    CASE WHEN m.o <= 1 THEN 0 ELSE least(6, 1 + m.o % 5) END,
    CASE WHEN c.outcome IS NULL AND m.s % 4 = 1 AND m.o % 8 <> 4 THEN now() + interval '1 hour' ELSE c.at END,
    CASE WHEN c.outcome IS NULL AND c.run_id = 1 AND pg_temp.claimed(m.s) AND m.o = pg_temp.asked(m.s) THEN now() END,
    CASE WHEN c.outcome IS NOT NULL THEN c.at END, c.outcome,
    CASE c.outcome WHEN 'success' THEN 200 WHEN 'blocked_4xx' THEN 404 END, CASE c.outcome WHEN 'timeout' THEN 'no answer' END,
    CASE WHEN c.outcome = 'skipped' THEN (ARRAY['trap', 'excluded', 'extension', 'fresh'])[1 + m.o % 4] END,
    CASE WHEN c.asked THEN 20 + m.id % 300 END, CASE WHEN c.outcome = 'success' THEN 20000 END,
    CASE WHEN c.outcome = 'success' THEN 'text/html' END,
    CASE WHEN c.asked THEN '198.18.0.0'::inet + m.s / 10 END, CASE WHEN c.asked THEN network(set_masklen('198.18.0.0'::inet + m.s / 10, 24)) END,
    CASE WHEN c.asked AND m.s % 50 = 7 THEN 'hosting.example' END,
    CASE WHEN c.asked AND m.o > 0 THEN 1 + m.o % 2 END, CASE WHEN c.asked THEN 1000 END, CASE WHEN c.asked THEN 'delay' END,
    CASE WHEN c.asked THEN 100 END, CASE WHEN c.asked THEN 50 END, CASE WHEN c.asked AND m.s % 50 = 7 THEN 200 END,
    c.asked AND m.id % 9973 = 5, c.at, CASE WHEN c.outcome IS NOT NULL THEN c.id END,
    CASE WHEN c.outcome = 'success' AND m.s % 10 < 2 THEN
        jsonb_build_object('file', 'small-web.warc.gz', 'offset', 1000 * c.id, 'length', 900, 'digest', 'sha256:00', 'at', c.at)
        || CASE WHEN m.o % 10 = 3 THEN '{"revisit": true}'::jsonb ELSE '{}' END
    END
FROM made AS m CROSS JOIN LATERAL (
    SELECT x.*, coalesce(x.outcome NOT IN ('skipped', 'blocked_robots'), false) AS asked FROM (
        SELECT 2 * m.id AS id, 1 AS run_id, NULL::bigint AS previous_id, m.outcome, m.at
        UNION ALL
        SELECT 2 * m.id + 1, 1, 2 * m.id, 'success'::crawl_outcome, m.at + interval '5 days' WHERE m.o % 10 = 3 AND m.outcome = 'success'
        UNION ALL
        SELECT 100000000 + m.id, 2, NULL, 'success', m.at - interval '60 days' WHERE m.o < 5
        UNION ALL
        SELECT 200000000 + m.id, 3, NULL, CASE WHEN m.o < 10 THEN 'success'::crawl_outcome END, m.at + interval '1 day'
        WHERE m.s BETWEEN 3 AND 302 AND m.o > 0
    ) AS x
) AS c
ORDER BY c.id;

-- Each page that was read links to the one before it, its site's front page and sitemap, and
-- a page of another site. A few redirect.
INSERT INTO page_links (from_page_id, to_page_id, kind, nofollow, anchor, gone_at, last_seen, created_at)
SELECT DISTINCT ON (m.id, l.id, l.kind)
    m.id, l.id, l.kind, m.o % 17 = 4, CASE WHEN l.other THEN 'words that others say' END, CASE WHEN m.o % 19 = 3 THEN m.at END,
    CASE WHEN m.o % 19 = 3 THEN m.at END, m.at
FROM made AS m CROSS JOIN LATERAL (VALUES
    (pg_temp.page_id(m.s, 1), 'link', false), (pg_temp.page_id(m.s, greatest(m.o - 1, 1)), CASE WHEN m.o % 47 = 9 THEN 'redirect' ELSE 'link' END, false),
    (CASE WHEN m.o = 1 THEN pg_temp.page_id(m.s, 2) END, 'sitemap', false),
    (pg_temp.page_id(3 + m.id * 7919 % 997, m.o % 20 + 3), 'link', true)
) AS l (id, kind, other)
WHERE m.outcome = 'success' AND m.kind = 'page' AND l.id <> m.id
ORDER BY m.id, l.id, l.kind;

-- What is found: a few of the words are on every page.
INSERT INTO page_keywords (page_id, domain, language, version, index_pending, configs, title, body, anchor_terms, outline)
SELECT
    m.id, m.domain, 'en', 3 + m.id % 20, m.id % 20 IN (0, 4), '{english}', 'page:1', 'common:1 words:2:b of:3:c page:4:d',
    CASE WHEN m.id % 40 = 8 THEN 'called:1' END, CASE WHEN m.id % 3 = 0 THEN '{A heading}'::text [] END
FROM made AS m WHERE m.outcome = 'success' AND m.kind = 'page' AND m.id % 20 IN (0, 4, 8) ORDER BY m.id;

-- The index: segments of some thousand chunks each.
INSERT INTO index_segments (id, pages, words, bytes, languages) SELECT i, 5000, 100000, 10000000, '{en}' FROM generate_series(3, 22) AS i
ON CONFLICT DO NOTHING;

INSERT INTO index_chunks (segment_id, kind, key, data)
SELECT s, k, convert_to('w' || n, 'UTF8'), '\x0102030405060708'
FROM generate_series(3, 22) AS s CROSS JOIN generate_series(1, 3) AS k CROSS JOIN generate_series(1, 1000) AS n
ON CONFLICT DO NOTHING;

INSERT INTO page_ranks (page_id, inlinks, score)
SELECT m.id, m.o % 9, 0.3 + m.o % 5 / 10.0 FROM made AS m WHERE m.s BETWEEN 3 AND 1000 AND m.kind = 'page' ORDER BY m.id;

INSERT INTO revisits (page_id, run_id, due_at, revisit_interval)
SELECT m.id, 1, CASE WHEN m.o % 20 = 3 THEN now() - interval '1 minute' WHEN m.o % 3 > 0 THEN now() + interval '1 day' END, interval '1 day'
FROM made AS m WHERE m.outcome = 'success' AND m.kind IN ('page', 'image') AND m.s % 5 = 0 ORDER BY m.id;

-- Every sixteenth page is an image, on the page before it and on the front page; of those that
-- were fetched some have the same bytes.
INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height, phash, dhash, low_detail, stored_at, thumbnail_at)
SELECT DISTINCT ON (h.hash)
    h.hash, 10000, 'png', 640, 480, hashint8extended(m.id / 64, 1), hashint8extended(m.id / 64, 2), m.id % 50 = 15, m.at, m.at
FROM made AS m CROSS JOIN LATERAL (SELECT encode(sha256(convert_to('i' || m.id / 32, 'UTF8')), 'hex') AS hash) AS h
WHERE m.kind = 'image' AND m.asked ORDER BY h.hash
ON CONFLICT DO NOTHING;
INSERT INTO images (id, page_id, url, domain, sha256_hash, width, height, format, phash, dhash, download_success, problem)
SELECT
    md5('image' || m.id)::uuid, m.id, m.url, m.domain, c.sha256_hash, c.width, c.height, c.format, c.phash, c.dhash,
    CASE WHEN m.asked THEN m.o % 5 > 0 END, CASE WHEN m.asked AND m.o % 5 = 0 THEN 'not answered' END
FROM made AS m LEFT JOIN image_contents AS c
ON c.sha256_hash = encode(sha256(convert_to('i' || m.id / 32, 'UTF8')), 'hex') AND m.asked AND m.o % 5 > 0
WHERE m.kind = 'image';
INSERT INTO provenance (id, image_id, page_id, source_page_url, source_domain, discovery_type, alt)
SELECT md5('provenance' || m.id || p.o)::uuid, md5('image' || m.id)::uuid, pg_temp.page_id(m.s, p.o), m.origin || '/', m.domain, 'img', 'words'
FROM made AS m CROSS JOIN LATERAL (VALUES (1), (m.o - 1)) AS p (o) WHERE m.kind = 'image';

-- What is stored of sites.

CREATE TEMPORARY TABLE sites ON COMMIT DROP AS
SELECT
    s, pg_temp.site(s) AS domain, 'https://' || pg_temp.site(s) AS origin, pg_temp.claimed(s) AS claimed,
    CASE WHEN s % 50 = 7 THEN 'hosting.example' END AS registered,
    CASE WHEN s % 503 = 9 THEN 'listed' WHEN s % 401 = 5 THEN 'paused' WHEN s > 2 AND s % 211 = 0 THEN 'deferred'
        WHEN s % 300 = 13 THEN 'window' WHEN s % 4 = 3 THEN 'budget' WHEN s % 4 = 1 THEN 'scheduled' ELSE '' END AS waits
FROM generate_series(current_setting('plans.sites_from')::bigint, current_setting('plans.sites_upto')::bigint - 1) AS s;
ANALYZE sites;

INSERT INTO domains (
    domain, status, status_reason, priority_score, priority_computed_at, next_crawl_after, opens_at, claimed_by, claim_expires_at,
    last_crawl_run_id, refused_ip, refused_since, source, seed_rank, pages_crawled, pages_discovered, error_rate, yield_rate,
    avg_response_ms, last_crawled_at, counted_at, owner, owner_since, recrawl
)
SELECT
    x.domain,
    (CASE WHEN x.claimed THEN 'active' WHEN x.s > 2 AND x.s % 211 = 0 THEN 'unreachable' WHEN x.s > 2 AND x.s % 311 = 0 THEN 'blocked'
        WHEN x.s % 89 = 4 THEN 'exhausted' WHEN x.s % 1000 = 98 THEN 'active' ELSE 'pending' END)::domain_status,
    '', x.s % 100 / 100.0, now(),
    CASE WHEN x.s > 2 AND NOT x.claimed AND (x.s % 211 = 0 OR x.s % 311 = 0 OR x.s % 500 = 11) THEN now() + interval '1 hour' END,
    CASE WHEN x.s % 300 = 13 THEN now() + interval '2 hours' END,
    CASE WHEN x.claimed THEN 'domain/' || x.domain END,
    CASE WHEN x.claimed THEN now() + CASE WHEN x.s % 1000 = 901 THEN - interval '1 minute' ELSE interval '1 day' END END,
    1, CASE WHEN x.s % 500 = 11 THEN '10.0.0.1'::inet END, CASE WHEN x.s % 500 = 11 THEN now() END,
    CASE WHEN x.s % 2 = 0 THEN 'list' END, CASE WHEN x.s % 2 = 0 THEN x.s + 1 END, 20, 32, 0.1, 0.8, 100, now(), now(),
    '{"seen_at": "2026-01-01T00:00:00Z"}', CASE WHEN x.s % 200 = 7 THEN now() - interval '1 day' END,
    CASE WHEN x.s % 3 = 0 THEN '{}'::jsonb END
FROM sites AS x ORDER BY x.s;

INSERT INTO run_domains (
    run_id, domain, registered, seed, next_due_at, images_due_at, wait_reason, pages_started, requests, success, failed, timeout, blocked_4xx, skipped, skips,
    nofollow, bytes, images_found, images_started, images_stored, priority, yield_count, requests_at_claim
)
SELECT
    r.id, x.domain, x.registered, x.s % 2 = 0,
    CASE WHEN r.id <> 2 AND NOT x.claimed THEN CASE x.waits WHEN '' THEN now() - interval '1 minute' WHEN 'budget' THEN 'infinity'
        WHEN 'paused' THEN 'infinity' WHEN 'listed' THEN 'infinity' ELSE now() + interval '1 hour' END END,
    CASE WHEN r.id = 3 AND NOT x.claimed AND x.waits = '' THEN now() - interval '1 minute' END,
    CASE WHEN r.id <> 2 AND NOT x.claimed THEN x.waits ELSE '' END, 20, 20, 17, 1, 1, 1,
    CASE WHEN x.s % 7 = 0 THEN 1 ELSE 0 END, CASE WHEN x.s % 7 = 0 THEN '{"excluded": 1}'::jsonb ELSE '{}' END,
    CASE WHEN x.s % 900 = 0 THEN 20 ELSE 0 END, 400000, 2, 1, 1, x.s % 100 / 100.0, x.s % 3, 10
FROM sites AS x INNER JOIN crawl_runs AS r ON r.id <> 3 OR x.s BETWEEN 3 AND 302 ORDER BY r.id, x.s;

INSERT INTO registered_domains (domain, registered) SELECT x.domain, x.registered FROM sites AS x WHERE x.registered IS NOT NULL;
INSERT INTO run_registered_domains (run_id, registered, pages_started)
SELECT 3, 'registered-' || x.s || '.example', 5 FROM sites AS x WHERE x.s % 20 = 0;

-- minutes of four days, and what was recorded since the last minute
INSERT INTO run_outcomes (ended_at, run_id, outcome, attempts)
SELECT m.at, r.id, o.outcome, 10
FROM generate_series(date_trunc('hour', now()) - interval '4 days', now(), interval '1 minute') AS m (at)
CROSS JOIN crawl_runs AS r CROSS JOIN (VALUES ('success'::crawl_outcome), ('failed')) AS o (outcome) ON CONFLICT DO NOTHING;
INSERT INTO run_outcomes_new (ended_at, run_id, outcome, attempts)
SELECT date_trunc('minute', now()), 1, 'success', 1 FROM generate_series(1, 2000);

INSERT INTO url_patterns (domain, pattern, seen, duplicates, copies, run_id, shared_text, fingerprints)
SELECT x.domain, p.pattern, 20, 3, 1, 1, convert_to(repeat('s', 40), 'UTF8'), convert_to(repeat('f', 40), 'UTF8')
FROM sites AS x CROSS JOIN LATERAL (
    SELECT '/section-N/page-N' AS pattern UNION ALL SELECT '/section-' || i || '/page-N' FROM generate_series(0, 6) AS i
    UNION ALL SELECT '/other/' || i || '/N' FROM generate_series(1, CASE WHEN x.s = 0 THEN 5000 ELSE 1 END) AS i
) AS p;

INSERT INTO robots_contents (hash, content) SELECT sha256(c), c FROM generate_series(0, 49) AS i, LATERAL unnest(ARRAY[convert_to('rules ' || i, 'UTF8'), convert_to('body ' || i, 'UTF8')]) AS c ON CONFLICT DO NOTHING;
INSERT INTO robots (
    origin, domain, verdict, agent, rules_hash, body_hash, crawl_delay_ms, visit_times, sitemaps, status_code, failures, unanswered_count, failing_since, read_at, version,
    fetched_at, expires_at, missing
)
SELECT
    o.origin, x.domain, (CASE WHEN x.s % 97 = 2 THEN 'unreachable' ELSE 'rules' END)::robots_verdict, 'mosey',
    sha256(convert_to('rules ' || x.s % 50, 'UTF8')), sha256(convert_to('body ' || x.s % 50, 'UTF8')), CASE WHEN x.s % 10 = 0 THEN 2000 END,
    CASE WHEN x.s % 20 = 0 THEN 'Mon-Sun 06:00-08:45 UTC' END,
    ARRAY[x.origin || '/sitemap.xml'], 200, CASE WHEN x.s % 97 = 2 THEN 3 ELSE 0 END, CASE WHEN x.s % 97 = 2 THEN 3 ELSE 0 END,
    CASE WHEN x.s % 97 = 2 THEN now() END, CASE WHEN x.s % 97 <> 2 OR o.origin LIKE 'http:%' THEN now() END, 2, now(), now() + interval '1 day',
    CASE WHEN x.s % 30 = 0 THEN '{"at": "2026-01-01T00:00:00Z", "text": "1"}'::jsonb END
FROM sites AS x CROSS JOIN LATERAL (SELECT x.origin UNION ALL SELECT 'http://' || x.domain WHERE x.s % 97 IN (2, 3)) AS o (origin);
INSERT INTO robots_history (origin, version, verdict, agent, rules_hash, body_hash, fetched_at)
SELECT r.origin, v, r.verdict, r.agent, r.rules_hash, r.body_hash, r.fetched_at
FROM sites AS x INNER JOIN robots AS r ON r.domain = x.domain CROSS JOIN LATERAL generate_series(1, CASE WHEN x.s < 3 THEN 8 ELSE 2 END) AS v;

INSERT INTO politeness_slots (key, free_at, holder, reason, ended_at, strictest_delay_ms, strictest_delay_until)
SELECT
    'domain:' || x.domain, CASE WHEN x.claimed AND x.s % 1000 <> 901 THEN now() + interval '1 hour' ELSE now() - interval '1 hour' END,
    CASE WHEN x.claimed THEN 'crawl:' || 2 * pg_temp.page_id(x.s, pg_temp.asked(x.s)) END, '', NULL::timestamptz, NULL::bigint, NULL::timestamptz
FROM sites AS x
UNION ALL
SELECT 'ip:' || host('198.18.0.0'::inet + x.s / 10), now() - interval '1 hour', NULL, '', now() - interval '1 hour', 100, now()
FROM sites AS x WHERE x.s % 10 = 0;
INSERT INTO domain_health (domain, health)
SELECT x.domain, jsonb_build_object('baseline_latency', '1ms', 'samples', '[]'::jsonb, 'probing', x.s % 50 = 1) FROM sites AS x;
INSERT INTO domain_controls (domain, kind, value, reason, set_by, until, lifted_at, lifted_by, decision)
SELECT x.domain, c.kind, c.value, '', 'test', NULL, c.lifted_at, CASE WHEN c.lifted_at IS NOT NULL THEN 'test' END, c.kind || c.n
FROM sites AS x CROSS JOIN LATERAL (
    SELECT 'pause' AS kind, NULL::jsonb AS value, NULL::timestamptz AS lifted_at, 0 AS n WHERE x.s % 401 = 5
    UNION ALL SELECT 'stop', NULL, NULL, 0 WHERE x.s > 2 AND x.s % 311 = 0
    UNION ALL SELECT 'budget', '1000', NULL, 0 WHERE x.s % 601 = 3
    UNION ALL SELECT 'delay', '2000', now(), i FROM generate_series(1, 5) AS i WHERE x.s % 20 = 0
) AS c;
INSERT INTO domain_ranks (domain, inlinks, score) SELECT x.domain, x.s % 50, x.s % 50 / 50.0 FROM sites AS x WHERE x.s % 10 <> 4;
INSERT INTO list_entries (list, entry, kind, network, set_by)
SELECT 'block', x.domain, 'host', NULL::cidr, 'test' FROM sites AS x WHERE x.waits = 'listed'
UNION ALL SELECT 'block', 'bad-' || x.s || '.example', 'domain', NULL, 'test' FROM sites AS x WHERE x.s % 4 = 0
UNION ALL SELECT 'block', n::text, 'network', n, 'test' FROM sites AS x CROSS JOIN LATERAL (SELECT network(set_masklen('172.16.0.0'::inet + x.s * 16, 28))::cidr) AS c (n)
WHERE x.s % 100 = 0;

INSERT INTO staged_seeds (run_id, url) SELECT 1 + x.s % 3, 'https://new-' || x.s || '.example/' FROM sites AS x WHERE x.s % 2 = 0;
INSERT INTO seed_files (run_id, file, version, entries) SELECT 1, 'list-' || x.s, '1', 100 FROM sites AS x WHERE x.s % 50 = 0;
INSERT INTO run_changes (run_id, kind, set_by, decision) SELECT 1 + x.s % 3, 'set', 'test', 'd' || x.s FROM sites AS x WHERE x.s % 10 = 0;
INSERT INTO outages (worker, began_at, ended_at, reason)
SELECT 'worker-' || x.s % 7, now() - x.s * interval '1 minute', CASE WHEN x.s > 5 THEN now() END, 'test' FROM sites AS x WHERE x.s % 10 < 6;
