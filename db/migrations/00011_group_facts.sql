-- +goose Up

-- Of a domain that is the nth of a list: a run, and its crawl that is first in line.
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
    locked_at timestamptz
);

-- It has the document of the attempts now (links_record.sql).
DROP FUNCTION IF EXISTS links_record(closed_attempt[]);
-- These take arrays (domain_facts.sql).
DROP FUNCTION IF EXISTS domain_state(text, politeness_slots);
DROP FUNCTION IF EXISTS robots_facts(text);

-- +goose Down
-- Migrations only go forward.
