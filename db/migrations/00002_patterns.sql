-- +goose Up

-- What the pages of a pattern share is left out when they are compared, and a
-- pattern forgets with each run. On 100 million rows of pages: no table is
-- rewritten, each statement takes milliseconds once it has its lock.

-- duplicates that name another page as their canonical URL
ALTER TABLE url_patterns ADD COLUMN copies integer NOT NULL DEFAULT 0;
-- the last run whose page was charged
ALTER TABLE url_patterns ADD COLUMN run_id bigint;
-- of a path's pattern: the text that its pages share, and the titles and fingerprints
-- of the last that brought news, see traps.Memory; a few kilobytes at most
ALTER TABLE url_patterns ADD COLUMN shared bytea;
ALTER TABLE url_patterns ADD COLUMN fingerprints bytea;
ALTER TABLE url_patterns DROP COLUMN recent;

-- its last visit brought nothing that another page had not
ALTER TABLE pages ADD COLUMN duplicate boolean NOT NULL DEFAULT false;

-- +goose Down
-- Migrations only go forward.
