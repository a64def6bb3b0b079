-- +goose Up

-- Types, tables, indexes and plain SQL constraints. The functions in ../functions change rows, a
-- file for each subject. The tables carry no policy: package decide chooses the next action in Go.

CREATE TYPE run_status AS ENUM ('running', 'stopped', 'done', 'paused');
CREATE TYPE domain_status AS ENUM ('pending', 'active', 'exhausted', 'blocked', 'unreachable');
CREATE TYPE page_status AS ENUM ('discovered', 'fetched', 'failed');
CREATE TYPE crawl_outcome AS ENUM (
    'success', 'failed', 'timeout', 'blocked_robots', 'blocked_4xx', 'blocked_5xx', 'skipped'
);
CREATE TYPE robots_verdict AS ENUM ('rules', 'allow_all', 'disallow_all', 'unreachable');

-- Describes this database in one row. A restored backup keeps its identity, because a namespace of
-- Temporal belongs to one database (wiring.ClaimNamespace).
CREATE TABLE installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The oldest schema version whose programs may use this database. A migration that drops a
    -- table or column of older programs raises it.
    min_schema_version bigint NOT NULL DEFAULT 1,
    -- a hash of the files in ../functions that were applied last
    functions text NOT NULL DEFAULT '',
    -- Attempts before it may be in files (mosey export crawls --move); null means all are here.
    moved_before timestamptz
);
INSERT INTO installation DEFAULT VALUES;

-- A named crawl. Its totals are the sums over run_domains, because pages must not share a row.
CREATE TABLE crawl_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    status run_status NOT NULL DEFAULT 'running',
    status_reason text NOT NULL DEFAULT '',
    -- null means until the run is resumed
    paused_until timestamptz,
    settings jsonb NOT NULL,
    -- begun requests and bytes of read bodies, each counted only while the settings limit it
    pages_started bigint NOT NULL DEFAULT 0,
    bytes bigint,
    -- the spent budget of the whole run (crawl.Budget); empty means within budget
    spent_budget text NOT NULL DEFAULT '',
    -- more domains are due than may be active
    has_waiting_domains boolean NOT NULL DEFAULT false,
    seedings bigint NOT NULL DEFAULT 0,
    -- The progress of reading links again after a wider depth or scope: crawl.Widening, or null.
    widening jsonb,
    -- The progress of scheduling pages again, in a run that has begun to recrawl. Null means done.
    revisits_after_page_id bigint,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- the first check of the run's dispatcher, from which max_time counts, and the last
    began_at timestamptz,
    last_poll_at timestamptz,
    -- when the run's window opens, if the dispatcher has seen it closed
    opens_at timestamptz,
    finished_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT crawl_runs_name_valid CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT crawl_runs_settings_are_an_object CHECK (jsonb_typeof(settings) = 'object'),
    CONSTRAINT crawl_runs_finished_or_running CHECK ((status = 'done') = (finished_at IS NOT NULL))
);

-- The author of each change of a run: crawl.RunChange. old_value and value are settings.
CREATE TABLE run_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    kind text NOT NULL,
    old_value jsonb,
    value jsonb,
    reason text NOT NULL DEFAULT '',
    until timestamptz,
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    -- identifies the change, so that repeated requests make it once
    decision text,
    CONSTRAINT run_changes_kind_known CHECK (kind IN ('create', 'set', 'pause', 'resume', 'stop'))
);
CREATE INDEX run_changes_run ON run_changes (run_id, id);
CREATE UNIQUE INDEX run_changes_decision ON run_changes (run_id, decision) WHERE decision IS NOT NULL;

-- The unit of politeness. claimed_by and claim_expires_at are the claim protocol: the claim
-- belongs to the domain's workflow and each fetch renews it.
CREATE TABLE domains (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain text NOT NULL UNIQUE,
    status domain_status NOT NULL DEFAULT 'pending',
    status_reason text NOT NULL DEFAULT '',
    -- the domain's priority (domain_priority), and when that was computed
    priority_score double precision NOT NULL DEFAULT 0,
    priority_computed_at timestamptz,
    -- no requests before; null means not deferred
    next_crawl_after timestamptz,
    -- No requests before, because its windows or those of its runs are closed. Null means unknown.
    opens_at timestamptz,
    claimed_by text,
    claim_expires_at timestamptz,
    last_crawl_run_id bigint REFERENCES crawl_runs (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- A domain is deferred if all its addresses are private and the worker may not request their
    -- network. A worker that may request refused_ip, one of them, lifts the deferral at once.
    refused_ip inet,
    refused_since timestamptz,
    -- seeded without a scheme: http is meant if https cannot be reached
    schemeless boolean NOT NULL DEFAULT false,
    -- the kind of list with the domain (seeds.Source), and its rank there, from 1
    source text,
    seed_rank integer,
    -- Counts over all runs, updated when the workflow ends and by mosey rank, not by pages.
    pages_crawled bigint NOT NULL DEFAULT 0,
    pages_discovered bigint NOT NULL DEFAULT 0,
    images_found bigint NOT NULL DEFAULT 0,
    images_stored bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    -- Of the last 100 requests: shares of failures and news, average duration and size, or null.
    error_rate real,
    yield_rate real,
    avg_response_ms integer,
    avg_page_bytes integer,
    -- the reason if the pages read by these requests are all placeholders (reasons.Placeholders);
    -- 'soft 404' if pages that do not exist are sent like others (robots.missing)
    placeholder text,
    first_crawled_at timestamptz,
    last_crawled_at timestamptz,
    counted_at timestamptz,
    -- the signs of its owner: crawl.Owner; and when it was first seen with another one, or null
    owner jsonb,
    owner_since timestamptz,
    -- grows with each change of the row
    version bigint NOT NULL DEFAULT 0,
    -- the plan for spending the domain's requests on its pages (crawl.DomainRecrawl), and its time
    recrawl jsonb,
    planned_at timestamptz,
    CONSTRAINT domains_claim_has_expiry CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX domains_claimed ON domains (last_crawl_run_id) WHERE claimed_by IS NOT NULL;
-- claims by expiry
CREATE INDEX domains_claims ON domains (claim_expires_at) WHERE claimed_by IS NOT NULL;
-- domains whose claim expired while they were served: they are claimed first
CREATE INDEX domains_claim_expired ON domains (last_crawl_run_id) WHERE status = 'active' AND claimed_by IS NULL;
CREATE INDEX domains_opens ON domains (domain) WHERE opens_at IS NOT NULL;
CREATE INDEX domains_refused ON domains (domain) WHERE refused_ip IS NOT NULL;

-- The decisions of operators about a domain, also lifted ones. The guard obeys pause, stop and
-- block. Delay, budget and window affect later decisions. Rows are retained.
CREATE TABLE domain_controls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain text NOT NULL,
    kind text NOT NULL,
    -- of a delay (ms), a budget (pages), a window (text)
    value jsonb,
    reason text NOT NULL DEFAULT '',
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    -- null means until it is lifted
    until timestamptz,
    lifted_at timestamptz,
    lifted_by text,
    -- Identifies the decision, so that it is stored once even if its response was lost, or null.
    decision text,
    CONSTRAINT domain_controls_kind_known CHECK (kind IN ('pause', 'stop', 'block', 'delay', 'budget', 'window')),
    CONSTRAINT domain_controls_value_iff_kind_takes_one CHECK ((value IS NULL) = (kind IN ('pause', 'stop', 'block'))),
    CONSTRAINT domain_controls_lifted_has_author CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);

CREATE UNIQUE INDEX domain_controls_in_force ON domain_controls (domain, kind) WHERE lifted_at IS NULL;
CREATE UNIQUE INDEX domain_controls_decision ON domain_controls (domain, decision) WHERE decision IS NOT NULL;
CREATE INDEX domain_controls_history ON domain_controls (domain, set_at DESC, id DESC);

-- Domains to erase (mosey block --forget): the texts of their pages. done_at is the end of the
-- erasure, null before it, also after a killed command.
CREATE TABLE domain_erasures (
    domain text PRIMARY KEY,
    requested_at timestamptz NOT NULL DEFAULT now(),
    requested_by text NOT NULL,
    reason text NOT NULL,
    done_at timestamptz
);

CREATE INDEX domain_erasures_pending ON domain_erasures (domain) WHERE done_at IS NULL;

-- The domains that may be crawled (package lists): none on the block list, and only those on the
-- allow list unless it is empty.
CREATE TABLE list_entries (
    list text NOT NULL,
    -- the canonical form: lists.Entry
    entry text NOT NULL,
    kind text NOT NULL,
    network cidr,
    reason text NOT NULL DEFAULT '',
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (list, entry),
    CONSTRAINT list_entries_list_known CHECK (list IN ('allow', 'block')),
    CONSTRAINT list_entries_kind_known CHECK (kind IN ('host', 'domain', 'below', 'network')),
    CONSTRAINT list_entries_network_iff_kind_network CHECK ((network IS NULL) = (kind <> 'network'))
);

-- workers cache all networks
CREATE INDEX list_entries_networks ON list_entries (list) WHERE kind = 'network';

-- The registered domains of domains (urls.Registered), except registered domains
-- themselves: the public suffix list is compiled into the worker.
CREATE TABLE registered_domains (
    domain text PRIMARY KEY,
    registered text NOT NULL
);

-- A domain's part in a run: its totals, and when it is due (functions/due.sql). Only the one
-- request in flight on the domain updates the totals. A foreign key to the run would lock a row
-- that all domains share. It would find nothing, because runs are never deleted.
CREATE TABLE run_domains (
    run_id bigint NOT NULL,
    domain text NOT NULL,
    registered text,
    seed boolean NOT NULL DEFAULT false,
    -- When the first pending page is due. Null means not pending, or a claimed domain. Infinity
    -- means not before a change. images_due_at is the same for images alone, set if the run limits
    -- its pages and takes images. wait_reason names the cause (reasons.Reason).
    next_due_at timestamptz,
    images_due_at timestamptz,
    wait_reason text NOT NULL DEFAULT '',
    -- the priority_score of the domain, for the index run_domains_next
    priority real NOT NULL DEFAULT 0,
    -- the number of times that the domain has yielded to waiting domains
    yield_count integer NOT NULL DEFAULT 0,
    -- The number of requests at its last claim. Null after it has yielded, until its next claim.
    requests_at_claim bigint DEFAULT 0,
    -- The start of its last request. Runs with pages of one domain take turns, longest wait first.
    last_request_at timestamptz,
    -- begun requests for pages, and for images
    pages_started bigint NOT NULL DEFAULT 0,
    images_started bigint NOT NULL DEFAULT 0,
    -- requests that were made or tried, without crawls that were closed instead
    requests bigint NOT NULL DEFAULT 0,
    success bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    timeout bigint NOT NULL DEFAULT 0,
    blocked_robots bigint NOT NULL DEFAULT 0,
    blocked_4xx bigint NOT NULL DEFAULT 0,
    blocked_5xx bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    -- the reasons for skipped or useless pages, as {reason: count}
    skips jsonb NOT NULL DEFAULT '{}',
    -- pages that forbid following their links
    nofollow bigint NOT NULL DEFAULT 0,
    -- images found on its pages, and images from it with recorded content
    images_found bigint NOT NULL DEFAULT 0,
    images_stored bigint NOT NULL DEFAULT 0,
    -- Counts the attempts that mosey export crawls --move has moved: the first eight like
    -- run_totals, the last one all of them. Null means zero.
    moved_totals bigint [],
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, domain)
) WITH (fillfactor = 80);

CREATE INDEX run_domains_domain ON run_domains (domain);
CREATE INDEX run_domains_registered ON run_domains (run_id, registered) WHERE registered IS NOT NULL;
CREATE INDEX run_domains_due ON run_domains (run_id, next_due_at, wait_reason) WHERE next_due_at IS NOT NULL;
CREATE INDEX run_domains_images ON run_domains (run_id, images_due_at) WHERE images_due_at IS NOT NULL;
-- domains in the order in which they are claimed
CREATE INDEX run_domains_next ON run_domains (run_id, yield_count, priority DESC, domain) WHERE next_due_at < 'infinity';
-- domains that keep a run from ending
CREATE INDEX run_domains_postponed ON run_domains (run_id) WHERE wait_reason IN ('paused', 'window', 'in flight');

-- Counts the attempts of a run by outcome, for its charts: in each minute and, after some days, in
-- each hour. They count as in the totals of run_domains.
CREATE TABLE run_outcomes (
    -- start of the minute or the hour
    ended_at timestamptz NOT NULL,
    run_id bigint NOT NULL,
    outcome crawl_outcome NOT NULL,
    attempts bigint NOT NULL,
    PRIMARY KEY (ended_at, run_id, outcome)
);

-- Outcomes that are not added up there yet: a row for each outcome of attempts that were recorded
-- together. Without an index or key, recording costs little. OutcomesAddUp runs each minute.
CREATE TABLE run_outcomes_new (
    ended_at timestamptz NOT NULL,
    run_id bigint NOT NULL,
    outcome crawl_outcome NOT NULL,
    attempts bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1);

-- Requests of a run to a registered domain; stored only while its settings limit them.
CREATE TABLE run_registered_domains (
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    registered text NOT NULL,
    pages_started bigint NOT NULL,
    PRIMARY KEY (run_id, registered)
) WITH (fillfactor = 80);

-- One canonical URL, forever.
CREATE TABLE pages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL,
    -- the request target as its first link, or a redirect, spells it; null means the URL's own
    request_target text,
    domain text NOT NULL,
    origin text NOT NULL,
    -- the kind of resource: page, robots, tdm, … (package kinds)
    kind text NOT NULL DEFAULT 'page',
    status page_status NOT NULL DEFAULT 'discovered',
    -- BCP 47; 35 characters is the longest tag that RFC 5646 §4.4.1 requires to be supported
    language varchar(35),
    -- the page's statements about itself: crawl.Signals
    signals jsonb,
    noindex boolean NOT NULL DEFAULT false,
    nofollow boolean NOT NULL DEFAULT false,
    -- the publisher's statements about its use: usage.Usage; null means no statement
    usage jsonb,
    -- the patterns of URLs that it is charged to: traps.Patterns, or null
    patterns text [],
    -- validators for the next request, and its earliest time: crawl.Visit
    etag text,
    last_modified timestamptz,
    fresh_until timestamptz,
    -- fingerprints of its content: crawl.ContentHash, crawl.SimHash
    content_hash bytea,
    simhash bigint,
    -- why it seems part of an endless space: crawl.Trap
    trap text,
    trap_evidence text,
    fetched_at timestamptz,
    failed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- its last visit brought only content of another page
    duplicate boolean NOT NULL DEFAULT false,
    -- The version of its extractor (crawl.ExtractorVersion). Null if unread or to be read anew.
    extractor smallint,
    -- the history of changes that its visits found: recrawl.History
    history jsonb,
    -- its images were recorded when it was last read
    images_recorded boolean,
    CONSTRAINT pages_url_bounded CHECK (octet_length(url) <= 2048),
    CONSTRAINT pages_request_target_bounded CHECK (octet_length(request_target) <= 2048),
    CONSTRAINT pages_url_unique UNIQUE (domain, url)
) WITH (
    -- as page_crawls: each new content leaves a dead row with entries in all indexes
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- duplicates within a domain
CREATE INDEX pages_content ON pages (domain, content_hash) WHERE content_hash IS NOT NULL;
-- domains with pages in a language
CREATE INDEX pages_language ON pages (language, domain) WHERE language IS NOT NULL;

-- The news of pages by pattern of URLs (traps.Pattern). Go decides about its limits (traps.Budget).
CREATE TABLE url_patterns (
    domain text NOT NULL,
    pattern text NOT NULL,
    seen integer NOT NULL DEFAULT 0,
    duplicates integer NOT NULL DEFAULT 0,
    -- duplicates that name another page as their canonical URL
    copies integer NOT NULL DEFAULT 0,
    -- the last run whose page was charged: a pattern forgets with each run
    run_id bigint,
    -- Of a path's pattern: the text that its pages share, which comparisons omit, and titles and
    -- fingerprints of the last pages with news (traps.Memory), a few kilobytes at most.
    shared_text bytea,
    fingerprints bytea,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (domain, pattern)
) WITH (fillfactor = 50);

-- the positions of closed attempts in the feed
CREATE SEQUENCE page_crawls_feed_position;

-- One attempt to fetch a page, retained forever; every request to a site is one. A row without an
-- outcome is also the work: pending while locked_at is null, else in flight.
--
-- page_id, run_id and previous_id are not foreign keys. Pages, runs and crawls are never deleted
-- (functions/history.sql), and functions that have just read or made them store their ids. The
-- checks would find nothing and lock a row each, one of them shared by all pages of a run.
CREATE TABLE page_crawls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    page_id bigint NOT NULL,
    -- the requested domain, which a redirect of robots.txt may have chosen
    domain text NOT NULL,
    priority smallint NOT NULL DEFAULT 0,
    scheduled_for timestamptz NOT NULL DEFAULT now(),
    locked_at timestamptz,
    -- the end of the request; it began duration_ms before
    completed_at timestamptz,
    outcome crawl_outcome,
    status_code smallint,
    error_message text,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Its place in the feed (mosey feed), in the order in which attempts were closed. A transaction
    -- has an id before it takes a position: FeedEnd waits for these transactions.
    feed_position bigint,
    run_id bigint NOT NULL,
    -- the previous crawl of this page in this run
    previous_id bigint,
    url text NOT NULL,
    kind text NOT NULL DEFAULT 'page',
    -- requested because a page needs it, such as robots.txt: not part of the frontier
    prerequisite boolean NOT NULL DEFAULT false,
    -- of the retry if this crawl fails or its worker dies; null means no retry
    retry_priority smallint,
    -- links from a seed, and redirects since the last link
    depth smallint NOT NULL DEFAULT 0,
    redirects smallint NOT NULL DEFAULT 0,
    duration_ms integer,
    -- body bytes on the wire
    bytes bigint,
    content_type text,
    ip inet,
    -- why no request was made, or why a response was useless (reasons.Reason)
    skipped text,
    -- why the content counts as unchanged since the last visit
    unchanged_reason text,
    -- The input of an audit. robots_version is the robots.txt that decided (robots_history). The
    -- delays precede the next request to the domain, the address and the subnet, with the reason.
    -- delay_ms is null without a request. The others are the server's own wishes.
    robots_version bigint,
    delay_ms bigint,
    delay_reason text,
    ip_delay_ms bigint,
    subnet cidr,
    subnet_delay_ms bigint,
    retry_after_ms bigint,
    -- the worker died: the request may have been made, and its end is unknown
    lost boolean NOT NULL DEFAULT false,
    -- the body exceeds the limit on reading; null means no
    truncated boolean,
    -- the first crawl of a further visit: its attempts are counted from here
    is_revisit boolean NOT NULL DEFAULT false,
    -- the registered domain whose delay the request observed, and that delay
    registered text,
    registered_delay_ms bigint,
    -- the number of this attempt in a visit to its page, from 1
    attempt smallint NOT NULL DEFAULT 1,
    -- A seed without a scheme: if https cannot be reached, it is requested by http. Links,
    -- redirects and https:// seeds to the same page keep their scheme.
    schemeless boolean,
    -- the worker of the request (workers), not a foreign key; null until it begins
    worker integer,
    -- the record of the response in an archive (crawl.Archived)
    archived jsonb,
    CONSTRAINT page_crawls_closed_has_time CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT page_crawls_closed_not_locked CHECK (outcome IS NULL OR locked_at IS NULL),
    CONSTRAINT page_crawls_status_known CHECK (status_code BETWEEN 100 AND 599),
    CONSTRAINT page_crawls_skipped_has_reason CHECK (
        CASE
            WHEN outcome = 'skipped' THEN skipped IS NOT NULL
            WHEN outcome IN ('success', 'blocked_4xx', 'blocked_5xx') THEN true ELSE skipped IS NULL
        END
    ),
    CONSTRAINT page_crawls_numbers CHECK (
        depth >= 0 AND redirects >= 0 AND duration_ms >= 0 AND bytes >= 0
    )
-- The holder of the domain's slot is the attempt in flight. No index has locked_at, so that
-- beginning an attempt changes no indexed value (a HOT update).
--
-- Closing it leaves a dead row with entries in all indexes. By default (a fifth) hundreds of
-- millions of them would gather in a large table, and one vacuum would read all indexes many times.
-- A closed row never changes. It is frozen at once, so that the vacuum against wraparound skips its
-- page.
) WITH (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0
);

-- A page's history, with both rules: a page enters a run once, and each later crawl names a
-- different predecessor. A prerequisite has no predecessor and stands alone.
CREATE UNIQUE INDEX page_crawls_page ON page_crawls (
    page_id, run_id, coalesce(previous_id, CASE WHEN prerequisite THEN -id ELSE 0 END)
);
-- a domain's history
CREATE INDEX page_crawls_domain_history ON page_crawls (domain, completed_at DESC) WHERE outcome IS NOT NULL;
-- the latest attempts of all domains
CREATE INDEX page_crawls_history ON page_crawls (completed_at DESC) WHERE outcome IS NOT NULL;
CREATE INDEX page_crawls_feed ON page_crawls (feed_position) WHERE outcome IS NOT NULL;
CREATE INDEX page_crawls_archived ON page_crawls (page_id, id) WHERE archived IS NOT NULL;
-- the next crawl of a domain in a run
CREATE INDEX page_crawls_next
ON page_crawls (domain, run_id, priority DESC, scheduled_for, id) WHERE outcome IS NULL;
-- pages to check again when a robots.txt changes
CREATE INDEX page_crawls_disallowed ON page_crawls (domain) WHERE outcome = 'blocked_robots';
-- seeds without an attempt
CREATE INDEX page_crawls_seeds ON page_crawls (run_id, id)
WHERE outcome IS NULL AND depth = 0 AND previous_id IS NULL AND NOT prerequisite;

-- When a run requests a page again: due_at is null while the page is pending there.
-- revisit_interval is the time between visits. A page without a row is not visited again.
CREATE TABLE revisits (
    page_id bigint NOT NULL,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    due_at timestamptz,
    revisit_interval interval NOT NULL,
    PRIMARY KEY (page_id, run_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX revisits_due ON revisits (run_id, due_at) WHERE due_at IS NOT NULL;

-- The link graph over all runs. Sitemaps and feeds that a site or page names are links with their
-- own kinds, which a run follows on request. The page or site that names a sitemap decides whose
-- URLs the sitemap may list. Pages are not foreign keys, as in page_crawls.
CREATE TABLE page_links (
    from_page_id bigint NOT NULL,
    to_page_id bigint NOT NULL,
    kind text NOT NULL DEFAULT 'link',
    nofollow boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- its text, or the text for an image in it, or null
    anchor text,
    -- crawl.Rel, or null
    rel smallint,
    -- For a removed link: when the removal was found, and when the page was read before, with the
    -- link. Null while it exists, as of its page's last visit.
    gone_at timestamptz,
    last_seen timestamptz,
    PRIMARY KEY (from_page_id, to_page_id, kind)
-- most rows never change: freeze them at once, as those of page_crawls
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 0);

CREATE INDEX page_links_to ON page_links (to_page_id);
-- Each page needs the redirects to it. Only operators need its other links.
CREATE INDEX page_links_redirects ON page_links (to_page_id) WHERE kind = 'redirect';

-- The scores of domains and pages by incoming links, from the last mosey rank (package rank).
-- Nothing else writes here, so that recording a link does not change a row that many links share.
CREATE TABLE domain_ranks (
    domain text PRIMARY KEY,
    -- the number of registered domains with links to it
    inlinks integer NOT NULL,
    -- from 0 to 1
    score real NOT NULL
);

-- Pages with links from another registered domain.
CREATE TABLE page_ranks (
    page_id bigint PRIMARY KEY,
    inlinks integer NOT NULL,
    score real NOT NULL
);

-- The terms of a page for searches (crawl.Index). The transaction that records a page writes its
-- row. About a second later a worker turns many rows into a segment of the index. A worker that
-- dies loses no terms. A page without a row is not found, whatever the index has.
CREATE TABLE page_keywords (
    page_id bigint PRIMARY KEY,
    domain text NOT NULL,
    -- as in pages
    language varchar(35),
    -- The current version of the page, 0 before the first. Until merges the index has older ones.
    version bigint NOT NULL DEFAULT 0,
    -- the index does not have these terms yet
    index_pending boolean NOT NULL DEFAULT true,
    -- the text search configurations of the stems
    configs text [] NOT NULL,
    second_language varchar(35),
    title text,
    headings text,
    description text,
    address text,
    body text,
    words integer NOT NULL DEFAULT 0,
    title_words integer NOT NULL DEFAULT 0,
    outline text [],
    -- the terms of other domains for the page (mosey rank), or null
    anchor_terms text
-- Long texts are stored apart, so that indexing a page does not write them again. Each page leaves
-- a dead row, which vacuum removes.
) WITH (toast_tuple_target = 1024, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX page_keywords_index_pending ON page_keywords (page_id) WHERE index_pending;

-- The segments of the index: crawl.Segment. Searches read complete segments.
CREATE TABLE index_segments (
    -- also the version of the pages that were first stored in it
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    pages integer NOT NULL,
    words bigint NOT NULL,
    bytes bigint NOT NULL,
    languages text [] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- when its dead or outdated pages were last counted
    checked_at timestamptz NOT NULL DEFAULT now(),
    -- For the target of a merge: whether it merges large segments, beside which small ones are
    -- merged. The next merge deletes the rows and chunks of an aborted one. Null means complete.
    merging boolean
);

-- The chunks of segments, which never change except for the scores of pages. Each fits into one
-- page of Postgres, so that reading it reads that page.
CREATE TABLE index_chunks (
    segment_id bigint NOT NULL,
    kind smallint NOT NULL,
    key bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (segment_id, kind, key)
) WITH (
    toast_tuple_target = 8160,
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.5
);

ALTER TABLE index_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE index_chunks ALTER COLUMN key SET STORAGE PLAIN;

-- Contents of robots.txt, each stored once for all origins. A body, for audits, is stored as
-- received: 1 KB as a rule, 500 KiB at most. The group for our agent is canonical, as UTF-8.
CREATE TABLE robots_contents (
    hash bytea PRIMARY KEY,
    content bytea NOT NULL,
    CONSTRAINT robots_contents_hash CHECK (hash = sha256(content))
);

-- The current robots.txt of an origin (RFC 9309).
CREATE TABLE robots (
    origin text PRIMARY KEY,
    domain text NOT NULL,
    verdict robots_verdict NOT NULL,
    -- the product token that the rules were read for
    agent text NOT NULL DEFAULT '',
    -- robots_contents; the origin's last row of robots_history names them, too
    rules_hash bytea NOT NULL,
    body_hash bytea,
    crawl_delay_ms bigint CHECK (crawl_delay_ms >= 0),
    -- the visit times that it declares (settings.ParseWindows), or null
    visit_times text,
    sitemaps text [] NOT NULL DEFAULT '{}',
    reason text NOT NULL DEFAULT '',
    status_code smallint,
    -- the origin's tdmrep.json: usage.TDM; null before the first request
    tdm jsonb,
    -- its answer for a page that does not exist: crawl.MissingPage; null before the first request
    missing jsonb,
    -- validators for the next request
    etag text,
    last_modified timestamptz,
    -- consecutive failed fetches, and the first failure
    failures integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    -- Consecutive requests without any response despite a resolved host name: attempts by https.
    unanswered_count integer NOT NULL DEFAULT 0,
    -- when the verdict was last read from a response; null means never
    read_at timestamptz,
    -- identifies this fetch: microseconds since the epoch
    version bigint NOT NULL,
    fetched_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

CREATE INDEX robots_domain ON robots (domain);

-- The contents of an origin's robots.txt: a row for each change, at most eight an origin. version
-- is the robots.version of the first fetch with these contents. A row holds until the next one.
CREATE TABLE robots_history (
    origin text NOT NULL,
    version bigint NOT NULL,
    verdict robots_verdict NOT NULL,
    agent text NOT NULL,
    rules_hash bytea NOT NULL REFERENCES robots_contents (hash),
    body_hash bytea REFERENCES robots_contents (hash),
    fetched_at timestamptz NOT NULL,
    PRIMARY KEY (origin, version)
);
-- finds contents without references
CREATE INDEX robots_history_rules ON robots_history (rules_hash);
CREATE INDEX robots_history_body ON robots_history (body_hash) WHERE body_hash IS NOT NULL;

-- The guard: key (domain:<domain>, ip:<address>, subnet:<network>) is closed before free_at.
CREATE TABLE politeness_slots (
    key text PRIMARY KEY,
    free_at timestamptz NOT NULL DEFAULT 'epoch',
    -- the request with the lease; null if free_at is a plain delay
    holder text,
    reason text NOT NULL DEFAULT '',
    -- the end of the queue for an address or a subnet
    queue_end timestamptz NOT NULL DEFAULT 'epoch',
    -- Domains that share an address or a subnet keep the strictest wanted delay, here the strictest
    -- recent one with its end. ended_at is the end of the last request.
    ended_at timestamptz,
    strictest_delay_ms bigint,
    strictest_delay_until timestamptz,
    -- the average duration of holding a shared slot
    avg_hold_ms bigint NOT NULL DEFAULT 0,
    -- Of a domain's slot: since when its attempts were undone because it could not be reached
    -- for an unknown reason. Null after it was reached.
    unreachable_since timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- The load that a domain can bear, by its last responses: crawl.Health.
CREATE TABLE domain_health (
    domain text PRIMARY KEY,
    health jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Times without a reachable host for a worker, by its own network; seen_at is its last report.
CREATE TABLE outages (
    worker text NOT NULL,
    began_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    reason text NOT NULL,
    PRIMARY KEY (worker, began_at)
);

-- Processes that serve the task queues, also dead ones, because attempts name them. Each has a
-- share of fleet_limit. It begins no request after share_until. Its last one ends by
-- permits_held_until.
CREATE TABLE workers (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- the identity in Temporal: mosey/VERSION PID@HOST
    identity text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    -- empty means no build ID
    build_id text NOT NULL DEFAULT '',
    role text NOT NULL,
    -- its own limit on requests in flight, and the longest duration of a request
    max_fetches integer NOT NULL,
    max_request_time interval NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- null while it runs, or until its death is noticed
    stopped_at timestamptz,
    -- it did not report its end
    lost boolean NOT NULL DEFAULT false,
    -- the number of its requests for a share
    renewal_count bigint NOT NULL DEFAULT 0,
    -- its report at seen_at: requests in flight, and the number that it could use
    in_flight integer NOT NULL DEFAULT 0,
    demand integer NOT NULL DEFAULT 0,
    -- its share, and until when it may begin requests in it
    share integer NOT NULL DEFAULT 0,
    share_until timestamptz,
    -- the most requests that it can have in flight until permits_held_until
    permits_held integer NOT NULL DEFAULT 0,
    permits_held_until timestamptz,

    CONSTRAINT workers_numbers CHECK (max_fetches > 0 AND in_flight >= 0 AND demand >= 0 AND share >= 0 AND permits_held >= 0)
) WITH (fillfactor = 50);
-- no index has a column that each report changes
CREATE INDEX workers_running ON workers (id) WHERE stopped_at IS NULL;

-- The limit on requests in flight of all workers, one row: its author, time and reason. Shares are
-- given one at a time, with the row locked (worker_renew).
CREATE TABLE fleet_limit (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- null means no limit
    max_fetches integer CHECK (max_fetches > 0),
    reason text NOT NULL DEFAULT '',
    set_by text NOT NULL DEFAULT '',
    -- null means never
    set_at timestamptz
);
INSERT INTO fleet_limit DEFAULT VALUES;

-- Seeds from a command line that SeedWorkflow has not stored yet.
CREATE TABLE staged_seeds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    url text NOT NULL
);

CREATE INDEX staged_seeds_run ON staged_seeds (run_id, id);

-- The number of stored entries of a seed file, while it is being stored. An interrupted import
-- resumes from there if the version of the file is the same.
CREATE TABLE seed_files (
    run_id bigint NOT NULL,
    file text NOT NULL,
    version text NOT NULL,
    entries bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, file)
);

-- The facts of images' bytes (crawl.ImageContent): one row for all URLs with the same bytes.
CREATE TABLE image_contents (
    sha256_hash text PRIMARY KEY CHECK (sha256_hash ~ '^[0-9a-f]{64}$'),
    file_size_bytes bigint NOT NULL,
    format text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    frames integer,
    -- null if the picture was not decoded, for the reason in undecoded_reason
    phash bigint,
    dhash bigint,
    undecoded_reason text,
    -- the picture has too little detail for its hashes to identify it
    low_detail boolean NOT NULL DEFAULT false,
    camera text,
    taken_at timestamptz,
    creator text,
    credit text,
    copyright text,
    license text,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    -- since when its bytes, and a small picture, are in the object store
    stored_at timestamptz,
    thumbnail_at timestamptz
);

-- The three bands of a hash (image_band_near): every third bit, so that each band has its part of
-- the less random low frequencies. Hashes that differ in at most 8 bits differ in at most 2 in one
-- band. Each index has the whole hash, so that only rows of similar images are read.
CREATE INDEX image_contents_band1 ON image_contents ((phash & -7905747460161236407), phash)
WHERE phash IS NOT NULL AND NOT low_detail;
CREATE INDEX image_contents_band2 ON image_contents ((phash & 2635249153387078802), phash)
WHERE phash IS NOT NULL AND NOT low_detail;
CREATE INDEX image_contents_band3 ON image_contents ((phash & 5270498306774157604), phash)
WHERE phash IS NOT NULL AND NOT low_detail;

-- An image: one row a URL, from when a page names it, with copied facts of image_contents.
CREATE TABLE images (
    id uuid PRIMARY KEY,
    -- the page of this URL, of kind image
    page_id bigint NOT NULL UNIQUE,
    url text NOT NULL UNIQUE,
    domain text NOT NULL,
    sha256_hash text REFERENCES image_contents (sha256_hash),
    width integer,
    height integer,
    format text,
    content_type text,
    file_size_bytes bigint,
    phash bigint,
    dhash bigint,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    -- the last response with these bytes
    last_seen_at timestamptz,
    -- null before the first fetch; false if its last fetch failed, by problem
    download_success boolean,
    problem text
) WITH (fillfactor = 80);

CREATE INDEX images_domain ON images (domain, id);
CREATE INDEX images_content ON images (sha256_hash) WHERE sha256_hash IS NOT NULL;

-- The pages that name an image, and how: one row an image and page.
CREATE TABLE provenance (
    id uuid PRIMARY KEY,
    image_id uuid NOT NULL REFERENCES images (id),
    page_id bigint NOT NULL,
    source_page_url text NOT NULL,
    source_domain text NOT NULL,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    discovery_type text NOT NULL,
    alt text,
    caption text,
    -- the page's own statement, in CSS pixels
    width integer,
    height integer,
    variants text [],
    -- when the page was found without it
    gone_at timestamptz,
    UNIQUE (page_id, image_id)
);

CREATE INDEX provenance_image ON provenance (image_id);
CREATE INDEX provenance_domain ON provenance (source_domain);

-- Parameters and results of functions.

-- A seed; n is its position among the seeds stored with it.
CREATE TYPE seed AS (
    url text,
    domain text,
    registered text,
    origin text,
    kind text,
    patterns text [],
    rank integer,
    schemeless boolean,
    n bigint,
    request_target text
);

-- For the nth domain of a list: a run, and its first crawl in line.
CREATE TYPE domain_run AS (
    n integer,
    crawl bigint,
    run_id bigint,
    -- a crawl is in flight, or is pending but is not in crawl
    needs_due_time boolean,
    -- the run's own budget leaves no page
    run_pages boolean,
    -- crawl.RunFacts, without the due attempt
    doc jsonb
);

-- When a domain is due for a run: null means that nothing is pending, infinity not before a
-- change. reason is the reason why it is not due (crawl.Reason).
CREATE TYPE run_due AS (
    run_id bigint,
    domain text,
    due_at timestamptz,
    images_due_at timestamptz,
    reason text
);

-- An attempt to begin; n is its position in the group. previous_holder never released the slot.
-- wait_ms and reason are set if the slot is not free.
CREATE TYPE start_attempt AS (
    n integer,
    domain text,
    attempt_id bigint,
    retry_priority smallint,
    hold interval,
    claim interval,
    max_request_time interval,
    queued boolean,
    -- the slots that it shares with other domains, and the wanted delay of each
    shared_keys text [],
    delays bigint [],
    previous_holder text,
    wait_ms bigint,
    reason text
);

-- The result of beginning. wait_ms precedes the next try unless granted. attempt_id has the lease.
CREATE TYPE begin_result AS (
    n integer,
    granted boolean,
    wait_ms bigint,
    reason text,
    attempt_id bigint
);

-- A worker's share of the requests in flight of all workers.
CREATE TYPE worker_share AS (
    share integer,
    -- how long it may begin requests in it, from its request for the share
    lease_ms bigint,
    -- null means no limit
    max_fetches integer
);

-- An attempt to record; n is its position in the group.
CREATE TYPE attempt AS (
    n integer,
    doc jsonb,
    domain text,
    attempt_id bigint,
    requested boolean,
    ended_at timestamptz
);

-- A closed attempt, with the subject of its crawl and the earlier state of its page.
CREATE TYPE closed_attempt AS (
    n integer,
    doc jsonb,
    domain text,
    attempt_id bigint,
    ended_at timestamptz,
    has_lease boolean,
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

-- Whether the page of an attempt brought no news.
CREATE TYPE charged_attempt AS (
    n integer,
    duplicate boolean
);

-- The result of recording an attempt.
CREATE TYPE recorded_attempt AS (
    n integer,
    closed boolean,
    has_new_due_domains boolean,
    facts jsonb
);

-- A link that an attempt has found, with data of the attempt; id is null while its page is not
-- stored, and after counts the links after it.
CREATE TYPE found_link AS (
    from_id bigint,
    run_id bigint,
    claimed_domain text,
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
    rel smallint,
    -- of its crawl; null means by its depth
    priority smallint,
    -- null means the URL's own
    request_target text
);

-- A page to add to a run, as follow (crawl.Follow) states. claimed_domain is the domain that the
-- caller has claimed, if any. after counts the pages found later on the same page.
CREATE TYPE found_page AS (
    run_id bigint,
    page_id bigint,
    domain text,
    url text,
    kind text,
    claimed_domain text,
    follow jsonb,
    is_new boolean,
    after integer,
    priority smallint
);

-- An image that an attempt has found on a page.
CREATE TYPE found_image AS (
    n integer,
    place bigint,
    page_id bigint,
    doc jsonb
);

-- A visit to a page for a run, and the time until the run requests it again; null means never.
CREATE TYPE revisit AS (
    page_id bigint,
    run_id bigint,
    visited_at timestamptz,
    revisit_interval interval
);

-- +goose Down
-- Migrations only go forward.
