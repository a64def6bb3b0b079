-- +goose Up

-- How soon a domain's turn comes: domain_priority of the columns here. yield_rate is the
-- share of its last 100 requests that brought something new.
ALTER TABLE domains
ADD COLUMN yield_rate real,
ADD COLUMN priority_computed_at timestamptz;

-- The same in a run, with the run's own weights; turns is how often the domain has made
-- room for others that wait, and turn_started how many requests there had been when it was
-- claimed last.
ALTER TABLE run_domains
ADD COLUMN priority real NOT NULL DEFAULT 0,
ADD COLUMN turns integer NOT NULL DEFAULT 0,
ADD COLUMN turn_started bigint NOT NULL DEFAULT 0;

-- Those whose turn it is.
CREATE INDEX run_domains_next ON run_domains (run_id, turns, priority DESC, domain) WHERE next_due_at IS NOT NULL;

-- Whether more domains are due than may be active, and which budget of the whole run is
-- spent (crawl.Budget); empty is none.
ALTER TABLE crawl_runs ADD COLUMN crowded boolean NOT NULL DEFAULT false, ADD COLUMN spent text NOT NULL DEFAULT '';

-- Of a domain that is the nth of a list: a run, and its crawl that is first in line.
DROP TYPE domain_run;
CREATE TYPE domain_run AS (
    n integer,
    crawl bigint,
    run_id bigint,
    name text,
    settings jsonb,
    seed boolean,
    -- of the run, and of the domain in it
    pages_started bigint,
    domain_started bigint,
    next_due timestamptz,
    locked_at timestamptz,
    crowded boolean,
    spent text,
    turn_started bigint,
    bytes bigint
);

DROP FUNCTION IF EXISTS domain_finish(text, jsonb, timestamptz, text);

-- +goose Down
-- Migrations only go forward.
