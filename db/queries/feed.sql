-- The feed: closed attempts in the order of their positions. A position is taken before its
-- transaction commits, so that a smaller one can become visible later.

-- Returns the last position that is visible.
-- name: FeedLast :one
SELECT coalesce(max(feed_position), 0)::bigint AS position FROM page_crawls WHERE outcome IS NOT NULL;

-- Returns the first position of an attempt that ended since then, or 0. An attempt may be recorded
-- later than others that ended later, but not later than @max others, since few are in flight.
-- name: FeedSince :one
SELECT coalesce(min(c.feed_position), 0)::bigint AS position FROM (
    SELECT x.feed_position FROM page_crawls AS x WHERE x.outcome IS NOT NULL AND x.completed_at >= @since::timestamptz
    ORDER BY x.completed_at LIMIT @max
) AS c;

-- Returns the oldest transaction in progress, and the next one to begin.
-- name: FeedTransactions :one
SELECT
    pg_snapshot_xmin(s)::text::bigint AS oldest, pg_snapshot_xmax(s)::text::bigint AS next
FROM pg_current_snapshot() AS s;

-- Returns the end of the attempt at a position, and the instant before which attempts may have been
-- moved to files.
-- name: FeedAttempt :one
SELECT
    (SELECT c.completed_at FROM page_crawls AS c WHERE c.feed_position = @position::bigint AND c.outcome IS NOT NULL) AS completed_at,
    i.moved_before
FROM installation AS i;

-- Returns the attempts after a position, up to the last one. was_read is set if an earlier attempt
-- read the page.
-- name: FeedKeys :many
SELECT
    c.id, c.page_id, c.run_id, c.feed_position::bigint AS position, c.kind, c.outcome::crawl_outcome AS outcome, c.prerequisite,
    c.completed_at::timestamptz AS completed_at,
    EXISTS (
        SELECT 1 FROM page_crawls AS x
        WHERE x.page_id = c.page_id AND x.outcome = 'success' AND x.feed_position < c.feed_position AND x.skipped IS NULL
    ) AS was_read
FROM page_crawls AS c
WHERE c.outcome IS NOT NULL AND c.feed_position > @after::bigint AND c.feed_position <= @last::bigint
ORDER BY c.feed_position LIMIT @max;
