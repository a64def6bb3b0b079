-- +goose Up

-- The terms of pages that have been recorded and are not in page_keywords yet: crawl.Index.
-- The transaction that records a page writes its row here, without an index and without
-- compressing it. Some seconds later a worker takes many of them at once
-- (keywords_take, keywords_store). So a page that lacks its keywords has a row here, and a
-- worker that dies loses none. What a row has is what page_keywords keeps, but for the
-- endings of words: terms with their places, never the page's text.
CREATE TABLE keywords_waiting (
    page_id bigint PRIMARY KEY,
    domain text NOT NULL,
    -- as in page_keywords
    language varchar(35),
    config text NOT NULL,
    title text,
    headings text,
    description text,
    body text
) WITH (
    toast_tuple_target = 8160,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 1000000
);

ALTER TABLE keywords_waiting ALTER COLUMN title SET STORAGE EXTERNAL;
ALTER TABLE keywords_waiting ALTER COLUMN headings SET STORAGE EXTERNAL;
ALTER TABLE keywords_waiting ALTER COLUMN description SET STORAGE EXTERNAL;
ALTER TABLE keywords_waiting ALTER COLUMN body SET STORAGE EXTERNAL;

-- What these did is done by keywords_store, page_penalties and page_worths.
DROP FUNCTION IF EXISTS keywords (text, text, text, text, text);
DROP FUNCTION IF EXISTS page_penalty (bigint);
DROP FUNCTION IF EXISTS page_worth (bigint, text);

-- +goose Down
-- Migrations only go forward.
