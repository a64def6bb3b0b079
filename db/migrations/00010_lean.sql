-- +goose Up

-- Fewer and cheaper rows: a page has eleven links as a rule, five of them new, and each
-- row costs an entry in every index and a row lock for every key that is checked. On
-- 100 million rows of page_crawls the new index takes minutes, during which nothing is
-- recorded; the rest takes milliseconds.

-- Pages, runs and crawls are never deleted (history_append_only.sql), and their ids are
-- stored by the functions that have just read or made the rows: nothing is left for
-- these checks to find. Each locked a row; those of crawl_runs one that all pages share.
ALTER TABLE page_crawls DROP CONSTRAINT page_crawls_page_id_fkey;
ALTER TABLE page_crawls DROP CONSTRAINT page_crawls_run_id_fkey;
ALTER TABLE page_crawls DROP CONSTRAINT page_crawls_previous_id_fkey;
ALTER TABLE page_links DROP CONSTRAINT page_links_from_page_id_fkey;
ALTER TABLE page_links DROP CONSTRAINT page_links_to_page_id_fkey;

-- A page's history, and both rules of it: a page enters a run once, and each later crawl
-- names the one that it follows, which none other does. A prerequisite follows nothing
-- and stands for itself.
CREATE UNIQUE INDEX page_crawls_page ON page_crawls (
    page_id, run_id, coalesce(previous_id, CASE WHEN prerequisite THEN -id ELSE 0 END)
);
DROP INDEX page_crawls_page_history;
DROP INDEX page_crawls_first;
DROP INDEX page_crawls_follows;
-- The attempt in flight is the one that holds the domain's slot. Without this index,
-- beginning an attempt changes nothing that is indexed (a HOT update, for which pages
-- of the table have some room).
DROP INDEX page_crawls_locked;
ALTER TABLE page_crawls SET (fillfactor = 90);

-- What leads to a page by a redirect is asked for with each page; what links to it only
-- by people.
CREATE INDEX page_links_redirects ON page_links (to_page_id) WHERE kind = 'redirect';

DROP FUNCTION IF EXISTS crawl_begin(jsonb);
DROP FUNCTION IF EXISTS slot_take(text, text[], bigint[], text, bigint, bigint, boolean);
DROP TYPE slot_answer;
CREATE TYPE slot_answer AS (
    granted boolean,
    -- how long to wait before asking again, when not granted
    wait_ms bigint,
    reason text,
    -- the crawl that has the lease
    crawl_id bigint,
    -- who had it before, and never gave it back
    was text
);

-- An attempt to begin; n is its place in the group. was is who had the slot before, and
-- never gave it back; wait_ms and reason are set where the slot is not to be had.
CREATE TYPE start_attempt AS (
    n integer,
    domain text,
    crawl_id bigint,
    final boolean,
    hold interval,
    claim interval,
    was text,
    wait_ms bigint,
    reason text
);

-- What became of it: a slot_answer.
CREATE TYPE begun_attempt AS (
    n integer,
    granted boolean,
    wait_ms bigint,
    reason text,
    crawl_id bigint
);

-- An attempt to record; n is its place in the group.
CREATE TYPE attempt AS (
    n integer,
    doc jsonb,
    domain text,
    crawl_id bigint,
    requested boolean,
    ended timestamptz
);

-- An attempt that was closed, with what its crawl is about and what its page was before.
CREATE TYPE closed_attempt AS (
    n integer,
    doc jsonb,
    domain text,
    crawl_id bigint,
    ended timestamptz,
    held boolean,
    run_id bigint,
    page_id bigint,
    url text,
    kind text,
    priority smallint,
    depth smallint,
    redirects smallint,
    prerequisite boolean,
    fetched_at timestamptz,
    duplicate boolean
);

-- Whether what an attempt has read brought nothing new.
CREATE TYPE charged_attempt AS (
    n integer,
    duplicate boolean
);

-- A link that an attempt has found, with what it needs of the attempt; id is null while
-- its page is not stored, and after is how many links come after it.
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
    trap_evidence text
);

-- A page to make part of a run, as follow (crawl.Follow) says. own is the domain whose
-- claim the caller holds, if any; after is how many were found after it on the same page.
CREATE TYPE found_page AS (
    run_id bigint,
    page_id bigint,
    domain text,
    url text,
    kind text,
    own text,
    follow jsonb,
    is_new boolean,
    after integer
);

-- What became of an attempt.
CREATE TYPE recorded_attempt AS (
    n integer,
    closed boolean,
    news boolean,
    facts jsonb
);

DROP FUNCTION IF EXISTS crawl_record(jsonb);
DROP FUNCTION IF EXISTS crawl_close(jsonb, timestamptz, boolean);
DROP FUNCTION IF EXISTS totals_add(bigint, text, jsonb);
DROP FUNCTION IF EXISTS crawl_reap(text);
DROP FUNCTION IF EXISTS crawls_add(bigint, bigint[], integer, integer, boolean, text);
DROP FUNCTION IF EXISTS links_record(page_crawls, jsonb);
DROP FUNCTION IF EXISTS links_enqueue(bigint, text, bigint[], jsonb);
DROP FUNCTION IF EXISTS links_follow(page_crawls, bigint[], jsonb);
DROP FUNCTION IF EXISTS patterns_charge(page_crawls, jsonb);
DROP FUNCTION IF EXISTS patterns_count(page_crawls, text[], boolean, boolean);
DROP FUNCTION IF EXISTS redirect_known(page_crawls, jsonb);
DROP FUNCTION IF EXISTS page_update(bigint, jsonb, timestamptz);
DROP FUNCTION IF EXISTS slot_release(text, text, timestamptz, bigint, text, boolean);
DROP TYPE crawl_recorded;

-- Programs from before call functions that are gone.
UPDATE schema_compatibility SET oldest = 10;

-- +goose Down
-- Migrations only go forward.
