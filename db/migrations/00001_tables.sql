-- +goose Up

CREATE TYPE run_status AS ENUM ('running', 'stopped', 'done');
CREATE TYPE domain_status AS ENUM ('pending', 'active', 'exhausted', 'blocked', 'unreachable');
CREATE TYPE page_status AS ENUM ('discovered', 'fetched', 'failed');
CREATE TYPE crawl_outcome AS ENUM (
    'success', 'failed', 'timeout', 'blocked_robots', 'blocked_4xx', 'blocked_5xx'
);
CREATE TYPE robots_verdict AS ENUM ('rules', 'allow_all', 'disallow_all', 'unreachable');

-- A named crawl with its settings. Its totals are the sums over run_domains, so
-- that no page has to update a row that all pages share.
CREATE TABLE crawl_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    status run_status NOT NULL DEFAULT 'running',
    status_reason text NOT NULL DEFAULT '',
    delay_ms bigint NOT NULL,
    ip_delay_ms bigint NOT NULL,
    subnet_delay_ms bigint NOT NULL,
    patience_ms bigint NOT NULL,
    -- a page fetched so lately is not fetched again
    min_refetch_ms bigint NOT NULL,
    -- when its pages may be asked for, see crawl.Windows; empty is always
    time_window text NOT NULL,
    -- answers count so many times as a delay; 0 is off
    latency_factor double precision NOT NULL,
    -- how long the circuit breaker leaves a domain alone; 0 is off
    graylist_ms bigint NOT NULL,
    max_graylistings integer NOT NULL,
    -- -1 in the next three is no limit
    max_pages bigint NOT NULL,
    max_pages_per_domain bigint NOT NULL,
    max_depth integer NOT NULL,
    max_attempts integer NOT NULL,
    max_active_domains integer NOT NULL,
    pages_per_activity integer NOT NULL,
    scope text NOT NULL,
    -- what the crawl is for, and so what a publisher can forbid it
    purpose text NOT NULL,
    -- whether a login page in place of a page counts as a refusal
    block_on_login boolean NOT NULL,
    standing boolean NOT NULL,
    -- requests for pages begun; kept only while max_pages sets a limit
    pages_started bigint NOT NULL DEFAULT 0,
    seedings bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT crawl_runs_name_valid CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT crawl_runs_scope_known CHECK (scope IN ('seeds', 'web')),
    CONSTRAINT crawl_runs_purpose_known CHECK (purpose IN ('search', 'ai-train', 'archive')),
    CONSTRAINT crawl_runs_settings_in_range CHECK (
        delay_ms >= 0 AND ip_delay_ms >= 0 AND subnet_delay_ms >= 0 AND patience_ms >= 0 AND min_refetch_ms >= 0 AND latency_factor >= 0
        AND graylist_ms >= 0 AND max_graylistings >= 1 AND max_pages >= -1
        AND max_pages_per_domain >= -1 AND max_depth >= -1 AND max_attempts >= 1
        AND max_active_domains >= 1 AND pages_per_activity >= 1
    ),
    CONSTRAINT crawl_runs_finished_or_running CHECK ((status = 'done') = (finished_at IS NOT NULL))
);

-- The unit of politeness. claimed_by, claim_expires_at and version are the claim
-- protocol: the claim belongs to the domain's workflow and each fetch renews it.
CREATE TABLE domains (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain text NOT NULL UNIQUE,
    status domain_status NOT NULL DEFAULT 'pending',
    status_reason text NOT NULL DEFAULT '',
    -- blocked by a person, until unblocked; seeding does not revive it
    banned boolean NOT NULL DEFAULT false,
    -- set by a person; null leaves the runs' own
    delay_ms bigint CHECK (delay_ms >= 0),
    max_pages bigint CHECK (max_pages >= -1),
    time_window text,
    priority_score double precision NOT NULL DEFAULT 0,
    -- put away until then; null may be crawled now
    next_crawl_after timestamptz,
    claimed_by text,
    claim_expires_at timestamptz,
    version bigint NOT NULL DEFAULT 0,
    last_crawl_run_id bigint REFERENCES crawl_runs (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT domains_banned_are_blocked CHECK (NOT banned OR status = 'blocked'),
    CONSTRAINT domains_claim_has_expiry CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX domains_claimable ON domains (priority_score DESC, id)
WHERE status IN ('pending', 'active');
CREATE INDEX domains_claimed ON domains (last_crawl_run_id) WHERE claimed_by IS NOT NULL;

-- A domain's part in a run: whether it was seeded, its budget, its totals. Only
-- the one request in flight on the domain updates it.
CREATE TABLE run_domains (
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    domain text NOT NULL,
    seed boolean NOT NULL DEFAULT false,
    pages_started bigint NOT NULL DEFAULT 0,
    success bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    timeout bigint NOT NULL DEFAULT 0,
    blocked_robots bigint NOT NULL DEFAULT 0,
    blocked_4xx bigint NOT NULL DEFAULT 0,
    blocked_5xx bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, domain)
) WITH (fillfactor = 80);

CREATE INDEX run_domains_domain ON run_domains (domain);

-- One canonical URL, forever.
CREATE TABLE pages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL UNIQUE,
    domain text NOT NULL,
    origin text NOT NULL,
    status page_status NOT NULL DEFAULT 'discovered',
    title text,
    -- BCP 47; 35 characters is the longest tag RFC 5646 §4.4.1 asks to support
    language varchar(35),
    canonical_url text,
    noindex boolean NOT NULL DEFAULT false,
    nofollow boolean NOT NULL DEFAULT false,
    -- what its publisher says about its use: permits.Permits; null is nothing
    permits jsonb,
    -- what to ask for it again with, and until when not to: crawl.Visit
    etag text,
    last_modified timestamptz,
    fresh_until timestamptz,
    -- fingerprints of its content: crawl.ContentHash, crawl.SimHash
    content_hash bytea,
    simhash bigint,
    -- why it is taken for a part of an endless space: crawl.Trap
    trap text,
    trap_evidence text,
    fetched_at timestamptz,
    failed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pages_url_bounded CHECK (octet_length(url) <= 2048)
) WITH (fillfactor = 90);

-- a domain's pages, and duplicates among them
CREATE INDEX pages_domain ON pages (domain, content_hash);
CREATE INDEX pages_language ON pages (language);

-- How much news the pages of a pattern of URLs (crawl.Pattern) have brought.
CREATE TABLE url_patterns (
    domain text NOT NULL,
    pattern text NOT NULL,
    seen integer NOT NULL DEFAULT 0,
    duplicates integer NOT NULL DEFAULT 0,
    -- fingerprints of the last pages that brought some
    recent bigint [] NOT NULL DEFAULT '{}',
    -- crawl.Budget is 0
    spent boolean GENERATED ALWAYS AS (50 + 3 * (seen - duplicates) - duplicates <= 0) STORED,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (domain, pattern)
) WITH (fillfactor = 50);

CREATE INDEX url_patterns_spent ON url_patterns (domain) WHERE spent;

-- One attempt to fetch a page, kept forever. A row whose outcome is null is also
-- the work: pending while locked_at is null, in flight when it is set.
CREATE TABLE page_crawls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    page_id bigint NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    domain text NOT NULL,
    priority smallint NOT NULL DEFAULT 0,
    scheduled_for timestamptz NOT NULL DEFAULT now(),
    locked_at timestamptz,
    -- the instant the request had ended; it began duration_ms before
    completed_at timestamptz,
    outcome crawl_outcome,
    status_code smallint,
    error_message text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    -- the crawl of this page in this run that this one follows
    previous_id bigint REFERENCES page_crawls (id),
    url text NOT NULL,
    -- links from a seed, and redirects since the last link
    depth smallint NOT NULL DEFAULT 0,
    redirects smallint NOT NULL DEFAULT 0,
    duration_ms integer,
    -- body bytes on the wire
    bytes bigint,
    content_type text,
    ip inet,
    -- why no request was made: fresh, min-refetch or trap
    skipped text,
    -- why the content counts as what it was at the last visit
    unchanged text,
    CONSTRAINT page_crawls_closed_has_time CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT page_crawls_closed_not_locked CHECK (outcome IS NULL OR locked_at IS NULL),
    CONSTRAINT page_crawls_status_known CHECK (status_code BETWEEN 100 AND 599),
    CONSTRAINT page_crawls_numbers CHECK (
        depth >= 0 AND redirects >= 0 AND duration_ms >= 0 AND bytes >= 0
    )
);

-- politeness look-ups
CREATE INDEX page_crawls_domain_open ON page_crawls (domain) WHERE outcome IS NULL;
-- worker poll
CREATE INDEX page_crawls_due ON page_crawls (scheduled_for, locked_at) WHERE outcome IS NULL;
-- a page's history
CREATE INDEX page_crawls_page_history ON page_crawls (page_id, created_at DESC);
-- The next crawl of a domain in a run. Its condition means the same as that of
-- the two indexes above but is not theirs: so the planner cannot mistake one of
-- them for it, as it does while the table is new and it knows nothing about it.
CREATE INDEX page_crawls_next
ON page_crawls (domain, run_id, priority DESC, scheduled_for, id) WHERE completed_at IS NULL;
-- pages to look at again when a robots.txt changes
CREATE INDEX page_crawls_disallowed ON page_crawls (domain) WHERE outcome = 'blocked_robots';
-- attempts in flight, or abandoned
CREATE INDEX page_crawls_locked ON page_crawls (domain) WHERE locked_at IS NOT NULL;
-- A page enters a run once, whoever finds it first; whatever follows says what
-- it follows, and nothing is followed twice.
CREATE UNIQUE INDEX page_crawls_first ON page_crawls (run_id, page_id) WHERE previous_id IS NULL;
CREATE UNIQUE INDEX page_crawls_follows ON page_crawls (previous_id) WHERE previous_id IS NOT NULL;

-- The link graph, over all runs.
CREATE TABLE page_links (
    from_page_id bigint NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    to_page_id bigint NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    kind text NOT NULL DEFAULT 'link',
    nofollow boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (from_page_id, to_page_id, kind),
    CONSTRAINT page_links_kind_known CHECK (kind IN ('link', 'redirect'))
);

CREATE INDEX page_links_to ON page_links (to_page_id);

-- What an origin's robots.txt said (RFC 9309).
CREATE TABLE robots (
    origin text PRIMARY KEY,
    domain text NOT NULL,
    verdict robots_verdict NOT NULL,
    -- the one group that applies to agent, in canonical form
    agent text NOT NULL DEFAULT '',
    rules text NOT NULL DEFAULT '',
    crawl_delay_ms bigint CHECK (crawl_delay_ms >= 0),
    sitemaps text [] NOT NULL DEFAULT '{}',
    reason text NOT NULL DEFAULT '',
    status_code smallint,
    -- the origin's tdmrep.json: permits.TDM; null while it has not been asked for
    tdm jsonb,
    -- what to ask for it again with
    etag text,
    last_modified timestamptz,
    -- fetches in a row that failed, and since when
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    -- when the verdict was last read from an answer; null if never
    read_at timestamptz,
    fetched_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

CREATE INDEX robots_domain ON robots (domain);

-- The guard: key (domain:<domain>, ip:<address>,
-- subnet:<network>) may not be asked before free_at.
CREATE TABLE politeness_slots (
    key text PRIMARY KEY,
    free_at timestamptz NOT NULL DEFAULT 'epoch',
    -- the request that holds the slot; null when free_at is a plain delay
    holder text,
    reason text NOT NULL DEFAULT '',
    -- the end of the queue of those who wait for an address or a subnet
    tail timestamptz NOT NULL DEFAULT 'epoch',
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- What a domain's last answers say about how much it can bear: crawl.Health.
CREATE TABLE domain_health (
    domain text PRIMARY KEY,
    health jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Every request that was made, for whatever: what an audit computes from. Rows are
-- never changed nor deleted.
CREATE TABLE requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- the domain that was asked, which a redirect of robots.txt may have chosen
    domain text NOT NULL,
    ip inet,
    kind text NOT NULL,
    -- of a page
    crawl_id bigint,
    -- of a robots.txt or tdmrep.json
    url text,
    -- what robots.txt a page was decided by, see robots_history
    origin text,
    robots_version bigint,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    status_code smallint,
    -- what had to pass before the domain and the address were asked again, and why
    delay_ms bigint NOT NULL,
    delay_reason text NOT NULL,
    ip_delay_ms bigint NOT NULL,
    subnet text,
    subnet_delay_ms bigint NOT NULL DEFAULT 0,
    -- what the server itself asked for
    retry_after_ms bigint,
    -- the worker died: started_at is when the slot was taken and ended_at when
    -- its hold ran out
    lost boolean NOT NULL DEFAULT false,
    CONSTRAINT requests_kind_known CHECK (kind IN ('page', 'robots', 'tdm')),
    CONSTRAINT requests_end_after_start CHECK (started_at <= ended_at)
);

CREATE INDEX requests_domain ON requests (domain, started_at);

-- What an origin's robots.txt has said, fetch by fetch; version as in robots.
CREATE TABLE robots_history (
    origin text NOT NULL,
    version bigint NOT NULL,
    verdict robots_verdict NOT NULL,
    agent text NOT NULL,
    rules text NOT NULL,
    fetched_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (origin, version)
);

-- Seeds that a command line has handed over and SeedWorkflow has yet to store.
CREATE TABLE staged_seeds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    url text NOT NULL
);

CREATE INDEX staged_seeds_run ON staged_seeds (run_id, id);

-- +goose Down
DROP TABLE staged_seeds, robots_history, requests, domain_health, politeness_slots, robots, page_links, page_crawls,
url_patterns, pages, run_domains, domains, crawl_runs;
DROP TYPE robots_verdict, crawl_outcome, page_status, domain_status, run_status;
