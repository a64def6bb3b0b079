-- name: DomainNext :one
SELECT domain_next(@domain::text)::jsonb AS facts;

-- name: DomainFacts :one
SELECT domain_facts(@domain::text)::jsonb AS facts;

-- name: PageFacts :one
SELECT page_facts(@domain::text, @url::text)::jsonb AS facts;

-- name: CrawlBegin :one
SELECT
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason,
    a.crawl_id::bigint AS crawl_id
FROM crawl_begin(@start::jsonb) AS a;

-- name: CrawlsBegin :many
SELECT
    a.n::integer AS n,
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason,
    a.crawl_id::bigint AS crawl_id
FROM crawls_begin(@starts::jsonb) AS a;

-- name: AttemptsRecord :many
SELECT
    r.n::integer AS n,
    r.closed::boolean AS closed,
    r.news::boolean AS news,
    r.facts::jsonb AS facts
FROM attempts_record(@attempts::jsonb) AS r;

-- name: AttemptsRecordGroup :many
SELECT
    r.n::integer AS n,
    r.closed::boolean AS closed,
    r.news::boolean AS news,
    r.facts::jsonb AS facts
FROM attempts_record_group(@attempts::jsonb) AS r;

-- name: SlotReleaseShared :one
SELECT slot_release_shared(
    @shared::text [], @shared_delay_ms::bigint [], @holder::text, @since_end_ms::bigint
)::timestamptz AS ended_at;

-- name: CrawlKeep :exec
UPDATE politeness_slots SET free_at = greatest(free_at, clock_timestamp() + ms_interval(@hold_ms::bigint))
WHERE key = 'domain:' || @domain::text AND holder = 'crawl:' || @crawl_id::bigint;

-- name: CrawlAbandon :exec
SELECT crawl_abandon(
    @crawl_id::bigint, @domain::text, @shared::text [], @why::text, @delay_ms::bigint, @shared_delay_ms::bigint [],
    @spared::boolean
);

-- name: CrawlTakeBack :exec
SELECT crawl_take_back(
    @crawl_id::bigint, @domain::text, @shared::text [], @why::text, @delay_ms::bigint, @shared_delay_ms::bigint [],
    @spared::boolean, @robots_version::bigint
);

-- Puts off what is pending for an origin.
-- name: OriginDefer :execrows
UPDATE page_crawls AS c SET scheduled_for = @until
FROM pages AS p
WHERE
    p.id = c.page_id AND p.origin = @origin::text AND c.domain = @domain::text
    AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for < @until
    AND (@bare::boolean OR c.bare IS NULL);
