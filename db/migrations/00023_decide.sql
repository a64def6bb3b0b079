-- +goose Up

-- Whether a crawl is of a seed that was given without a scheme: where https cannot be
-- reached, it is asked for by http. A link, a redirect and a seed of https:// to the same
-- page are asked as they stand. On 100 million rows it takes milliseconds.
ALTER TABLE page_crawls ADD COLUMN bare boolean;
UPDATE page_crawls c SET bare = true
FROM domains d
WHERE d.bare AND c.domain = d.domain AND c.outcome IS NULL AND c.depth = 0 AND NOT c.prerequisite;

-- How many requests in a row for a robots.txt had no answer of any kind, though the name
-- of its host was known: that many tries https was given.
ALTER TABLE robots ADD COLUMN unreached integer NOT NULL DEFAULT 0;

DROP FUNCTION IF EXISTS image_passed_over(bigint, bigint);

-- +goose Down
-- Migrations only go forward.
