-- name: CrawlNext :one
SELECT
    n.closed::boolean AS closed,
    n.crawl_id::bigint AS crawl_id,
    coalesce(n.run, '')::text AS run,
    coalesce(n.url, '')::text AS url,
    coalesce(n.origin, '')::text AS origin,
    coalesce(n.attempt, 0)::integer AS attempt,
    coalesce(n.max_attempts, 0)::integer AS max_attempts,
    coalesce(n.patience_ms, 0)::bigint AS patience_ms,
    coalesce(n.min_refetch_ms, 0)::bigint AS min_refetch_ms,
    coalesce(n.purpose, '')::text AS purpose,
    coalesce(n.block_on_login, false)::boolean AS block_on_login,
    coalesce(n.tdm_known, false)::boolean AS tdm_known,
    coalesce(n.depth, 0)::integer AS depth,
    coalesce(n.fetched_at, 'epoch')::timestamptz AS fetched_at,
    coalesce(n.fresh_until, 'epoch')::timestamptz AS fresh_until,
    coalesce(n.etag, '')::text AS etag,
    coalesce(n.last_modified, 'epoch')::timestamptz AS last_modified,
    coalesce(n.content_hash, '')::bytea AS content_hash,
    coalesce(n.spent_patterns, '{}')::text [] AS spent_patterns,
    coalesce(n.windows, '{}')::text [] AS windows,
    coalesce(n.asked_at, 'epoch')::timestamptz AS asked_at,
    coalesce(n.latency_factor, 0)::double precision AS latency_factor,
    coalesce(n.graylist_ms, 0)::bigint AS graylist_ms,
    coalesce(n.max_graylistings, 0)::integer AS max_graylistings,
    coalesce(n.health, '{}')::text AS health,
    coalesce(n.robots_verdict, '')::text AS robots_verdict,
    coalesce(n.robots_version, 0)::bigint AS robots_version,
    coalesce(n.robots_fresh_ms, 0)::bigint AS robots_fresh_ms,
    coalesce(n.robots_reason, '')::text AS robots_reason,
    coalesce(n.delay_ms, 0)::bigint AS delay_ms,
    coalesce(n.domain_delay_ms, 0)::bigint AS domain_delay_ms,
    coalesce(n.crawl_delay_ms, 0)::bigint AS crawl_delay_ms,
    coalesce(n.ip_delay_ms, 0)::bigint AS ip_delay_ms,
    coalesce(n.subnet_delay_ms, 0)::bigint AS subnet_delay_ms,
    n.slot_wait_ms::bigint AS slot_wait_ms,
    n.slot_reason::text AS slot_reason,
    n.due_in_ms::bigint AS due_in_ms
FROM crawl_next(@domain::text) AS n;

-- name: CrawlBegin :one
SELECT
    a.granted::boolean AS granted,
    a.wait_ms::bigint AS wait_ms,
    a.reason::text AS reason
FROM crawl_begin(
    @crawl_id::bigint, @domain::text, @shared::text [], @shared_delay_ms::bigint [],
    @hold_ms::bigint, @span_ms::bigint, @queued::boolean
) AS a;

-- name: CrawlFinish :one
SELECT
    n.closed::boolean AS closed,
    n.crawl_id::bigint AS crawl_id,
    coalesce(n.run, '')::text AS run,
    coalesce(n.url, '')::text AS url,
    coalesce(n.origin, '')::text AS origin,
    coalesce(n.attempt, 0)::integer AS attempt,
    coalesce(n.max_attempts, 0)::integer AS max_attempts,
    coalesce(n.patience_ms, 0)::bigint AS patience_ms,
    coalesce(n.min_refetch_ms, 0)::bigint AS min_refetch_ms,
    coalesce(n.purpose, '')::text AS purpose,
    coalesce(n.block_on_login, false)::boolean AS block_on_login,
    coalesce(n.tdm_known, false)::boolean AS tdm_known,
    coalesce(n.depth, 0)::integer AS depth,
    coalesce(n.fetched_at, 'epoch')::timestamptz AS fetched_at,
    coalesce(n.fresh_until, 'epoch')::timestamptz AS fresh_until,
    coalesce(n.etag, '')::text AS etag,
    coalesce(n.last_modified, 'epoch')::timestamptz AS last_modified,
    coalesce(n.content_hash, '')::bytea AS content_hash,
    coalesce(n.spent_patterns, '{}')::text [] AS spent_patterns,
    coalesce(n.windows, '{}')::text [] AS windows,
    coalesce(n.asked_at, 'epoch')::timestamptz AS asked_at,
    coalesce(n.latency_factor, 0)::double precision AS latency_factor,
    coalesce(n.graylist_ms, 0)::bigint AS graylist_ms,
    coalesce(n.max_graylistings, 0)::integer AS max_graylistings,
    coalesce(n.health, '{}')::text AS health,
    coalesce(n.robots_verdict, '')::text AS robots_verdict,
    coalesce(n.robots_version, 0)::bigint AS robots_version,
    coalesce(n.robots_fresh_ms, 0)::bigint AS robots_fresh_ms,
    coalesce(n.robots_reason, '')::text AS robots_reason,
    coalesce(n.delay_ms, 0)::bigint AS delay_ms,
    coalesce(n.domain_delay_ms, 0)::bigint AS domain_delay_ms,
    coalesce(n.crawl_delay_ms, 0)::bigint AS crawl_delay_ms,
    coalesce(n.ip_delay_ms, 0)::bigint AS ip_delay_ms,
    coalesce(n.subnet_delay_ms, 0)::bigint AS subnet_delay_ms,
    n.slot_wait_ms::bigint AS slot_wait_ms,
    n.slot_reason::text AS slot_reason,
    n.due_in_ms::bigint AS due_in_ms
FROM crawl_finish(
    @id::bigint, @domain::text, @holder::text, @ip::text,
    @outcome::crawl_outcome, @status_code::integer, @error::text,
    @duration_ms::bigint, @since_end_ms::bigint, @bytes::bigint, @content_type::text,
    @page_delay_ms::bigint, @shared::text [], @shared_delay_ms::bigint [], @reason::text, @retry_in_ms::bigint,
    @title::text, @canonical::text, @noindex::boolean, @nofollow::boolean,
    @link_urls::text [], @link_domains::text [], @link_origins::text [], @link_nofollow::boolean [],
    @redirect::boolean, @origin::text, @robots_version::bigint, @retry_after_ms::bigint,
    @health::text, @verdict::text, @verdict_reason::text,
    @skipped::text, @unchanged::text, sqlc.narg('etag')::text, sqlc.narg('last_modified')::timestamptz,
    @fresh_ms::bigint, sqlc.narg('content_hash')::bytea, sqlc.narg('simhash')::bigint, @permits::text,
    @patterns::text [], @no_news::boolean, @trap::text, @trap_evidence::text,
    @link_traps::text [], @link_evidence::text []
) AS n;

-- Puts off what is pending for an origin whose robots.txt is unreachable.
-- name: OriginDefer :execrows
UPDATE page_crawls AS c SET scheduled_for = ro.expires_at
FROM pages AS p, robots AS ro
WHERE
    p.id = c.page_id AND ro.origin = p.origin
    AND p.origin = @origin::text AND c.domain = @domain::text
    AND c.outcome IS NULL AND c.locked_at IS NULL
    AND c.scheduled_for < ro.expires_at
    AND ro.verdict = 'unreachable' AND ro.expires_at > now();

-- name: CrawlAbandon :exec
SELECT crawl_abandon(@crawl_id::bigint, @domain::text, @shared::text []);
