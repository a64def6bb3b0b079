-- Creates a run, or changes the given settings of an existing one. When max_pages is first set,
-- its count starts from the requests so far.
-- name: RunUpsert :one
INSERT INTO crawl_runs AS r (name, settings, bytes)
VALUES (@name, @settings, CASE WHEN (@settings::jsonb ->> 'max_bytes')::bigint >= 0 THEN 0 END)
ON CONFLICT (name) DO UPDATE SET
    settings = r.settings || @changes::jsonb,
    pages_started = CASE WHEN coalesce((r.settings ->> 'max_pages')::bigint, -1) >= 0 THEN r.pages_started ELSE (
        SELECT coalesce(sum(rd.pages_started), 0) FROM run_domains AS rd WHERE rd.run_id = r.id
    ) END,
    bytes = CASE WHEN (r.settings || @changes::jsonb ->> 'max_bytes')::bigint >= 0 THEN coalesce(r.bytes, (
        SELECT coalesce(sum(rd.bytes), 0) FROM run_domains AS rd WHERE rd.run_id = r.id
    )) END,
    opens_at = NULL,
    revisits_after_page_id = CASE
        WHEN r.settings || @changes::jsonb ->> 'when_done' = 'recrawl' AND r.settings ->> 'when_done' IS DISTINCT FROM 'recrawl' THEN 0
        ELSE r.revisits_after_page_id
    END,
    updated_at = now()
RETURNING *;

-- Returns a run that is not over and has another purpose than a run.
-- name: RunOfOtherPurpose :one
SELECT o.name, (o.settings ->> 'purpose')::text AS purpose, (r.settings ->> 'purpose')::text AS own
FROM crawl_runs AS r INNER JOIN crawl_runs AS o ON o.settings ->> 'purpose' <> r.settings ->> 'purpose'
WHERE r.id = @id AND o.status IN ('running', 'paused') ORDER BY o.id LIMIT 1;

-- Returns the settings of a run, locked until they are changed.
-- name: RunSettings :one
SELECT settings FROM crawl_runs WHERE name = @name FOR NO KEY UPDATE;

-- name: RunRegisteredForget :exec
DELETE FROM run_registered_domains WHERE run_id = @id;

-- Makes a run decide again about pages that it skipped because of their URLs.
-- name: RunRequeueSkipped :exec
SELECT due_update(attempts_requeue(d.domains, ARRAY(
    SELECT c.id FROM page_crawls AS c
    WHERE
        c.domain = ANY(d.domains) AND c.run_id = @id::bigint AND c.outcome = 'skipped'
        AND c.skipped = ANY (reasons('settings changed'))
)))
FROM (
    SELECT ARRAY(
        SELECT rd.domain FROM run_domains AS rd
        WHERE rd.run_id = @id::bigint AND (rd.skipped > 0 OR rd.skips <> '{}') ORDER BY rd.domain
    ) AS domains
) AS d;

-- Makes a run read the links of its crawled pages again.
-- name: RunWiden :exec
UPDATE crawl_runs SET widening = '{}' WHERE id = @id;

-- name: RunWidening :one
SELECT widening FROM crawl_runs WHERE id = @id;

-- Stores the progress of RunWiden, unless it has restarted meanwhile. Null means done.
-- name: RunWidened :exec
UPDATE crawl_runs SET widening = sqlc.narg('next')::jsonb WHERE id = @id AND widening = @old::jsonb;

-- Returns pages of a run after one of a domain, and whether the run has read or knows their links.
-- name: RunCrawledPages :many
SELECT rd.domain, c.page_id, c.kind, c.depth, c.redirects, c.known::boolean AS known, (
    SELECT p.usage FROM pages AS p WHERE p.id = c.page_id
) AS usage
FROM run_domains AS rd
CROSS JOIN LATERAL (
    SELECT x.page_id, x.kind, x.depth, x.redirects, EXISTS (
        SELECT 1 FROM page_crawls AS y
        WHERE
            y.page_id = x.page_id AND y.run_id = x.run_id AND NOT y.prerequisite
            AND (y.outcome = 'success' OR y.skipped = ANY (reasons('known')))
    ) AS known
    FROM page_crawls AS x
    WHERE
        x.domain = rd.domain AND x.run_id = rd.run_id AND x.previous_id IS NULL AND NOT x.prerequisite
        AND x.page_id > CASE WHEN rd.domain = @domain::text THEN @page_id::bigint ELSE 0 END
    ORDER BY x.page_id LIMIT @max
) AS c
WHERE rd.run_id = @run_id AND rd.domain >= @domain::text
ORDER BY rd.domain, c.page_id LIMIT @max;

-- Adds the pages that some pages link to to a run, as crawl.KnownLinks allows.
-- name: RunAddLinkedPages :one
SELECT a.added::integer AS added FROM attempts_add(ARRAY(
    SELECT DISTINCT ON (x.id)
        (@run_id::bigint, x.id, x.domain, x.url, crawl_kind(k.key, x.kind), '', k.value, false, 0,
        sitemap_priority(k.key, k.value, row_number() OVER (PARTITION BY f.id, k.key ORDER BY x.id)))::found_page
    FROM jsonb_each(@links::jsonb) AS k
    CROSS JOIN unnest(@pages::bigint []) AS f (id)
    CROSS JOIN LATERAL (
        SELECT y.to_page_id, y.nofollow FROM page_links AS y
        WHERE y.from_page_id = f.id AND y.kind = k.key AND y.gone_at IS NULL OFFSET 0
    ) AS l
    CROSS JOIN LATERAL (
        SELECT y.id, y.domain, y.url, y.kind, y.trap FROM pages AS y WHERE y.id = l.to_page_id LIMIT 1
    ) AS x
    WHERE NOT l.nofollow AND coalesce(x.trap, 'pattern') = 'pattern'
    ORDER BY x.id, k.key
)) AS a;

-- Updates when the next domains of a run are due after a change of budgets. Returns the last one.
-- name: RunDueUpdate :one
SELECT x.last FROM (
    SELECT coalesce(max(d.domain), '')::text AS last, due_update(coalesce(array_agg(d.domain), '{}')) FROM (
        SELECT rd.domain FROM run_domains AS rd WHERE rd.run_id = @run_id::bigint AND rd.domain > @after::text ORDER BY rd.domain LIMIT 10000
    ) AS d
) AS x;

-- Stores that the dispatcher checks now, and when the window of the run opens; null means open.
-- name: RunRecordPoll :exec
UPDATE crawl_runs SET
    last_poll_at = now(), opens_at = sqlc.narg('opens')::timestamptz
WHERE id = @id;

-- name: RunByName :one
SELECT * FROM crawl_runs WHERE name = @name;

-- name: RunList :many
SELECT * FROM crawl_runs ORDER BY id;

-- name: RunStart :exec
SELECT run_start(@id::bigint);

-- name: RunStop :execrows
WITH stopped AS (
    UPDATE crawl_runs SET status = 'stopped', status_reason = @reason, paused_until = NULL, updated_at = now()
    WHERE id = @id AND status IN ('running', 'paused') RETURNING id
)
SELECT run_windows(s.id) FROM stopped AS s;

-- Returns a run, locked until it is changed.
-- name: RunLock :one
SELECT * FROM crawl_runs WHERE name = @name FOR NO KEY UPDATE;

-- name: RunSetStatus :exec
WITH changed AS (
    UPDATE crawl_runs SET
        status = @status, status_reason = @reason, paused_until = sqlc.narg('until')::timestamptz, updated_at = now()
    WHERE id = @id RETURNING id
)
SELECT run_windows(c.id) FROM changed AS c;

-- Recomputes when the windows of the domains of a run open, after a change of its window.
-- name: RunWindows :exec
SELECT run_windows(@id, @old::text);

-- name: RunDecisionExists :one
SELECT EXISTS (SELECT 1 FROM run_changes WHERE run_id = @run_id AND decision = @decision::text);

-- name: RunChangeAdd :exec
INSERT INTO run_changes (run_id, kind, old_value, value, reason, until, set_by, decision)
VALUES (
    @run_id, @kind, sqlc.narg('old_value')::jsonb, sqlc.narg('value')::jsonb, @reason, sqlc.narg('until')::timestamptz,
    @set_by, nullif(@decision::text, '')
);

-- name: RunChanges :many
SELECT kind, old_value, value, reason, until, set_by, set_at FROM run_changes
WHERE run_id = @run_id ORDER BY id DESC LIMIT @max;

-- Counts the requests within a span to the claimed domains of a run, as an estimate for all, and
-- returns the age of the oldest one.
-- name: RunRate :one
SELECT
    count(*)::bigint AS requests,
    coalesce(extract(EPOCH FROM now() - min(x.completed_at)), 0)::double precision AS seconds
FROM domains AS d CROSS JOIN LATERAL (
    SELECT c.completed_at FROM page_crawls AS c
    WHERE
        c.domain = d.domain AND c.outcome IS NOT NULL AND c.completed_at > now() - ms_interval(@span_ms::bigint)
        AND c.run_id = @run_id AND c.delay_ms IS NOT NULL
    OFFSET 0 -- reads the history of each domain instead of all crawls of the run
) AS x
WHERE d.last_crawl_run_id = @run_id AND d.claimed_by IS NOT NULL;

-- Lists the domains of a run with the most failed requests, or with the slowest responses.
-- name: RunWorstDomains :many
SELECT
    rd.domain, rd.requests, (rd.failed + rd.timeout + rd.blocked_4xx + rd.blocked_5xx)::bigint AS failed,
    coalesce(d.avg_response_ms, 0)::integer AS response_ms
FROM run_domains AS rd INNER JOIN domains AS d ON rd.domain = d.domain
WHERE
    rd.run_id = @run_id
    AND CASE WHEN @slowest::boolean THEN d.avg_response_ms > 0 ELSE rd.failed + rd.timeout + rd.blocked_4xx + rd.blocked_5xx > 0 END
ORDER BY
    CASE WHEN @slowest::boolean THEN d.avg_response_ms ELSE rd.failed + rd.timeout + rd.blocked_4xx + rd.blocked_5xx END DESC,
    rd.domain
LIMIT @max;

-- Lists examples of skipped or disallowed pages of a run by reason: one page of each of some
-- domains, from the last 1,000 attempts there.
-- name: RunSkipExamples :many
SELECT u.reason::text AS reason, c.url
FROM unnest(@reasons::text []) AS u (reason)
CROSS JOIN LATERAL (
    SELECT rd.domain FROM run_domains AS rd
    WHERE
        rd.run_id = @run_id
        AND CASE WHEN u.reason = 'blocked_robots' THEN rd.blocked_robots > 0 ELSE jsonb_exists(rd.skips, u.reason) END
    LIMIT @max
) AS d
CROSS JOIN LATERAL (
    SELECT x.url FROM (
        SELECT y.url, y.run_id, y.skipped, y.outcome, y.completed_at FROM page_crawls AS y
        WHERE y.domain = d.domain AND y.outcome IS NOT NULL ORDER BY y.completed_at DESC LIMIT 1000
    ) AS x
    WHERE x.run_id = @run_id AND coalesce(x.skipped, x.outcome::text) = u.reason
    ORDER BY x.completed_at DESC LIMIT 1
) AS c;

-- Lists registered domains with many domains in a run.
-- name: RunSubdomains :many
SELECT registered, count(*)::bigint AS domains FROM run_domains
WHERE run_id = @run_id AND registered IS NOT NULL
GROUP BY registered HAVING count(*) >= @min_domains::bigint ORDER BY domains DESC, registered LIMIT @max;

-- Counts pending pages by domain, the longest queues first. The columns due and total_open count
-- pages within the budgets, and total counts domains. A deferred domain has no due pages. The
-- least time for these pages is min_remaining_ms: the wait of the slowest domain, and its delay for
-- each page.
-- name: Queue :many
WITH pending AS (
    SELECT
        c.run_id, c.domain, count(*)::bigint AS pending, count(*) FILTER (WHERE c.scheduled_for <= now())::bigint AS due,
        count(*) FILTER (WHERE c.kind = ANY (kinds('counted')))::bigint AS counted,
        count(c.locked_at)::bigint AS in_flight, min(c.scheduled_for) AS oldest, max(c.scheduled_for) AS newest,
        coalesce(min(c.scheduled_for) FILTER (WHERE c.scheduled_for > now()), 'infinity') AS next_due
    FROM page_crawls AS c
    WHERE
        c.outcome IS NULL AND NOT c.prerequisite
        AND CASE
            WHEN sqlc.narg('run_id')::bigint IS NULL
                THEN c.run_id IN (SELECT r.id FROM crawl_runs AS r WHERE r.status IN ('running', 'paused'))
            ELSE c.run_id = sqlc.narg('run_id')::bigint
        END
    GROUP BY c.run_id, c.domain
), allowed AS (
    SELECT p.*, g.opens, CASE
        WHEN g.opens = 'infinity' THEN 0
        ELSE p.pending - p.counted + greatest(least(p.counted, g.pages), 0)
    END AS open
    FROM pending AS p
    INNER JOIN crawl_runs AS r ON p.run_id = r.id
    -- OFFSET 0: reads the few runs of the domain instead of all due rows
    CROSS JOIN LATERAL (
        SELECT
            -- domains share the rest of their registered domain, and all domains share that of the
            -- run
            least(
                pages_budget(r.settings, domain_budget(x.domain)) - x.pages_started,
                CASE WHEN (r.settings ->> 'max_pages')::bigint >= 0 THEN (r.settings ->> 'max_pages')::bigint - r.pages_started END,
                CASE WHEN (r.settings ->> 'max_pages_per_registered_domain')::bigint >= 0
                    THEN (r.settings ->> 'max_pages_per_registered_domain')::bigint
                        - registered_started(x.run_id, coalesce(x.registered, x.domain))
                END
            ) AS pages,
            CASE
                WHEN r.spent_budget <> '' THEN 'infinity'::timestamptz
                WHEN x.wait_reason NOT IN ('', 'scheduled', 'in flight') THEN x.next_due_at
            END AS opens
        FROM run_domains AS x WHERE x.run_id = p.run_id AND x.domain = p.domain OFFSET 0
    ) AS g
), queues AS (
    SELECT
        a.domain, sum(a.pending)::bigint AS pending, sum(a.open)::bigint AS open,
        sum(CASE WHEN a.opens > now() THEN 0 ELSE least(a.due, a.open) END)::bigint AS due,
        sum(a.in_flight)::bigint AS in_flight, min(a.oldest) AS oldest, min(a.next_due) AS next_due,
        -- images alone are requested after the last page within the budget
        coalesce(max(greatest(a.opens, CASE WHEN a.open > a.due THEN a.newest END)) FILTER (WHERE a.open > 0), now()) AS last,
        coalesce(max(a.opens) FILTER (WHERE a.open > 0), now()) AS opens
    FROM allowed AS a GROUP BY a.domain
), longest AS (
    SELECT
        q.*, count(*) OVER () AS total, sum(q.pending) OVER () AS total_pending, sum(q.due) OVER () AS total_due,
        sum(q.open) OVER () AS total_open,
        max(greatest(
            ms_between(now(), q.last),
            ms_between(now(), greatest(q.opens, now())) + q.open * greatest(
                @delay_ms::bigint,
                (SELECT max(x.crawl_delay_ms) FROM robots AS x WHERE x.domain = q.domain),
                (
                    SELECT max((c.value #>> '{}')::bigint) FROM domain_controls AS c
                    WHERE c.domain = q.domain AND c.kind = 'delay' AND c.lifted_at IS NULL AND (c.until IS NULL OR c.until > clock_timestamp())
                )
            )
        )) OVER () AS min_remaining_ms
    FROM queues AS q
    ORDER BY q.pending DESC, q.domain LIMIT @max
)
SELECT
    l.domain::text AS domain, l.pending, l.due, l.in_flight, l.oldest::timestamptz AS oldest,
    coalesce(nullif(l.next_due, 'infinity'), 'epoch')::timestamptz AS next_due, d.status,
    w.wait_reason::text AS wait_reason, coalesce(nullif(w.until, 'infinity'), 'epoch')::timestamptz AS until,
    l.total::bigint AS total, l.total_pending::bigint AS total_pending, l.total_due::bigint AS total_due,
    l.total_open::bigint AS total_open, l.min_remaining_ms::bigint AS min_remaining_ms
FROM longest AS l
INNER JOIN domains AS d ON l.domain = d.domain
CROSS JOIN LATERAL domain_wait(l.domain, sqlc.narg('run_id')::bigint) AS w
ORDER BY l.pending DESC, l.domain;

-- A caller that resumes a run has stored its work before: either the holder of this lock sees it,
-- or the caller waits and reads the new status.
-- name: RunLockByID :exec
SELECT FROM crawl_runs WHERE id = @id FOR NO KEY UPDATE;

-- Marks a running run done, unless one of its domains is due, or is claimed by any run and has
-- work for this one. The caller holds the lock.
-- name: RunEnd :execrows
WITH ended AS (
    UPDATE crawl_runs SET status = 'done', status_reason = @reason, finished_at = now(), updated_at = now()
    WHERE id = @id AND status = 'running' AND run_due_count(id, 1) = 0 AND (SELECT c.busy FROM run_claim_counts(id) AS c) = 0
    RETURNING id
)
SELECT run_windows(e.id) FROM ended AS e;

-- Lists the claimed domains of a run, claimed by any run.
-- name: RunClaimed :many
SELECT d.domain FROM (
    -- OFFSET 0: reads the claimed domains instead of all domains by id
    SELECT x.id, x.domain FROM domains AS x WHERE x.claimed_by IS NOT NULL OFFSET 0
) AS d INNER JOIN run_domains AS rd ON d.domain = rd.domain
WHERE rd.run_id = @run_id
ORDER BY d.id LIMIT @max;

-- name: RunNextSeeding :one
UPDATE crawl_runs SET seedings = seedings + 1 WHERE id = @id RETURNING seedings;

-- name: RunTotals :one
SELECT
    count(*)::bigint AS domains,
    count(*) FILTER (WHERE seed)::bigint AS seed_domains,
    coalesce(sum(requests), 0)::bigint AS requests,
    coalesce(sum(nofollow), 0)::bigint AS nofollow,
    coalesce(sum(success), 0)::bigint AS success,
    coalesce(sum(failed), 0)::bigint AS failed,
    coalesce(sum(skipped), 0)::bigint AS skipped,
    coalesce(sum(timeout), 0)::bigint AS timeout,
    coalesce(sum(blocked_robots), 0)::bigint AS blocked_robots,
    coalesce(sum(blocked_4xx), 0)::bigint AS blocked_4xx,
    coalesce(sum(blocked_5xx), 0)::bigint AS blocked_5xx,
    coalesce(sum(bytes), 0)::bigint AS bytes,
    coalesce(sum(images_found), 0)::bigint AS images_found,
    coalesce(sum(images_started), 0)::bigint AS images_started,
    coalesce(sum(images_stored), 0)::bigint AS images_stored
FROM run_domains WHERE run_id = @run_id;

-- name: RunSkips :many
SELECT s.reason::text AS reason, sum((rd.skips ->> s.reason)::bigint)::bigint AS pages
FROM run_domains AS rd CROSS JOIN LATERAL jsonb_object_keys(rd.skips) AS s (reason)
WHERE rd.run_id = @run_id AND rd.skips <> '{}' GROUP BY s.reason;

-- Stores and returns the spent budget of a whole run (crawl.Budget), except that of pages. A run
-- with a spent budget begins no request. The time counts from the first check; 0 means no limit.
-- name: RunSpend :one
UPDATE crawl_runs AS r SET
    began_at = coalesce(r.began_at, now()),
    spent_budget = CASE
        WHEN @max_time_ms::bigint > 0 AND coalesce(r.began_at, now()) + ms_interval(@max_time_ms::bigint) <= now() THEN 'time'
        WHEN r.bytes >= (r.settings ->> 'max_bytes')::bigint THEN 'bytes'
        ELSE ''
    END
WHERE r.id = @run_id RETURNING r.spent_budget;

-- Lists domains whose claims have run out, because the workflow died or never started. It leaves
-- out domains that may have a request in flight.
-- name: ClaimsExpired :many
SELECT x.domain FROM (
    SELECT d.domain, (
        SELECT s.free_at FROM politeness_slots AS s WHERE s.key = 'domain:' || d.domain AND s.holder IS NOT NULL
    ) AS lease
    FROM domains AS d WHERE d.claimed_by IS NOT NULL AND d.claim_expires_at < now() ORDER BY d.claim_expires_at LIMIT @max
) AS x
WHERE x.lease IS NULL OR x.lease <= clock_timestamp() ORDER BY x.domain;

-- Closes the attempts of dead workers.
-- name: DomainsReap :exec
SELECT domain_reap(u.domain) FROM unnest(@domains::text []) AS u (domain);

-- Ends claims that have run out, and returns their number. The domains stay active and come first.
-- name: ClaimsEnd :one
WITH ended AS (
    UPDATE domains AS d SET claimed_by = NULL, claim_expires_at = NULL
    WHERE d.id = ANY(ARRAY(
        SELECT x.id FROM domains AS x
        WHERE x.domain = ANY(@domains::text []) AND x.claimed_by IS NOT NULL AND x.claim_expires_at < now()
        ORDER BY x.domain FOR UPDATE SKIP LOCKED
    ))
    RETURNING d.domain
)
SELECT x.ended FROM (
    SELECT count(*)::integer AS ended, due_update(coalesce(array_agg(e.domain ORDER BY e.domain), '{}')) FROM ended AS e
) AS x;

-- Returns the remaining work of a run without due domains, and the number of domains, up to a
-- bound, with pending attempts and a spent budget.
-- name: RunRemainingWork :one
SELECT
    r.pages_started, r.spent_budget AS budget,
    EXISTS (SELECT 1 FROM run_domains AS rd WHERE rd.run_id = r.id AND rd.next_due_at IS NOT NULL) AS pending,
    (run_due_count(r.id, 1) > 0)::boolean AS due,
    (SELECT count(*) FROM (
        SELECT 1 FROM run_domains AS rd
        WHERE rd.run_id = r.id AND rd.next_due_at = 'infinity' AND rd.wait_reason = 'budget'
        LIMIT @bound
    ) AS x)::bigint AS spent
FROM crawl_runs AS r WHERE r.id = @id;

-- Lists the domains of a run with pending attempts that an operator forbids. total counts all of
-- them.
-- name: RunForbiddenDomains :many
SELECT c.domain, c.kind, c.reason, c.set_by, c.set_at, c.until, (count(*) OVER ())::bigint AS total
FROM domain_controls AS c INNER JOIN run_domains AS rd ON c.domain = rd.domain
WHERE
    rd.run_id = @run_id AND rd.next_due_at IS NOT NULL AND control_reason(c.kind) IS NOT NULL
    AND c.lifted_at IS NULL AND (c.until IS NULL OR c.until > now())
ORDER BY c.domain LIMIT @max;

-- Lists seeded domains whose read pages all forbid following links.
-- name: RunNoFollow :many
SELECT domain FROM run_domains
WHERE run_id = @run_id AND seed AND nofollow > 0 AND nofollow >= success ORDER BY domain LIMIT @max;

-- Counts the rest of the frontier of a run up to a bound, so that it is fast in a large frontier.
-- name: RunFrontier :one
SELECT
    count(*) FILTER (WHERE NOT o.prerequisite)::bigint AS open,
    count(*) FILTER (WHERE o.locked_at IS NOT NULL)::bigint AS in_flight,
    count(*) FILTER (WHERE o.scheduled_for > now() AND NOT o.prerequisite)::bigint AS deferred
FROM (
    SELECT c.locked_at, c.scheduled_for, c.prerequisite FROM page_crawls AS c
    WHERE c.run_id = @run_id AND c.outcome IS NULL LIMIT @bound
) AS o;

-- Counts the domains that keep a run from ending: claimed for it, claimed by any run with work for
-- this one, and with work that a pause or closed window holds up. While fewer than max_active are
-- claimed, the first two counts are approximate (run_claim_counts); 0 makes them exact.
-- name: RunActivity :one
SELECT
    c.active::bigint AS active, c.busy::bigint AS busy,
    run_postponed_count(@run_id::bigint, @bound::integer)::bigint AS held
FROM run_claim_counts(@run_id::bigint, @max_active::bigint) AS c;

-- Returns when a run may make its next request; the epoch means never.
-- name: RunNextDue :one
SELECT now()::timestamptz AS now, coalesce(CASE run_allowed_work(@run_id::bigint) WHEN 'images' THEN (
    SELECT rd.images_due_at FROM run_domains AS rd
    WHERE rd.run_id = @run_id AND rd.images_due_at > now() AND rd.images_due_at < 'infinity'
    ORDER BY rd.images_due_at LIMIT 1
) WHEN 'all' THEN (
    SELECT rd.next_due_at FROM run_domains AS rd
    WHERE rd.run_id = @run_id AND rd.next_due_at > now() AND rd.next_due_at < 'infinity'
    ORDER BY rd.next_due_at LIMIT 1
) END, 'epoch')::timestamptz AS due, coalesce((
    SELECT v.due_at FROM revisits AS v
    WHERE v.run_id = @run_id AND v.due_at IS NOT NULL
    ORDER BY v.due_at LIMIT 1
), 'epoch')::timestamptz AS revisit_due;

-- Counts the due domains that a run may request, up to a bound.
-- name: RunDueCount :one
SELECT run_due_count(@run_id::bigint, @bound::integer)::bigint AS due;

-- Lists domains of a run that are not due, with the reasons, the soonest due first, up to a bound.
-- name: RunDomainsNotDue :many
SELECT
    x.wait_reason, count(*)::bigint AS domains, min(x.domain)::text AS domain,
    coalesce(nullif(min(x.next_due_at), 'infinity'), 'epoch')::timestamptz AS until
FROM (
    SELECT rd.wait_reason, rd.domain, rd.next_due_at FROM run_domains AS rd
    WHERE rd.run_id = @run_id AND rd.next_due_at > now() ORDER BY rd.next_due_at LIMIT @bound
) AS x
GROUP BY x.wait_reason ORDER BY min(x.next_due_at), x.wait_reason;

-- Lists the active domains of a run with their waits, the next to be requested first. The epoch
-- means a wait without a known end.
-- name: RunDomainWaits :many
SELECT d.domain, w.wait_reason::text AS wait_reason, coalesce(nullif(w.until, 'infinity'), 'epoch')::timestamptz AS until
FROM (
    SELECT x.domain FROM domains AS x
    INNER JOIN politeness_slots AS s ON s.key = 'domain:' || x.domain
    WHERE x.last_crawl_run_id = @run_id AND x.claimed_by IS NOT NULL AND x.claim_expires_at > now()
    ORDER BY s.free_at LIMIT @max
) AS d
CROSS JOIN LATERAL domain_wait(d.domain, @run_id) AS w
ORDER BY w.until, d.domain;

-- Lists the failures that hold up pending attempts of a run: abandoned or deferred domains, and
-- origins without a readable robots.txt, the soonest to be requested first. The column total counts
-- them.
-- name: RunFailures :many
SELECT
    t.name::text AS name, t.domain::text AS domain, t.state::text AS state, t.reason::text AS reason,
    t.until::timestamptz AS until, (count(*) OVER ())::bigint AS total
FROM (
    SELECT
        d.domain AS name, d.domain, d.status_reason AS reason, d.next_crawl_after AS until,
        CASE WHEN d.status = 'pending' THEN 'deferred' ELSE d.status::text END AS state
    FROM run_domains AS rd INNER JOIN domains AS d ON rd.domain = d.domain
    WHERE
        rd.run_id = @run_id AND rd.next_due_at IS NOT NULL AND (
            is_abandoned(d.status) AND d.next_crawl_after IS NOT NULL
            OR d.status = 'pending' AND d.next_crawl_after > now()
        )
    UNION ALL
    SELECT ro.origin, ro.domain, ro.reason, ro.expires_at, 'robots.txt unreachable'
    FROM run_domains AS rd
    INNER JOIN domains AS d ON rd.domain = d.domain
    INNER JOIN robots AS ro ON rd.domain = ro.domain
    WHERE
        rd.run_id = @run_id AND rd.next_due_at IS NOT NULL AND NOT is_abandoned(d.status)
        AND ro.verdict = 'unreachable' AND ro.expires_at > now() AND EXISTS (
            SELECT 1 FROM page_crawls AS c INNER JOIN pages AS p ON c.page_id = p.id
            WHERE c.domain = rd.domain AND c.run_id = rd.run_id AND c.outcome IS NULL AND p.origin = ro.origin
        )
) AS t
ORDER BY t.until, t.name LIMIT @max;
