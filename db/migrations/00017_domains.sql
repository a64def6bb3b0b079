-- +goose Up

-- What is known of a domain over all runs, counted when its workflow ends and by mosey
-- domains recalculate: a page writes no row for it. Constant defaults rewrite nothing.
ALTER TABLE domains
ADD COLUMN pages_crawled bigint NOT NULL DEFAULT 0,
ADD COLUMN pages_discovered bigint NOT NULL DEFAULT 0,
ADD COLUMN images_found bigint NOT NULL DEFAULT 0,
ADD COLUMN images_stored bigint NOT NULL DEFAULT 0,
ADD COLUMN bytes bigint NOT NULL DEFAULT 0,
-- of its last 100 requests: the share that failed, how long an answer took on average,
-- and how large it was; null is that there was none
ADD COLUMN error_rate real,
ADD COLUMN avg_response_ms integer,
ADD COLUMN avg_page_bytes integer,
ADD COLUMN first_crawled_at timestamptz,
ADD COLUMN last_crawled_at timestamptz,
ADD COLUMN counted_at timestamptz,
-- of the row: it grows with each change
ADD COLUMN version bigint NOT NULL DEFAULT 0;

-- +goose Down
-- Migrations only go forward.
