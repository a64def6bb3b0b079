-- +goose Up

-- Which kind of list has named a domain (crawl.SeedSource), and its rank there, from 1;
-- null is none. Adding columns without a default rewrites nothing.
ALTER TABLE domains ADD COLUMN source text, ADD COLUMN seed_rank integer;

-- Runs are never deleted, and what stores a domain's part in one has just read it: the
-- check locked a row that all domains share, for each of a million seeds.
ALTER TABLE run_domains DROP CONSTRAINT run_domains_run_id_fkey;

-- What may be crawled at all (package lists): nothing on the block list, and where the
-- allow list has entries only what is on that.
CREATE TABLE list_entries (
    list text NOT NULL,
    -- its canonical form: lists.Entry
    entry text NOT NULL,
    kind text NOT NULL,
    network cidr,
    reason text NOT NULL DEFAULT '',
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (list, entry),
    CONSTRAINT list_entries_list_known CHECK (list IN ('allow', 'block')),
    CONSTRAINT list_entries_kind_known CHECK (kind IN ('host', 'domain', 'below', 'network')),
    CONSTRAINT list_entries_network_where_wanted CHECK ((network IS NULL) = (kind <> 'network'))
);

-- Workers hold all networks in memory.
CREATE INDEX list_entries_networks ON list_entries (list) WHERE kind = 'network';

-- A seed; n is its place among those that are stored with it.
CREATE TYPE seed AS (
    url text,
    domain text,
    origin text,
    kind text,
    patterns text [],
    rank integer,
    bare boolean,
    n bigint
);

DROP FUNCTION IF EXISTS seeds_add(bigint, jsonb);

-- How many entries of a list of seeds are stored, while it is being stored: what was
-- interrupted goes on from there, if the list is still that version.
CREATE TABLE seed_lists (
    run_id bigint NOT NULL,
    list text NOT NULL,
    version text NOT NULL,
    entries bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, list)
);

-- +goose Down
-- Migrations only go forward.
