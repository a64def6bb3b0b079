-- name: DomainsClaim :one
SELECT domains_claim(@run_id::bigint, @max::integer, ms_interval(@claim_ms::bigint))::text [] AS domains;

-- Stores whether due domains of a run wait for active ones (at_capacity), which then yield.
-- name: RunSetHasWaitingDomains :exec
UPDATE crawl_runs AS r SET has_waiting_domains = NOT r.has_waiting_domains
WHERE r.id = @run_id::bigint AND r.has_waiting_domains <> (@at_capacity::boolean AND run_due_count(@run_id::bigint, 1) > 0);

-- name: DomainsPrioritize :exec
SELECT domains_prioritize(ARRAY(SELECT d.domain FROM domains AS d WHERE d.id > @after::bigint AND d.id <= @up_to_id::bigint));

-- name: DomainsMaxID :one
SELECT coalesce(max(id), 0)::bigint AS last FROM domains;

-- Extends a claim over a wait.
-- name: DomainClaimRenew :exec
UPDATE domains SET claim_expires_at = now() + ms_interval(@claim_ms)
WHERE domain = @domain AND claimed_by IS NOT NULL;

-- Waits for transactions that add crawls (attempts_add).
-- name: DomainLock :one
SELECT domain FROM domains WHERE domain = @domain FOR UPDATE;

-- Releases the claim on a domain, whose row the caller has locked before it read the facts. The
-- domain is deferred until deferred, and its windows are closed until window_opens_at; null means
-- neither. In the runs in yielding_run_ids it yields to others. Each time counts once.
-- name: DomainFinish :exec
WITH given_back AS (
    UPDATE domains AS d SET
        claimed_by = NULL, claim_expires_at = NULL, opens_at = sqlc.narg('window_opens_at')::timestamptz,
        status = CASE
            WHEN d.status NOT IN ('pending', 'active') THEN d.status
            WHEN EXISTS (SELECT 1 FROM page_crawls AS c WHERE c.domain = d.domain AND c.outcome IS NULL)
                THEN 'pending'
            WHEN d.status = 'active' THEN 'exhausted'
            ELSE d.status
        END,
        status_reason = CASE WHEN d.status IN ('pending', 'active') THEN @reason::text ELSE d.status_reason END,
        -- an abandoned domain keeps its time
        next_crawl_after = CASE
            WHEN is_abandoned(d.status) THEN d.next_crawl_after
            ELSE sqlc.narg('deferred')::timestamptz
        END
    WHERE d.domain = @domain::text
    RETURNING d.domain
), yielded AS (
    UPDATE run_domains AS rd SET yield_count = rd.yield_count + 1, requests_at_claim = NULL
    WHERE rd.domain = @domain::text AND rd.run_id = ANY(@yielding_run_ids::bigint []) AND rd.requests_at_claim IS NOT NULL
    RETURNING rd.domain
)
SELECT due_update(ARRAY(SELECT g.domain FROM given_back AS g UNION SELECT y.domain FROM yielded AS y));

-- Defers a domain if this process may not request its addresses, because their network was not
-- allowed. Nothing of the domain is closed, and its robots.txt stays.
-- name: DomainDeferRefused :exec
WITH refused AS (
    UPDATE domains AS d SET
        next_crawl_after = now() + ms_interval(@wait_ms::bigint), status_reason = @reason::text,
        refused_ip = @ip::inet, refused_since = coalesce(domain_refused_since(d.domain, d.refused_since), now())
    WHERE d.domain = @domain::text AND d.status IN ('pending', 'active')
    RETURNING d.domain
)
SELECT due_update(ARRAY(SELECT r.domain FROM refused AS r));

-- Lifts the deferral of domains whose refused address is allowed now, and returns their number.
-- name: DomainsLiftRefusal :one
WITH lifted AS (
    UPDATE domains AS d SET
        refused_ip = NULL, refused_since = NULL,
        status_reason = CASE WHEN d.status IN ('pending', 'active') THEN '' ELSE d.status_reason END
    FROM (
        SELECT x.id FROM domains AS x
        WHERE x.refused_ip IS NOT NULL AND x.refused_ip <<= ANY(ARRAY(SELECT n::inet FROM unnest(@networks::text []) AS n))
        ORDER BY x.domain FOR UPDATE
    ) AS o
    WHERE d.id = o.id
    RETURNING d.domain
)
SELECT x.lifted FROM (
    SELECT count(*)::integer AS lifted, domains_wake(coalesce(array_agg(l.domain), '{}')) FROM lifted AS l
) AS x;

-- Lists the running runs with pending attempts of a domain.
-- name: DomainRuns :many
SELECT r.name FROM run_domains AS rd INNER JOIN crawl_runs AS r ON rd.run_id = r.id
WHERE rd.domain = @domain AND r.status = 'running' ORDER BY r.id LIMIT @max;

-- name: DomainAdd :exec
INSERT INTO domains (domain) VALUES (@domain) ON CONFLICT (domain) DO NOTHING;

-- name: DomainBlock :exec
UPDATE domains SET status = 'blocked', status_reason = @reason, next_crawl_after = NULL WHERE domain = @domain;

-- name: ControlDecisionExists :one
SELECT EXISTS (SELECT 1 FROM domain_controls WHERE domain = @domain AND decision = @decision::text);

-- name: ControlAdd :exec
INSERT INTO domain_controls (domain, kind, value, reason, set_by, until, decision)
VALUES (@domain, @kind, @value, @reason, @set_by, @until, nullif(@decision::text, ''));

-- name: ControlsLift :execrows
UPDATE domain_controls SET lifted_at = now(), lifted_by = @by::text
WHERE domain = @domain AND kind = ANY(@kinds::text []) AND lifted_at IS NULL;

-- name: FailuresClear :one
SELECT cardinality(failures_clear(@domains::text []))::bigint AS lifted;

-- name: DomainsWake :exec
SELECT domains_wake(@domains::text []);

-- name: DueUpdate :exec
SELECT due_update(@domains::text []);

-- name: DomainGet :one
SELECT
    sqlc.embed(d), (domain_state(ARRAY[d.domain]))[1]::jsonb AS state,
    coalesce((SELECT r.name FROM crawl_runs AS r WHERE r.id = d.last_crawl_run_id), '')::text AS last_run
FROM domains AS d WHERE d.domain = @domain;

-- Returns the part of each term in the priority of a domain.
-- name: DomainPriority :many
SELECT u.part::text AS part, domain_current_priority(d, now(), u.part)::real AS adds
FROM domains AS d CROSS JOIN unnest(ARRAY['rank', 'inlinks', 'yield', 'images', 'remaining', 'staleness', 'errors']) AS u (part)
WHERE d.domain = @domain;

-- name: DomainTotals :many
SELECT
    r.id, r.name AS run, r.status AS run_status, r.settings, rd.seed, rd.pages_started, rd.requests, rd.skips, rd.nofollow, rd.success, rd.failed, rd.skipped,
    rd.timeout, rd.blocked_robots, rd.blocked_4xx, rd.blocked_5xx, rd.bytes, r.pages_started AS run_started,
    rd.images_found, rd.images_started, rd.images_stored,
    (forbidden_by_budget(rd, r.settings, domain_budget(rd.domain), r) <> '')::boolean AS spent,
    coalesce(pages_budget(r.settings, domain_budget(rd.domain)), -1)::bigint AS budget
FROM run_domains AS rd INNER JOIN crawl_runs AS r ON rd.run_id = r.id
WHERE rd.domain = @domain ORDER BY r.id;

-- name: DomainOpen :one
SELECT
    count(*)::bigint AS open,
    coalesce(min(o.scheduled_for), 'epoch')::timestamptz AS next_due
FROM (
    SELECT c.scheduled_for FROM page_crawls AS c
    WHERE c.domain = @domain AND c.outcome IS NULL LIMIT @bound
) AS o;

-- Lists patterns of a domain with duplicates, as its latest run counts them.
-- name: DomainPatterns :many
SELECT
    u.pattern, pattern_count(u.seen, u.run_id, r.latest)::integer AS seen,
    pattern_count(u.duplicates, u.run_id, r.latest)::integer AS duplicates,
    pattern_count(u.copies, u.run_id, r.latest)::integer AS copies
FROM url_patterns AS u CROSS JOIN (SELECT max(rd.run_id) AS latest FROM run_domains AS rd WHERE rd.domain = @domain) AS r
WHERE u.domain = @domain AND u.duplicates + u.copies > 0 ORDER BY u.duplicates + u.copies DESC, u.pattern LIMIT @max;

-- Clears the counts of the patterns of a domain, and makes runs decide again about stopped pages.
-- name: DomainResetPatterns :exec
WITH forgotten AS (
    UPDATE url_patterns SET
        seen = 0, duplicates = 0, copies = 0, shared_text = NULL, fingerprints = NULL, updated_at = clock_timestamp()
    WHERE domain = @domain::text
), freed AS (
    UPDATE pages SET
        duplicate = false, trap = nullif(trap, 'pattern'),
        trap_evidence = CASE WHEN trap <> 'pattern' THEN trap_evidence END, updated_at = clock_timestamp()
    WHERE domain = @domain::text AND (duplicate OR trap = 'pattern')
)
SELECT domains_wake(attempts_requeue(ARRAY[@domain::text], ARRAY(
    SELECT c.id FROM page_crawls AS c
    WHERE
        c.domain = @domain::text AND c.outcome = 'skipped' AND c.skipped = ANY (reasons('traps reset'))
        AND (SELECT r.status FROM crawl_runs AS r WHERE r.id = c.run_id) = 'running'
)));

-- Lists domains for mosey domains, with the totals of the last count, and the pages and the last
-- request until now.
-- name: DomainList :many
SELECT
    sqlc.embed(d),
    (SELECT coalesce(sum(x.success), 0)::bigint FROM run_domains AS x WHERE x.domain = d.domain) AS crawled,
    (
        SELECT c.completed_at FROM page_crawls AS c
        WHERE c.domain = d.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL
        ORDER BY c.completed_at DESC LIMIT 1
    ) AS last
FROM domains AS d
WHERE
    (sqlc.narg('status')::text IS NULL OR d.status::text = sqlc.narg('status')::text OR d.placeholder = sqlc.narg('status')::text)
    AND (sqlc.narg('source')::text IS NULL OR d.source = sqlc.narg('source')::text)
    AND (@errors::real = 0 OR d.error_rate >= @errors::real)
    AND (@rank::integer = 0 OR d.seed_rank <= @rank::integer)
    AND (NOT @due::boolean OR EXISTS (
        SELECT 1 FROM run_domains AS rd INNER JOIN crawl_runs AS r ON rd.run_id = r.id
        WHERE rd.domain = d.domain AND rd.next_due_at <= now() AND r.status = 'running'
    ))
    AND (@waits::text = '' OR d.claimed_by IS NOT NULL AND EXISTS (
        SELECT 1 FROM politeness_slots AS s
        WHERE s.key = 'domain:' || d.domain AND slot_wait_reason(s.holder, s.free_at, s.reason) = @waits::text
    ))
    AND (sqlc.narg('language')::text IS NULL OR EXISTS (
        SELECT 1 FROM pages AS p WHERE p.language = sqlc.narg('language')::text AND p.domain = d.domain
    ))
ORDER BY
    CASE @sort::text
        WHEN 'priority' THEN -d.priority_score
        WHEN 'rank' THEN d.seed_rank
        WHEN 'pages' THEN -d.pages_crawled
        WHEN 'found' THEN -d.pages_discovered
        WHEN 'bytes' THEN -d.bytes
        WHEN 'errors' THEN -d.error_rate
        WHEN 'slow' THEN -d.avg_response_ms
        WHEN 'last' THEN -extract(EPOCH FROM d.last_crawled_at)::double precision -- then like all others
    END NULLS LAST, d.domain
LIMIT @max;

-- Counts the pages and attempts of domains over all runs, and computes their priorities. It counts
-- at most a million pages of a domain, and at most 100,000 rows about images.
-- name: DomainsCount :exec
WITH counted AS (
    UPDATE domains AS d SET
        pages_crawled = r.crawled, bytes = r.bytes, pages_discovered = p.found, error_rate = h.errors,
        yield_rate = h.yields, images_found = i.found, images_stored = i.stored,
        avg_response_ms = h.took, avg_page_bytes = h.bytes, placeholder = h.placeholder, last_crawled_at = h.last,
        first_crawled_at = coalesce(d.first_crawled_at, CASE WHEN h.last IS NOT NULL THEN (
            SELECT c.completed_at FROM page_crawls AS c
            WHERE c.domain = d.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL ORDER BY c.completed_at LIMIT 1
        ) END),
        counted_at = clock_timestamp()
    FROM unnest(@domains::text []) AS k (domain) CROSS JOIN LATERAL (
        SELECT coalesce(sum(x.success), 0)::bigint AS crawled, coalesce(sum(x.bytes), 0)::bigint AS bytes
        FROM run_domains AS x WHERE x.domain = k.domain
    ) AS r CROSS JOIN LATERAL (
        -- by indexes alone, because the domain may be locked: a domain may have many images
        SELECT least(greatest((
            SELECT count(*) FROM (SELECT 1 FROM pages AS x WHERE x.domain = k.domain LIMIT 2000000) AS y
        ) - (
            SELECT count(*) FROM (SELECT 1 FROM images AS x WHERE x.domain = k.domain LIMIT 2000000) AS y
        ), 0), 1000000) AS found
    ) AS p CROSS JOIN LATERAL (
        SELECT count(*) AS found, count(*) FILTER (WHERE y.stored) AS stored FROM (
            SELECT DISTINCT x.image_id, EXISTS (
                SELECT 1 FROM images AS s WHERE s.id = x.image_id AND s.sha256_hash IS NOT NULL
            ) AS stored
            FROM (SELECT z.image_id FROM provenance AS z WHERE z.source_domain = k.domain LIMIT 100000) AS x
        ) AS y
    ) AS i CROSS JOIN LATERAL (
        SELECT
            -- a missing robots.txt or guessed sitemap, and a failed attempt by https, are not
            -- errors of a domain
            (avg((x.outcome IN ('failed', 'timeout', 'blocked_4xx', 'blocked_5xx'))::integer)
                FILTER (WHERE NOT x.prerequisite AND x.kind <> ALL (kinds('announces'))))::real AS errors,
            avg((x.outcome = 'success' AND x.unchanged_reason IS NULL AND x.skipped IS NULL AND NOT x.refused)::integer)::real AS yields,
            avg(x.duration_ms)::integer AS took, avg(x.bytes)::integer AS bytes, max(x.completed_at) AS last,
            CASE WHEN bool_and(coalesce(x.skipped = ANY(@placeholders::text []), false)) FILTER (WHERE x.was_read)
                THEN max(x.skipped) FILTER (WHERE x.was_read)
                WHEN EXISTS (SELECT 1 FROM robots AS b WHERE b.domain = k.domain AND b.missing ? 'text') THEN @soft_not_found::text END AS placeholder
        FROM (
            SELECT c.outcome, c.unchanged_reason, c.duration_ms, c.bytes, c.completed_at, c.prerequisite, c.kind,
                c.kind = ANY (kinds('image')) AND c.error_message IS NOT NULL AS refused, c.skipped,
                c.kind = ANY (kinds('document')) AND c.outcome = 'success' AND c.unchanged_reason IS NULL AND c.status_code < 300 AS was_read
            FROM page_crawls AS c
            WHERE c.domain = k.domain AND c.outcome IS NOT NULL AND c.delay_ms IS NOT NULL
            ORDER BY c.completed_at DESC LIMIT 100
        ) AS x
    ) AS h
    WHERE d.domain = ANY(@domains::text []) AND d.domain = k.domain
    RETURNING d.domain
)
SELECT domains_prioritize(ARRAY(SELECT c.domain FROM counted AS c));

-- Ends the claims on the given domains, and returns the claimed ones. A workflow that still runs
-- continues to serve its domain, because each domain has only one workflow.
-- name: DomainsRelease :one
WITH stale AS (
    SELECT d.id FROM domains AS d
    WHERE d.claimed_by IS NOT NULL AND d.domain = ANY(@domains::text []) ORDER BY d.domain || '' FOR UPDATE -- see finishes_await
), released AS (
    UPDATE domains AS d SET
        claimed_by = NULL, claim_expires_at = NULL, status = CASE WHEN d.status = 'active' THEN 'pending' ELSE d.status END
    FROM stale AS s WHERE d.id = s.id RETURNING d.domain
)
SELECT x.released FROM (
    SELECT coalesce(array_agg(r.domain ORDER BY r.domain), '{}')::text [] AS released, due_update(array_agg(r.domain)) FROM released AS r
) AS x;

-- name: DomainsAfter :many
SELECT id, domain FROM domains WHERE id > @after::bigint ORDER BY id LIMIT @max;

-- Stores the registered domain of each domain; a registered domain is its own.
-- name: DomainsSetRegistered :exec
WITH given AS (
    SELECT u.domain, nullif(u.registered, u.domain) AS registered
    FROM (SELECT unnest(@domains::text []) AS domain, unnest(@registered::text []) AS registered) AS u
),

dropped AS (
    DELETE FROM registered_domains AS g USING given AS u WHERE g.domain = u.domain AND u.registered IS NULL
),

grouped AS (
    INSERT INTO registered_domains AS g (domain, registered)
    SELECT u.domain, u.registered FROM given AS u WHERE u.registered IS NOT NULL ORDER BY u.domain
    ON CONFLICT (domain) DO UPDATE SET registered = excluded.registered WHERE g.registered <> excluded.registered
)

UPDATE run_domains AS rd SET registered = u.registered
FROM given AS u
WHERE rd.domain = u.domain AND rd.registered IS DISTINCT FROM u.registered;
