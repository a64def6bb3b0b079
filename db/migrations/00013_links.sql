-- +goose Up

-- What a link says, and since when it is gone. Adding columns without a default rewrites
-- nothing.
ALTER TABLE page_links
-- its text, or what stands for an image in it; null is none
ADD COLUMN anchor text,
-- crawl.Rel; null is none
ADD COLUMN rel smallint,
-- A link that its page has no more: when that was found, and when the page was read
-- before, with the link. Null while it is there: then its page's last visit saw it.
ADD COLUMN gone_at timestamptz,
ADD COLUMN last_seen timestamptz;

DROP FUNCTION IF EXISTS links_find(closed_attempt[]);
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
    rel smallint
);

-- +goose Down
-- Migrations only go forward.
