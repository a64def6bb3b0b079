-- +goose Up

-- A domain is deferred where none of its addresses may be asked: they are private,
-- and the worker was not told to allow their network. refused_ip is one of them, so
-- that a worker that may ask it lifts the deferral at once, and refused_since is
-- when that began. Both are null elsewhere. The columns cost nothing on a large
-- table, and the index one pass over it.
ALTER TABLE domains ADD COLUMN refused_ip inet;
ALTER TABLE domains ADD COLUMN refused_since timestamptz;

CREATE INDEX domains_refused ON domains (domain) WHERE refused_ip IS NOT NULL;

-- More of a domain's totals in a run: the requests that were made or tried, without
-- what was closed instead; why pages were skipped, as {reason: count}; and the pages
-- that let no link be followed. One pass over a table of a row for each domain and
-- run.
ALTER TABLE run_domains ADD COLUMN requests bigint NOT NULL DEFAULT 0;
ALTER TABLE run_domains ADD COLUMN skips jsonb NOT NULL DEFAULT '{}';
ALTER TABLE run_domains ADD COLUMN nofollow bigint NOT NULL DEFAULT 0;
UPDATE run_domains SET requests = success + failed + timeout + blocked_4xx + blocked_5xx;

-- How far the links of what a run has crawled have been looked at again since its
-- depth or scope was widened: crawl.Widening. Null is that there is nothing to do.
ALTER TABLE crawl_runs ADD COLUMN widening jsonb;
