-- +goose Up

-- What domains and pages are worth by who links to them: what mosey rank has computed
-- last (package rank). Only that writes here, so that a page to which many link is no row
-- that all who record them write.
CREATE TABLE domain_ranks (
    domain text PRIMARY KEY,
    -- how many registered domains link to it
    inlinks integer NOT NULL,
    -- from 0 to 1
    score real NOT NULL
);

-- Of pages to which another registered domain links.
CREATE TABLE page_ranks (
    page_id bigint PRIMARY KEY,
    inlinks integer NOT NULL,
    score real NOT NULL
);

-- How many positions of keywords_tsv are the page's own: those after them are of what
-- others call it. Null is that all are.
ALTER TABLE page_keywords ADD COLUMN own_positions smallint;

-- +goose Down
-- Migrations only go forward.
