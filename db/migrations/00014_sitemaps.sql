-- +goose Up

-- Sitemaps and feeds that a site or a page names are links of kinds of their own: who
-- does not want them does not follow them, and whose URLs a sitemap may name is told by
-- who names it. Rows from before have been checked.
ALTER TABLE page_links DROP CONSTRAINT page_links_kind_known;
ALTER TABLE page_links ADD CONSTRAINT page_links_kind_known CHECK (
    kind IN ('link', 'redirect', 'sitemap', 'feed')
) NOT VALID;

DROP FUNCTION IF EXISTS links_find(closed_attempt[]);
DROP FUNCTION IF EXISTS links_renew(closed_attempt[], found_link[]);
DROP FUNCTION IF EXISTS traps_note(found_link[]);
DROP TYPE found_link;
CREATE TYPE found_link AS (
    from_id bigint,
    run_id bigint,
    own text,
    redirect boolean,
    follow jsonb,
    after integer,
    id bigint,
    is_new boolean,
    url text,
    domain text,
    origin text,
    kind text,
    patterns text [],
    nofollow boolean,
    trap text,
    trap_evidence text,
    anchor text,
    rel smallint,
    -- of its crawl; null is what its depth makes of it
    priority smallint
);

DROP FUNCTION IF EXISTS crawls_add(found_page[]);
DROP FUNCTION IF EXISTS run_domains_add(found_page[]);
DROP TYPE found_page;
CREATE TYPE found_page AS (
    run_id bigint,
    page_id bigint,
    domain text,
    url text,
    kind text,
    own text,
    follow jsonb,
    is_new boolean,
    after integer,
    priority smallint
);

-- +goose Down
-- Migrations only go forward.
