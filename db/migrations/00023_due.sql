-- +goose Up

-- When a domain is due for a run is computed in one place (functions/due.sql), from rows
-- alone. On a million rows of run_domains the new indexes take seconds.

-- Nothing of the domain is asked before: its windows, and those of the runs that want
-- something there, are closed until then, as of when that was decided. Null is not known.
ALTER TABLE domains ADD COLUMN opens_at timestamptz;
CREATE INDEX domains_opens ON domains (domain) WHERE opens_at IS NOT NULL;
-- claims by when they run out
CREATE INDEX domains_claims ON domains (claim_expires_at) WHERE claimed_by IS NOT NULL;
-- domains whose claim has run out while they were served: their turn comes first
CREATE INDEX domains_lost ON domains (last_crawl_run_id) WHERE status = 'active' AND claimed_by IS NULL;

-- next_due_at is null while nothing is pending, and while the domain is claimed. images_due_at
-- is the same for images alone. It is set where the run limits its pages and takes images. waits
-- is why next_due_at has not come (crawl.Reason). turn_started is null once the domain has made
-- room for others, until its next turn.
ALTER TABLE run_domains
ADD COLUMN images_due_at timestamptz,
ADD COLUMN waits text NOT NULL DEFAULT '',
ALTER COLUMN turn_started DROP NOT NULL;
DROP INDEX run_domains_due;
DROP INDEX run_domains_next;
CREATE INDEX run_domains_due ON run_domains (run_id, next_due_at, waits) WHERE next_due_at IS NOT NULL;
CREATE INDEX run_domains_next ON run_domains (run_id, turns, priority DESC, domain) WHERE next_due_at < 'infinity';
-- what keeps a run from ending
CREATE INDEX run_domains_held ON run_domains (run_id) WHERE waits IN ('paused', 'window', 'in flight');
CREATE INDEX run_domains_images ON run_domains (run_id, images_due_at) WHERE images_due_at IS NOT NULL;

-- began_at is when the run's dispatcher first looked. max_time counts from then. bytes is what
-- was read of bodies, and null where the settings do not limit it. looked_at is when the
-- dispatcher looked last. opens_at is when the run's window opens, if the dispatcher has seen
-- it closed.
-- revisits_from is how far it is noted when pages are asked for again, in a run that has lately
-- begun to do that; null means: for all pages.
ALTER TABLE crawl_runs
ADD COLUMN began_at timestamptz,
ADD COLUMN bytes bigint,
ADD COLUMN looked_at timestamptz,
ADD COLUMN opens_at timestamptz,
ADD COLUMN revisits_from bigint;
UPDATE crawl_runs AS r SET
    began_at = r.started_at,
    bytes = CASE WHEN (r.settings ->> 'max_bytes')::bigint >= 0 THEN (
        SELECT coalesce(sum(rd.bytes), 0) FROM run_domains AS rd WHERE rd.run_id = r.id
    ) END,
    revisits_from = CASE WHEN (r.settings ->> 'recrawl')::boolean THEN 0 END;

-- When a run asks for a page again; null while it is pending there, or has faded out. every is
-- how long after the last visit that was.
CREATE TABLE revisits (
    page_id bigint NOT NULL,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    due_at timestamptz,
    every interval NOT NULL,
    PRIMARY KEY (page_id, run_id)
) WITH (fillfactor = 80);
CREATE INDEX revisits_due ON revisits (run_id, due_at) WHERE due_at IS NOT NULL;
INSERT INTO revisits (page_id, run_id, due_at, every)
SELECT p.id, p.recrawl_run_id, p.next_due_at, coalesce(p.next_due_at - p.fetched_at, interval '1 day')
FROM pages AS p WHERE p.recrawl_run_id IS NOT NULL;
DROP INDEX pages_due;
ALTER TABLE pages DROP COLUMN next_due_at, DROP COLUMN recrawl_run_id;

-- seeds that were not tried yet
CREATE INDEX page_crawls_seeds ON page_crawls (run_id, id)
WHERE outcome IS NULL AND depth = 0 AND previous_id IS NULL AND NOT prerequisite;

-- A visit to a page for a run, and after how long the run asks for it again; null is never.
CREATE TYPE revisit AS (
    page_id bigint,
    run_id bigint,
    visited timestamptz,
    every interval
);

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
    -- how many pages may be asked for of the domain
    budget bigint,
    depths jsonb,
    growths smallint,
    images_started bigint,
    -- whether it has something pending of which the crawl tells nothing
    more boolean,
    locked_at timestamptz,
    crowded boolean,
    spent text,
    turn_started bigint,
    bytes bigint
);

-- When a domain is due for a run: null is that the run has nothing pending there, infinity
-- that it is not before something changes. reason is why it is not due (crawl.Reason).
CREATE TYPE run_due AS (
    run_id bigint,
    domain text,
    at timestamptz,
    images_at timestamptz,
    reason text
);

DROP FUNCTION IF EXISTS domain_finish(text, jsonb, timestamptz, text, bigint, bigint []);
DROP FUNCTION IF EXISTS run_wake(bigint);
DROP FUNCTION IF EXISTS run_spend(bigint, bigint, bigint);
DROP FUNCTION IF EXISTS domain_claimable(domains);
DROP FUNCTION IF EXISTS domain_forbidden_until(text);
DROP FUNCTION IF EXISTS recrawls_older(bigint, text, timestamptz, bigint, integer);
DROP FUNCTION IF EXISTS lists_wake();

-- Which attempt at a visit to its page a crawl is, from 1. Counting those before cost more with
-- every page that was stored.
ALTER TABLE page_crawls ADD COLUMN attempt smallint NOT NULL DEFAULT 1;
UPDATE page_crawls AS c SET attempt = least(20, (
    SELECT count(*) FROM page_crawls AS x
    WHERE
        x.page_id = c.page_id AND x.run_id = c.run_id AND x.id <= c.id AND NOT x.prerequisite
        AND x.skipped IS DISTINCT FROM 'taken back' AND x.id >= coalesce((
            SELECT max(y.id) FROM page_crawls AS y
            WHERE y.page_id = c.page_id AND y.run_id = c.run_id AND y.id <= c.id AND y.again
        ), 0)
))
WHERE c.outcome IS NULL AND c.previous_id IS NOT NULL;

-- Whether a crawl is of a seed that was given without a scheme: where https cannot be
-- reached, it is asked for by http. A link, a redirect and a seed of https:// to the same
-- page are asked as they stand. On 100 million rows it takes milliseconds.
ALTER TABLE page_crawls ADD COLUMN bare boolean;
UPDATE page_crawls c SET bare = true
FROM domains d
WHERE d.bare AND c.domain = d.domain AND c.outcome IS NULL AND c.depth = 0 AND NOT c.prerequisite;

-- How many requests in a row for a robots.txt had no answer of any kind, though the name
-- of its host was known: that many tries https was given.
ALTER TABLE robots ADD COLUMN unreached integer NOT NULL DEFAULT 0;

DROP FUNCTION IF EXISTS image_passed_over(bigint, bigint);

-- Programs from before write when domains are due by themselves.
UPDATE schema_compatibility SET oldest = 23;

-- What was not due before somebody changes something is looked at once: too early does no
-- harm, as the first look computes it anew.
UPDATE run_domains SET next_due_at = now() WHERE next_due_at = 'infinity';

-- +goose Down
-- Migrations only go forward.
