-- The rows of a crawl that is over: each host has robots.txt and as many fetched pages,
-- with about 11 links a page, stored in the order of a crawl that takes the hosts in
-- turn. Robots.txt has expired, and nothing links to these pages, so that a crawl of the
-- same hosts makes the same requests as without them.
--
-- Settings: stored.hosts (names, with blanks between), stored.port, stored.each (pages
-- of a host) and stored.settings (of the run). The database must be new, and triggers
-- off, which keys are checked by.

CREATE TEMPORARY TABLE host AS
SELECT
    x.n,
    x.domain,
    format('http://%s:%s', x.domain, current_setting('stored.port')) AS origin,
    count(*) OVER () AS hosts,
    current_setting('stored.each')::bigint AS pages,
    now() - interval '2 days' AS at
FROM string_to_table(current_setting('stored.hosts'), ' ') WITH ORDINALITY AS x (domain, n);

INSERT INTO crawl_runs (name, status, settings, finished_at)
VALUES ('stored', 'done', current_setting('stored.settings')::jsonb, now() - interval '2 days');

INSERT INTO domains (domain, status, last_crawl_run_id)
SELECT h.domain, 'exhausted', r.id FROM host AS h CROSS JOIN crawl_runs AS r;

INSERT INTO run_domains (run_id, domain, seed, pages_started, requests, success, bytes)
SELECT r.id, h.domain, true, h.pages, h.pages, h.pages, 6400 * h.pages
FROM host AS h CROSS JOIN crawl_runs AS r;

-- Page 0 of a host is its robots.txt.
INSERT INTO pages (
    id, url, domain, origin, kind, status, signals, patterns, content_hash, simhash, fetched_at, created_at
)
OVERRIDING SYSTEM VALUE
SELECT
    i * h.hosts + h.n, h.origin || '/robots.txt', h.domain, h.origin, 'robots', 'discovered'::page_status, NULL, NULL::text [], NULL, NULL,
    NULL, h.at
FROM host AS h CROSS JOIN generate_series(0, 0) AS i
UNION ALL
SELECT
    i * h.hosts + h.n, h.origin || '/old/' || i, h.domain, h.origin, 'page', 'fetched',
    jsonb_build_object('title', h.domain || ' /old/' || i), '{/old/N}'::text [], decode(md5(h.domain || i), 'hex'),
    hashint8extended(i * h.hosts + h.n, 0), h.at, h.at
FROM host AS h CROSS JOIN generate_series(1, current_setting('stored.each')::bigint) AS i
ORDER BY 1;

INSERT INTO page_crawls (
    id, page_id, domain, run_id, url, kind, prerequisite, retry_priority, depth, scheduled_for, completed_at, outcome,
    status_code, duration_ms, bytes, content_type, ip, robots_version, delay_ms, delay_reason, created_at
)
OVERRIDING SYSTEM VALUE
SELECT
    p.id, p.id, p.domain, r.id, p.url, p.kind, p.kind = 'robots', CASE WHEN p.kind <> 'robots' THEN -9995 END, 5, p.created_at, p.created_at,
    'success', 200, 1, 6400, 'text/html; charset=utf-8', '127.64.0.1', 1, 1000, 'delay', p.created_at
FROM pages AS p CROSS JOIN crawl_runs AS r ORDER BY p.id;

-- Links to the four pages below, and to seven others.
INSERT INTO page_links (from_page_id, to_page_id)
SELECT
    i * h.hosts + h.n,
    CASE WHEN k <= 4 AND 4 * (i - 1) + k + 1 <= h.pages THEN 4 * (i - 1) + k + 1
        ELSE 1 + (i * 7919 + k * 104729) % h.pages END * h.hosts + h.n
FROM generate_series(1, current_setting('stored.each')::bigint) AS i
CROSS JOIN host AS h CROSS JOIN generate_series(1, 11) AS k
ON CONFLICT DO NOTHING;

INSERT INTO url_patterns (domain, pattern, seen, run_id, shared_text, fingerprints)
SELECT h.domain, '/old/N', h.pages, r.id, convert_to(repeat('s', 400), 'UTF8'), convert_to(repeat('f', 800), 'UTF8')
FROM host AS h CROSS JOIN crawl_runs AS r;

INSERT INTO robots_contents (hash, content) VALUES (sha256(''), '');
INSERT INTO robots (
    origin, domain, verdict, agent, rules_hash, body_hash, status_code, read_at, version, fetched_at, expires_at
)
SELECT h.origin, h.domain, 'rules', 'mosey', sha256(''), sha256(''), 200, h.at, 1, h.at, now() - interval '1 day'
FROM host AS h;
INSERT INTO robots_history (origin, version, verdict, agent, rules_hash, body_hash, fetched_at)
SELECT r.origin, r.version, r.verdict, r.agent, r.rules_hash, r.body_hash, r.fetched_at FROM robots AS r;

INSERT INTO politeness_slots (key, free_at, reason)
SELECT 'domain:' || h.domain, h.at, 'delay' FROM host AS h;
INSERT INTO domain_health (domain, health) SELECT h.domain, '{"baseline_latency": "1ms", "samples": []}' FROM host AS h;

SELECT
    setval(pg_get_serial_sequence('pages', 'id'), (SELECT max(id) FROM pages)),
    setval(pg_get_serial_sequence('page_crawls', 'id'), (SELECT max(id) FROM page_crawls));
