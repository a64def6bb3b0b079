-- +goose Up

-- The registered domains that domains are part of (urls.RegistrableDomain), but for those
-- that are registered themselves: the list of public suffixes is compiled into the worker.
CREATE TABLE registered_domains (
    domain text PRIMARY KEY,
    registered text NOT NULL
);

-- Requests of a run to all domains of a registered domain; kept only while its settings
-- limit them.
CREATE TABLE run_registered (
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    registered text NOT NULL,
    pages_started bigint NOT NULL,
    PRIMARY KEY (run_id, registered)
) WITH (fillfactor = 80);

-- depths counts requests by the depth of their pages, from 1 to crawl.DepthsMax, and
-- budget_growths how often the budget of pages has grown.
ALTER TABLE run_domains
ADD COLUMN registered text,
ADD COLUMN depths jsonb NOT NULL DEFAULT '{}',
ADD COLUMN budget_growths smallint NOT NULL DEFAULT 0;

CREATE INDEX run_domains_registered ON run_domains (run_id, registered) WHERE registered IS NOT NULL;

-- The registered domain whose delay a request kept, and that delay.
ALTER TABLE page_crawls ADD COLUMN registered text, ADD COLUMN registered_delay_ms bigint;
DROP VIEW IF EXISTS asks;

DROP TYPE domain_run;
CREATE TYPE domain_run AS (
    n integer,
    crawl bigint,
    run_id bigint,
    name text,
    settings jsonb,
    seed boolean,
    -- of the run, of the domain in it, and of its registered domain
    pages_started bigint,
    domain_started bigint,
    registered_started bigint,
    depths jsonb,
    growths smallint,
    next_due timestamptz,
    locked_at timestamptz,
    crowded boolean,
    spent text,
    turn_started bigint,
    bytes bigint
);

DROP FUNCTION IF EXISTS seeds_add_fresh(bigint, seed[]);
DROP FUNCTION IF EXISTS seeds_add_known(bigint, text, seed[]);
DROP TYPE seed;
CREATE TYPE seed AS (
    url text,
    domain text,
    registered text,
    origin text,
    kind text,
    patterns text [],
    rank integer,
    bare boolean,
    n bigint
);

DROP FUNCTION IF EXISTS domain_finish(text, jsonb, timestamptz, text, bigint);
DROP FUNCTION IF EXISTS domains_prioritize_after(bigint, integer);
DROP FUNCTION IF EXISTS budget_take(bigint, text, bigint, bigint);

-- +goose Down
-- Migrations only go forward.
