-- +goose Up

-- What pages are found by, beside them: a row is large and its index slow to write, and
-- what is asked for again is read without it. keywords_tsv has the terms of package
-- terms, the title of weight A, headings B, the description C, the text D; config is the
-- text search configuration that has made it. A page without a row is not found.
CREATE TABLE page_keywords (
    page_id bigint PRIMARY KEY,
    domain text NOT NULL,
    -- as in pages
    language varchar(35),
    config text NOT NULL,
    -- how much the page is worth, from 0 to 1: what is found is ordered by it, too
    rank real NOT NULL DEFAULT 0,
    keywords_tsv tsvector NOT NULL
-- The terms are stored apart, so that of what is found by a frequent word only the best
-- are read.
) WITH (fillfactor = 90, toast_tuple_target = 128);

-- New rows wait in a list until there are enough of them: the more, the more of them
-- have a term in common, for which the index is written once. A search reads the list,
-- too. keywords_record.sql has the memory to sort it.
CREATE INDEX page_keywords_terms ON page_keywords USING gin (keywords_tsv) WITH (gin_pending_list_limit = 16384);

-- The version of the extractor that has read a page (crawl.ExtractorVersion); null is
-- that none has, or that it must be read anew. Adding a column without a default
-- rewrites nothing.
ALTER TABLE pages ADD COLUMN extractor smallint;

-- +goose Down
-- Migrations only go forward.
