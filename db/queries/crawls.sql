-- name: DomainNext :one
SELECT domain_next(@domain::text)::jsonb AS facts;

-- name: DomainFacts :one
SELECT (domain_facts(ARRAY[@domain::text]))[1]::jsonb AS facts;

-- Returns the facts of a page in each run, whatever its state there, to explain them.
-- name: PageFacts :one
SELECT
    jsonb_build_object(
        'now', clock_timestamp(),
        'domain', (domain_state(ARRAY[@domain::text]))[1],
        'runs', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'id', r.id, 'name', r.name, 'status', r.status, 'settings', r.settings, 'seed', rd.seed,
                'domain_started', rd.pages_started, 'forbidden_by_budget', forbidden_by_budget(rd, r.settings, domain_budget(rd.domain), r),
                'budget', pages_budget(r.settings, domain_budget(rd.domain)),
                'images_started', rd.images_started,
                'crawl', (attempt_facts(ARRAY[(
                    SELECT c.id FROM page_crawls AS c
                    WHERE c.page_id = p.id AND c.run_id = r.id AND NOT c.prerequisite
                    ORDER BY c.created_at DESC, c.id DESC LIMIT 1
                )]))[1]
            ) ORDER BY r.id), '[]')
            FROM pages AS p
            INNER JOIN run_domains AS rd ON p.domain = rd.domain
            INNER JOIN crawl_runs AS r ON rd.run_id = r.id
            WHERE p.domain = @domain AND p.url = @url::text
        )
    )::jsonb AS facts;

-- name: AttemptBegin :one
SELECT
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason,
    a.attempt_id::bigint AS attempt_id
FROM attempt_begin(@start::jsonb) AS a;

-- name: AttemptsBegin :many
SELECT
    a.n::integer AS n,
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason,
    a.attempt_id::bigint AS attempt_id
FROM attempts_begin(@starts::jsonb) AS a;

-- name: AttemptsRecord :many
SELECT
    r.n::integer AS n,
    r.closed::boolean AS closed,
    r.has_new_due_domains::boolean AS has_new_due_domains,
    r.facts::jsonb AS facts
FROM attempts_record(@attempts::jsonb, @short_lock_timeout::boolean) AS r;

-- Releases the slots that requests shared with other domains, each after its delay. It precedes
-- the recording of the attempts, so that neighbors on an address do not wait for it. Each result
-- is the end of a request. The attempt is recorded with it, so that an audit finds the same gap.
-- name: SlotsRelease :many
WITH ended AS MATERIALIZED (
    SELECT
        e.n, 'crawl:' || (e.doc ->> 'attempt_id') AS holder, e.doc -> 'shared_slots' AS shared,
        statement_timestamp() - ms_interval((e.doc ->> 'since_end_ms')::bigint) AS at
    FROM jsonb_array_elements(@ended::jsonb) WITH ORDINALITY AS e (doc, n)
), given AS MATERIALIZED (
    SELECT e.holder, e.at, s ->> 'key' AS key, (s ->> 'delay_ms')::bigint AS delay_ms
    FROM ended AS e CROSS JOIN jsonb_array_elements(e.shared) AS s
), held AS (
    SELECT s.key FROM politeness_slots AS s WHERE s.key = ANY(ARRAY(SELECT g.key FROM given AS g)) ORDER BY s.key FOR UPDATE
), released AS (
    UPDATE politeness_slots AS s SET
        free_at = g.at + ms_interval(greatest(g.delay_ms, CASE WHEN s.strictest_delay_until > statement_timestamp() THEN s.strictest_delay_ms END)),
        avg_hold_ms = (3 * s.avg_hold_ms + greatest(ms_between(s.updated_at, g.at), 0)) / 4,
        ended_at = g.at, reason = split_part(s.key, ':', 1), holder = NULL, updated_at = statement_timestamp()
    FROM given AS g WHERE s.key = ANY(ARRAY(SELECT h.key FROM held AS h)) AND s.key = g.key AND s.holder = g.holder
)
SELECT e.n::integer AS n, e.at::timestamptz AS ended_at FROM ended AS e;

-- name: AttemptExtendLease :exec
UPDATE politeness_slots SET free_at = greatest(free_at, clock_timestamp() + ms_interval(@hold_ms::bigint))
WHERE key = 'domain:' || @domain::text AND holder = 'crawl:' || @attempt_id::bigint;

-- name: AttemptUndo :exec
SELECT attempt_undo(
    @attempt_id::bigint, @domain::text, @shared::text [], @error::text, @delay_ms::bigint, @shared_delay_ms::bigint [],
    @unreachable::boolean, sqlc.narg('robots_version')::bigint
);

-- Defers the pending attempts of an origin.
-- name: OriginDefer :execrows
UPDATE page_crawls AS c SET scheduled_for = @until
FROM pages AS p
WHERE
    p.id = c.page_id AND p.origin = @origin::text AND c.domain = @domain::text
    AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for < @until
    AND (@schemeless::boolean OR c.schemeless IS NULL);

-- Counts the pending attempts of a domain in runs, up to a bound.
-- name: AttemptsPending :one
SELECT count(*)::bigint AS pending FROM (
    SELECT 1 FROM unnest(@runs::bigint []) AS r (id) CROSS JOIN LATERAL (
        SELECT 1 FROM page_crawls AS c WHERE c.domain = @domain::text AND c.run_id = r.id AND c.outcome IS NULL LIMIT @max
    ) AS c LIMIT @max
) AS x;
