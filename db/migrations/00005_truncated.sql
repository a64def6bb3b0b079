-- +goose Up

-- Whether the body went on past what is read of one; null is no.
ALTER TABLE page_crawls ADD COLUMN truncated boolean;

-- +goose Down
-- Migrations only go forward.
