-- +goose Up

-- Tables, indexes and the constraints that are plain SQL. What changes rows is in
-- ../functions, a file each. The tables carry no policy: what to do next is
-- decided in Go (package decide), from what these rows say.

CREATE TYPE run_status AS ENUM ('running', 'stopped', 'done');
CREATE TYPE domain_status AS ENUM ('pending', 'active', 'exhausted', 'blocked', 'unreachable');
CREATE TYPE page_status AS ENUM ('discovered', 'fetched', 'failed');
CREATE TYPE crawl_outcome AS ENUM (
    'success', 'failed', 'timeout', 'blocked_robots', 'blocked_4xx', 'blocked_5xx', 'skipped'
);
CREATE TYPE robots_verdict AS ENUM ('rules', 'allow_all', 'disallow_all', 'unreachable');

-- The oldest schema version whose programs may use this database. A migration that
-- takes away what older programs need raises it.
CREATE TABLE schema_compatibility (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    oldest bigint NOT NULL,
    -- what the functions are made of: a hash of their files
    functions text NOT NULL DEFAULT ''
);
INSERT INTO schema_compatibility (oldest) VALUES (1);

-- A named crawl. Its totals are the sums over run_domains, so that no page has to
-- update a row that all pages share.
CREATE TABLE crawl_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    status run_status NOT NULL DEFAULT 'running',
    status_reason text NOT NULL DEFAULT '',
    -- crawl.Settings, validated in Go
    settings jsonb NOT NULL,
    -- requests begun; kept only while the settings limit them
    pages_started bigint NOT NULL DEFAULT 0,
    seedings bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT crawl_runs_name_valid CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT crawl_runs_settings_are_an_object CHECK (jsonb_typeof(settings) = 'object'),
    CONSTRAINT crawl_runs_finished_or_running CHECK ((status = 'done') = (finished_at IS NOT NULL))
);

-- The unit of politeness. claimed_by and claim_expires_at are the claim protocol:
-- the claim belongs to the domain's workflow and each fetch renews it.
CREATE TABLE domains (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain text NOT NULL UNIQUE,
    status domain_status NOT NULL DEFAULT 'pending',
    status_reason text NOT NULL DEFAULT '',
    priority_score double precision NOT NULL DEFAULT 0,
    -- deferred: not to be asked before; null is not deferred
    next_crawl_after timestamptz,
    claimed_by text,
    claim_expires_at timestamptz,
    last_crawl_run_id bigint REFERENCES crawl_runs (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT domains_claim_has_expiry CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX domains_claimed ON domains (last_crawl_run_id) WHERE claimed_by IS NOT NULL;

-- What people have decided about a domain, and took back: who, when, why and until
-- when. The guard obeys pause, stop and block; delay, budget and window bear on
-- what is decided next. Rows are kept.
CREATE TABLE domain_controls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain text NOT NULL,
    kind text NOT NULL,
    -- of a delay (ms), a budget (pages), a window (text)
    value jsonb,
    reason text NOT NULL DEFAULT '',
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    -- null is until it is lifted
    until timestamptz,
    lifted_at timestamptz,
    lifted_by text,
    CONSTRAINT domain_controls_kind_known CHECK (kind IN ('pause', 'stop', 'block', 'delay', 'budget', 'window')),
    CONSTRAINT domain_controls_value_where_wanted CHECK ((value IS NULL) = (kind IN ('pause', 'stop', 'block'))),
    CONSTRAINT domain_controls_lifted_by_somebody CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);

CREATE UNIQUE INDEX domain_controls_in_force ON domain_controls (domain, kind) WHERE lifted_at IS NULL;

-- A domain's part in a run: whether it was seeded, its totals, and when it has
-- something due. Only the one request in flight on the domain updates the totals.
CREATE TABLE run_domains (
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    domain text NOT NULL,
    seed boolean NOT NULL DEFAULT false,
    -- when the dispatcher is to look at it: it may be earlier than something is due,
    -- never later. Null while nothing is pending, infinity while what is pending
    -- cannot be due before somebody changes something.
    next_due_at timestamptz,
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
CREATE INDEX run_domains_due ON run_domains (run_id, next_due_at) WHERE next_due_at IS NOT NULL;

-- One canonical URL, forever.
CREATE TABLE pages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL,
    domain text NOT NULL,
    origin text NOT NULL,
    -- what is fetched: page, robots, tdm, …; the kinds are Go's (crawl.Kind)
    kind text NOT NULL DEFAULT 'page',
    status page_status NOT NULL DEFAULT 'discovered',
    -- BCP 47; 35 characters is the longest tag RFC 5646 §4.4.1 asks to support
    language varchar(35),
    -- what the page says of itself: crawl.Signals
    signals jsonb,
    noindex boolean NOT NULL DEFAULT false,
    nofollow boolean NOT NULL DEFAULT false,
    -- what its publisher says about its use: usage.Usage; null is nothing
    usage jsonb,
    -- patterns of URLs that it is charged to: traps.Patterns; null is none
    patterns text [],
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
    CONSTRAINT pages_url_bounded CHECK (octet_length(url) <= 2048),
    CONSTRAINT pages_url_unique UNIQUE (domain, url)
) WITH (fillfactor = 90);

-- duplicates within a domain
CREATE INDEX pages_content ON pages (domain, content_hash) WHERE content_hash IS NOT NULL;
CREATE INDEX pages_language ON pages (language) WHERE language IS NOT NULL;

-- How much news the pages of a pattern of URLs (traps.Pattern) have brought.
-- Whether that is too little is decided in Go (traps.Budget).
CREATE TABLE url_patterns (
    domain text NOT NULL,
    pattern text NOT NULL,
    seen integer NOT NULL DEFAULT 0,
    duplicates integer NOT NULL DEFAULT 0,
    -- fingerprints of the last pages that brought some
    recent bigint [] NOT NULL DEFAULT '{}',
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (domain, pattern)
) WITH (fillfactor = 50);

-- One attempt to fetch a page, kept forever; every request to a site is one. A row
-- whose outcome is null is also the work: pending while locked_at is null, in
-- flight when it is set.
CREATE TABLE page_crawls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    page_id bigint NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    -- the domain asked, which a redirect of robots.txt may have chosen
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
    kind text NOT NULL DEFAULT 'page',
    -- asked for because a page needs it, as robots.txt is: not part of the frontier
    prerequisite boolean NOT NULL DEFAULT false,
    -- if its worker dies, the page is not tried again
    final boolean NOT NULL DEFAULT false,
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
    -- what an audit computes from. The robots.txt a page was decided by, see
    -- robots_history; what had to pass before the domain, the address and the subnet
    -- were asked again, and why; what the server itself asked for. delay_ms is null
    -- where no request was made.
    robots_version bigint,
    delay_ms bigint,
    delay_reason text,
    ip_delay_ms bigint,
    subnet cidr,
    subnet_delay_ms bigint,
    retry_after_ms bigint,
    -- the worker died: the request may have been made, and when it ended is unknown
    lost boolean NOT NULL DEFAULT false,
    CONSTRAINT page_crawls_closed_has_time CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT page_crawls_closed_not_locked CHECK (outcome IS NULL OR locked_at IS NULL),
    CONSTRAINT page_crawls_status_known CHECK (status_code BETWEEN 100 AND 599),
    CONSTRAINT page_crawls_skipped_says_why CHECK ((outcome = 'skipped') = (skipped IS NOT NULL)),
    CONSTRAINT page_crawls_numbers CHECK (
        depth >= 0 AND redirects >= 0 AND duration_ms >= 0 AND bytes >= 0
    )
);

-- a page's history
CREATE INDEX page_crawls_page_history ON page_crawls (page_id, created_at DESC);
-- a domain's history
CREATE INDEX page_crawls_domain_history ON page_crawls (domain, completed_at DESC) WHERE outcome IS NOT NULL;
-- the next crawl of a domain in a run
CREATE INDEX page_crawls_next
ON page_crawls (domain, run_id, priority DESC, scheduled_for, id) WHERE outcome IS NULL;
-- pages to look at again when a robots.txt changes
CREATE INDEX page_crawls_disallowed ON page_crawls (domain) WHERE outcome = 'blocked_robots';
-- attempts in flight, or abandoned
CREATE INDEX page_crawls_locked ON page_crawls (domain) WHERE locked_at IS NOT NULL;
-- A page enters a run once, however often it is found. Each later crawl names the
-- one it follows, and none is followed twice.
CREATE UNIQUE INDEX page_crawls_first ON page_crawls (domain, run_id, page_id)
WHERE previous_id IS NULL AND NOT prerequisite;
CREATE UNIQUE INDEX page_crawls_follows ON page_crawls (domain, previous_id) WHERE previous_id IS NOT NULL;

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

-- Texts of robots.txt: the one group that applies to us, in canonical form. Most
-- fetches, and many sites, have the same.
CREATE TABLE robots_texts (
    hash bytea PRIMARY KEY,
    rules text NOT NULL,
    CONSTRAINT robots_texts_hash CHECK (hash = sha256(convert_to(rules, 'UTF8')))
);

-- What an origin's robots.txt says now (RFC 9309).
CREATE TABLE robots (
    origin text PRIMARY KEY,
    domain text NOT NULL,
    verdict robots_verdict NOT NULL,
    -- the product token that the rules were read for
    agent text NOT NULL DEFAULT '',
    rules_hash bytea NOT NULL REFERENCES robots_texts (hash),
    crawl_delay_ms bigint CHECK (crawl_delay_ms >= 0),
    sitemaps text [] NOT NULL DEFAULT '{}',
    reason text NOT NULL DEFAULT '',
    status_code smallint,
    -- the origin's tdmrep.json: usage.TDM; null while it has not been asked for
    tdm jsonb,
    -- what to ask for it again with
    etag text,
    last_modified timestamptz,
    -- fetches in a row that failed, and since when
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    -- when the verdict was last read from an answer; null if never
    read_at timestamptz,
    -- identifies this fetch: microseconds since the epoch
    version bigint NOT NULL,
    fetched_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

CREATE INDEX robots_domain ON robots (domain);

-- What an origin's robots.txt has said, fetch by fetch; version as in robots.
CREATE TABLE robots_history (
    origin text NOT NULL,
    version bigint NOT NULL,
    verdict robots_verdict NOT NULL,
    agent text NOT NULL,
    rules_hash bytea NOT NULL REFERENCES robots_texts (hash),
    fetched_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (origin, version)
);

-- The guard: key (domain:<domain>, ip:<address>, subnet:<network>) may not be asked
-- before free_at.
CREATE TABLE politeness_slots (
    key text PRIMARY KEY,
    free_at timestamptz NOT NULL DEFAULT 'epoch',
    -- the request that has the lease; null when free_at is a plain delay
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

-- Seeds that a command line has handed over and SeedWorkflow has yet to store.
CREATE TABLE staged_seeds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    url text NOT NULL
);

CREATE INDEX staged_seeds_run ON staged_seeds (run_id, id);

CREATE TYPE slot_answer AS (
    granted boolean,
    -- how long to wait before asking again, when not granted
    wait_ms bigint,
    reason text,
    -- the crawl that has the lease
    crawl_id bigint
);

-- what crawl_record returns
CREATE TYPE crawl_recorded AS (
    closed boolean,
    news boolean,
    facts jsonb
);

-- +goose Down
-- Migrations only go forward.
