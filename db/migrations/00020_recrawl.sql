-- +goose Up

-- A run that crawls its pages again. history is what visits have told of how often a page
-- changes (recrawl.History), and next_due_at when recrawl_run_id asks for it again: null is
-- that it is pending there, or has faded out. Nothing here is written by other runs.
ALTER TABLE pages
ADD COLUMN history jsonb,
ADD COLUMN next_due_at timestamptz,
ADD COLUMN recrawl_run_id bigint REFERENCES crawl_runs (id) ON DELETE SET NULL;

CREATE INDEX pages_due ON pages (recrawl_run_id, next_due_at) WHERE next_due_at IS NOT NULL;

-- The first crawl of a further visit: attempts are counted from there.
ALTER TABLE page_crawls ADD COLUMN again boolean NOT NULL DEFAULT false;

-- How the requests to a domain are spent on its pages (crawl.DomainRecrawl), and when that
-- was planned.
ALTER TABLE domains ADD COLUMN recrawl jsonb, ADD COLUMN planned_at timestamptz;

-- +goose Down
-- Migrations only go forward.
