-- +goose Up

-- Types, tables, indexes and the constraints that are plain SQL. What changes rows is in
-- ../functions, a file for each subject. The tables carry no policy: what to do next is
-- decided in Go (package decide), from what these rows say.

CREATE TYPE run_status AS ENUM ('running', 'stopped', 'done', 'paused');
CREATE TYPE domain_status AS ENUM ('pending', 'active', 'exhausted', 'blocked', 'unreachable');
CREATE TYPE page_status AS ENUM ('discovered', 'fetched', 'failed');
CREATE TYPE crawl_outcome AS ENUM (
    'success', 'failed', 'timeout', 'blocked_robots', 'blocked_4xx', 'blocked_5xx', 'skipped'
);
CREATE TYPE robots_verdict AS ENUM ('rules', 'allow_all', 'disallow_all', 'unreachable');

-- One row about this database. Its identity is kept by a backup that is restored: a namespace of
-- Temporal belongs to one database (wiring.ClaimNamespace).
CREATE TABLE installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The oldest schema version whose programs may use this database. A migration that
    -- takes away a table or column of older programs raises it.
    oldest bigint NOT NULL DEFAULT 1,
    -- a hash of the files in ../functions that were applied last
    functions text NOT NULL DEFAULT '',
    -- Attempts that ended before may be in files instead (mosey export crawls --move). Null means that
    -- all attempts are stored here.
    moved_before timestamptz
);
INSERT INTO installation DEFAULT VALUES;

-- A named crawl. Its totals are the sums over run_domains, so that no page has to
-- update a row that all pages share.
CREATE TABLE crawl_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    status run_status NOT NULL DEFAULT 'running',
    status_reason text NOT NULL DEFAULT '',
    -- null is until the run is resumed
    paused_until timestamptz,
    -- the settings of the run, validated in Go
    settings jsonb NOT NULL,
    -- requests begun and bytes of bodies read, each kept only while the settings limit it
    pages_started bigint NOT NULL DEFAULT 0,
    bytes bigint,
    -- which budget of the whole run is spent (crawl.Budget); empty means none
    spent text NOT NULL DEFAULT '',
    -- more domains are due than may be active
    crowded boolean NOT NULL DEFAULT false,
    seedings bigint NOT NULL DEFAULT 0,
    -- How far the links of what the run has crawled have been looked at again since its
    -- depth or scope was widened: crawl.Widening. Null means: nothing to do.
    widening jsonb,
    -- How far it is noted when pages are asked for again, in a run that has lately begun to
    -- do that. Null means: for all pages.
    revisits_from bigint,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- when the run's dispatcher looked first, from which max_time counts, and last
    began_at timestamptz,
    looked_at timestamptz,
    -- when the run's window opens, if the dispatcher has seen it closed
    opens_at timestamptz,
    finished_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT crawl_runs_name_valid CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
    CONSTRAINT crawl_runs_settings_are_an_object CHECK (jsonb_typeof(settings) = 'object'),
    CONSTRAINT crawl_runs_finished_or_running CHECK ((status = 'done') = (finished_at IS NOT NULL))
);

-- Who has made, changed, paused, resumed or stopped a run: crawl.RunChange. was and value
-- are the settings that were changed, before and after.
CREATE TABLE run_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    kind text NOT NULL,
    was jsonb,
    value jsonb,
    reason text NOT NULL DEFAULT '',
    until timestamptz,
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    -- names what made it, so that it is made once however often it is asked for
    decision text,
    CONSTRAINT run_changes_kind_known CHECK (kind IN ('create', 'set', 'pause', 'resume', 'stop'))
);
CREATE INDEX run_changes_run ON run_changes (run_id, id);
CREATE UNIQUE INDEX run_changes_decision ON run_changes (run_id, decision) WHERE decision IS NOT NULL;

-- The unit of politeness. claimed_by and claim_expires_at are the claim protocol:
-- the claim belongs to the domain's workflow and each fetch renews it.
CREATE TABLE domains (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    domain text NOT NULL UNIQUE,
    status domain_status NOT NULL DEFAULT 'pending',
    status_reason text NOT NULL DEFAULT '',
    -- how soon the domain's turn comes (domain_priority), and when that was computed
    priority_score double precision NOT NULL DEFAULT 0,
    priority_computed_at timestamptz,
    -- not to be asked before; null is not deferred
    next_crawl_after timestamptz,
    -- Nothing of the domain is asked before, as its windows, or those of the runs that want
    -- something there, are closed until then. Null is not known.
    opens_at timestamptz,
    claimed_by text,
    claim_expires_at timestamptz,
    last_crawl_run_id bigint REFERENCES crawl_runs (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- A domain is deferred if all of its addresses are private and the worker is not told
    -- to allow their network. refused_ip is one of them: a worker that may ask it lifts
    -- the deferral at once. refused_since is when the deferral began.
    refused_ip inet,
    refused_since timestamptz,
    -- seeded without a scheme: where https cannot be reached, http is meant
    bare boolean NOT NULL DEFAULT false,
    -- which kind of list named it (crawl.SeedSource), and its rank there, from 1
    source text,
    seed_rank integer,
    -- What is known of it over all runs, counted when its workflow ends and by mosey
    -- rank: a page writes no row for it.
    pages_crawled bigint NOT NULL DEFAULT 0,
    pages_discovered bigint NOT NULL DEFAULT 0,
    images_found bigint NOT NULL DEFAULT 0,
    images_stored bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    -- Of its last 100 requests: the shares that failed and that brought something new, and
    -- how long an answer took and how large it was on average. Null if there were none.
    error_rate real,
    yield_rate real,
    avg_response_ms integer,
    avg_page_bytes integer,
    first_crawled_at timestamptz,
    last_crawled_at timestamptz,
    counted_at timestamptz,
    -- of the row: it grows with each change
    version bigint NOT NULL DEFAULT 0,
    -- how the requests to it are spent on its pages (crawl.DomainRecrawl), and when that was
    -- planned
    recrawl jsonb,
    planned_at timestamptz,
    CONSTRAINT domains_claim_has_expiry CHECK ((claimed_by IS NULL) = (claim_expires_at IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX domains_claimed ON domains (last_crawl_run_id) WHERE claimed_by IS NOT NULL;
-- claims by when they run out
CREATE INDEX domains_claims ON domains (claim_expires_at) WHERE claimed_by IS NOT NULL;
-- domains whose claim has run out while they were served: their turn comes first
CREATE INDEX domains_lost ON domains (last_crawl_run_id) WHERE status = 'active' AND claimed_by IS NULL;
CREATE INDEX domains_opens ON domains (domain) WHERE opens_at IS NOT NULL;
CREATE INDEX domains_refused ON domains (domain) WHERE refused_ip IS NOT NULL;

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
    -- Names the decision, so that one that is stored again, its answer lost, is stored
    -- once. Null where it cannot be.
    decision text,
    CONSTRAINT domain_controls_kind_known CHECK (kind IN ('pause', 'stop', 'block', 'delay', 'budget', 'window')),
    CONSTRAINT domain_controls_value_where_wanted CHECK ((value IS NULL) = (kind IN ('pause', 'stop', 'block'))),
    CONSTRAINT domain_controls_lifted_by_somebody CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);

CREATE UNIQUE INDEX domain_controls_in_force ON domain_controls (domain, kind) WHERE lifted_at IS NULL;
CREATE UNIQUE INDEX domain_controls_decision ON domain_controls (domain, decision) WHERE decision IS NOT NULL;
CREATE INDEX domain_controls_history ON domain_controls (domain, set_at DESC, id DESC);

-- Domains that are to be forgotten (mosey block --forget): what their pages said is erased. done_at
-- is when all of it was gone. It is null before, also after a command that was killed.
CREATE TABLE forgotten (
    domain text PRIMARY KEY,
    asked_at timestamptz NOT NULL DEFAULT now(),
    asked_by text NOT NULL,
    reason text NOT NULL,
    done_at timestamptz
);

CREATE INDEX forgotten_open ON forgotten (domain) WHERE done_at IS NULL;

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

-- workers hold all networks in memory
CREATE INDEX list_entries_networks ON list_entries (list) WHERE kind = 'network';

-- The registered domains that domains are part of (urls.RegistrableDomain), but for those
-- that are registered themselves: the list of public suffixes is compiled into the worker.
CREATE TABLE registered_domains (
    domain text PRIMARY KEY,
    registered text NOT NULL
);

-- A domain's part in a run: whether it was seeded, its totals, and when it has
-- something due (functions/due.sql). Only the one request in flight on the domain updates
-- the totals. Runs are never deleted, and what stores a row has just read its run: a check
-- of the run would lock a row that all domains share.
CREATE TABLE run_domains (
    run_id bigint NOT NULL,
    domain text NOT NULL,
    registered text,
    seed boolean NOT NULL DEFAULT false,
    -- When the first pending page is due. Null while nothing is pending, and while the
    -- domain is claimed. Infinity while something has to change before a page can be due.
    -- images_due_at is the same for images alone, set if the run limits its pages and
    -- takes images. waits is why next_due_at has not come (reasons.Reason).
    next_due_at timestamptz,
    images_due_at timestamptz,
    waits text NOT NULL DEFAULT '',
    -- the priority_score of the domain, for the index run_domains_next
    priority real NOT NULL DEFAULT 0,
    -- how often the domain has made room for others that wait
    turns integer NOT NULL DEFAULT 0,
    -- How many requests there had been when it was claimed last. Null once it has made room
    -- for others, until its next turn.
    turn_started bigint DEFAULT 0,
    -- When its last request began. Runs with pages of one domain take turns: the one that has waited longest
    -- is first.
    served_at timestamptz,
    -- requests begun for pages, and for images
    pages_started bigint NOT NULL DEFAULT 0,
    images_started bigint NOT NULL DEFAULT 0,
    -- requests that were made or tried, without what was closed instead
    requests bigint NOT NULL DEFAULT 0,
    success bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    timeout bigint NOT NULL DEFAULT 0,
    blocked_robots bigint NOT NULL DEFAULT 0,
    blocked_4xx bigint NOT NULL DEFAULT 0,
    blocked_5xx bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    -- why pages were skipped, or gave nothing, as {reason: count}
    skips jsonb NOT NULL DEFAULT '{}',
    -- pages that let no link be followed
    nofollow bigint NOT NULL DEFAULT 0,
    -- images found on its pages, and images from it whose content was recorded
    images_found bigint NOT NULL DEFAULT 0,
    images_stored bigint NOT NULL DEFAULT 0,
    -- Counts the attempts that mosey export crawls --move has moved: the first eight like run_totals,
    -- the last one all of them. Null means that none was moved.
    moved bigint [],
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, domain)
) WITH (fillfactor = 80);

CREATE INDEX run_domains_domain ON run_domains (domain);
CREATE INDEX run_domains_registered ON run_domains (run_id, registered) WHERE registered IS NOT NULL;
CREATE INDEX run_domains_due ON run_domains (run_id, next_due_at, waits) WHERE next_due_at IS NOT NULL;
CREATE INDEX run_domains_images ON run_domains (run_id, images_due_at) WHERE images_due_at IS NOT NULL;
-- those whose turn it is
CREATE INDEX run_domains_next ON run_domains (run_id, turns, priority DESC, domain) WHERE next_due_at < 'infinity';
-- what keeps a run from ending
CREATE INDEX run_domains_held ON run_domains (run_id) WHERE waits IN ('paused', 'window', 'in flight');

-- How many attempts of a run have ended how, in each minute and, from before a few days, in each
-- hour: what its charts are drawn from. They count as the totals of run_domains do.
CREATE TABLE run_outcomes (
    -- begin of the minute or the hour
    ended_at timestamptz NOT NULL,
    run_id bigint NOT NULL,
    outcome crawl_outcome NOT NULL,
    attempts bigint NOT NULL,
    PRIMARY KEY (ended_at, run_id, outcome)
);

-- What is not added up there yet: a row for each outcome of attempts that were recorded
-- together. It has no index and no key, so that recording costs little and waits for nobody. A
-- worker adds its rows up each minute (OutcomesAddUp).
CREATE TABLE run_outcomes_new (
    ended_at timestamptz NOT NULL,
    run_id bigint NOT NULL,
    outcome crawl_outcome NOT NULL,
    attempts bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_threshold = -1);

-- Requests of a run to all domains of a registered domain; kept only while its settings
-- limit them.
CREATE TABLE run_registered (
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    registered text NOT NULL,
    pages_started bigint NOT NULL,
    PRIMARY KEY (run_id, registered)
) WITH (fillfactor = 80);

-- One canonical URL, forever.
CREATE TABLE pages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text NOT NULL,
    domain text NOT NULL,
    origin text NOT NULL,
    -- what is fetched: page, robots, tdm, …; the kinds are Go's (package kinds)
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
    -- patterns of URLs that it is charged to: traps.Patterns; null if there are none
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
    -- its last visit brought nothing that another page had not
    duplicate boolean NOT NULL DEFAULT false,
    -- The version of the extractor that has read the page (crawl.ExtractorVersion). Null if
    -- none has, or if the page must be read anew.
    extractor smallint,
    -- what visits have told of how often the page changes: recrawl.History
    history jsonb,
    -- its images were recorded when it was read last
    images boolean,
    CONSTRAINT pages_url_bounded CHECK (octet_length(url) <= 2048),
    CONSTRAINT pages_url_unique UNIQUE (domain, url)
) WITH (
    -- as page_crawls: each new content leaves a dead row with entries in all indexes
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- duplicates within a domain
CREATE INDEX pages_content ON pages (domain, content_hash) WHERE content_hash IS NOT NULL;
-- which domains have pages in a language
CREATE INDEX pages_language ON pages (language, domain) WHERE language IS NOT NULL;

-- How much news the pages of a pattern of URLs (traps.Pattern) have brought.
-- Whether that is too little is decided in Go (traps.Budget).
CREATE TABLE url_patterns (
    domain text NOT NULL,
    pattern text NOT NULL,
    seen integer NOT NULL DEFAULT 0,
    duplicates integer NOT NULL DEFAULT 0,
    -- duplicates that name another page as their canonical URL
    copies integer NOT NULL DEFAULT 0,
    -- the last run whose page was charged: a pattern forgets with each run
    run_id bigint,
    -- Of a path's pattern: the text that its pages share, which is left out when they are
    -- compared, and the titles and fingerprints of the last that brought news
    -- (traps.Memory). A few kilobytes at most.
    shared bytea,
    fingerprints bytea,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (domain, pattern)
) WITH (fillfactor = 50);

-- One attempt to fetch a page, kept forever; every request to a site is one. A row
-- whose outcome is null is also the work: pending while locked_at is null, in
-- flight when it is set.
--
-- page_id, run_id and previous_id are no foreign keys. Pages, runs and crawls are never
-- deleted (functions/history.sql), and their ids are stored by the functions
-- that have just read or made the rows. The checks would find nothing, and each would lock
-- a row, that of crawl_runs one that all pages share.
CREATE TABLE page_crawls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    page_id bigint NOT NULL,
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
    run_id bigint NOT NULL,
    -- the crawl of this page in this run that this one follows
    previous_id bigint,
    url text NOT NULL,
    kind text NOT NULL DEFAULT 'page',
    -- asked for because a page needs it, as robots.txt is: not part of the frontier
    prerequisite boolean NOT NULL DEFAULT false,
    -- of the crawl that tries the page again if this one fails, or its worker dies; null means none
    retry_priority smallint,
    -- links from a seed, and redirects since the last link
    depth smallint NOT NULL DEFAULT 0,
    redirects smallint NOT NULL DEFAULT 0,
    duration_ms integer,
    -- body bytes on the wire
    bytes bigint,
    content_type text,
    ip inet,
    -- why no request was made, or why a successful one gave nothing (reasons.Reason)
    skipped text,
    -- why the content counts as what it was at the last visit
    unchanged text,
    -- The figures that an audit computes from. robots_version is the robots.txt that
    -- decided (robots_history). The delays are those after which the domain, the address
    -- and the subnet could be asked again, with the reason. delay_ms is null if no
    -- request was made. The others are what the server itself asked for.
    robots_version bigint,
    delay_ms bigint,
    delay_reason text,
    ip_delay_ms bigint,
    subnet cidr,
    subnet_delay_ms bigint,
    retry_after_ms bigint,
    -- the worker died: the request may have been made, and when it ended is unknown
    lost boolean NOT NULL DEFAULT false,
    -- the body went on past what is read of one; null is no
    truncated boolean,
    -- the first crawl of a further visit: attempts are counted from there
    again boolean NOT NULL DEFAULT false,
    -- the registered domain whose delay the request kept, and that delay
    registered text,
    registered_delay_ms bigint,
    -- which attempt at a visit to its page this is, from 1
    attempt smallint NOT NULL DEFAULT 1,
    -- A seed that was given without a scheme: where https cannot be reached, it is asked for
    -- by http. A link, a redirect and a seed of https:// to the same page are asked as they
    -- stand.
    bare boolean,
    -- whose request it is (workers), no foreign key either; null until one is begun
    worker integer,
    CONSTRAINT page_crawls_closed_has_time CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT page_crawls_closed_not_locked CHECK (outcome IS NULL OR locked_at IS NULL),
    CONSTRAINT page_crawls_status_known CHECK (status_code BETWEEN 100 AND 599),
    CONSTRAINT page_crawls_skipped_says_why CHECK (
        CASE outcome WHEN 'skipped' THEN skipped IS NOT NULL WHEN 'success' THEN true ELSE skipped IS NULL END
    ),
    CONSTRAINT page_crawls_numbers CHECK (
        depth >= 0 AND redirects >= 0 AND duration_ms >= 0 AND bytes >= 0
    )
-- The attempt in flight is the one that holds the domain's slot. No index has locked_at, so
-- that beginning an attempt changes nothing that is indexed (a HOT update).
--
-- Closing it leaves a dead row with entries in all indexes. The default of a fifth would let hundreds of
-- millions of them gather in a large table, for which one vacuum reads all indexes many times. A closed
-- row never changes: it is frozen at once, so that the vacuum against wraparound skips its page.
) WITH (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0
);

-- A page's history, and both rules of it: a page enters a run once, and each later crawl
-- names the one that it follows, which no other does. A prerequisite follows nothing and
-- stands for itself.
CREATE UNIQUE INDEX page_crawls_page ON page_crawls (
    page_id, run_id, coalesce(previous_id, CASE WHEN prerequisite THEN -id ELSE 0 END)
);
-- a domain's history
CREATE INDEX page_crawls_domain_history ON page_crawls (domain, completed_at DESC) WHERE outcome IS NOT NULL;
-- the latest attempts of all domains
CREATE INDEX page_crawls_history ON page_crawls (completed_at DESC) WHERE outcome IS NOT NULL;
-- the next crawl of a domain in a run
CREATE INDEX page_crawls_next
ON page_crawls (domain, run_id, priority DESC, scheduled_for, id) WHERE outcome IS NULL;
-- pages to look at again when a robots.txt changes
CREATE INDEX page_crawls_disallowed ON page_crawls (domain) WHERE outcome = 'blocked_robots';
-- seeds that were not tried yet
CREATE INDEX page_crawls_seeds ON page_crawls (run_id, id)
WHERE outcome IS NULL AND depth = 0 AND previous_id IS NULL AND NOT prerequisite;

-- When a run requests a page again: due_at is null while the page is pending there. every is the time
-- from its last visit to that. A page that is not visited again has no row.
CREATE TABLE revisits (
    page_id bigint NOT NULL,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    due_at timestamptz,
    every interval NOT NULL,
    PRIMARY KEY (page_id, run_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX revisits_due ON revisits (run_id, due_at) WHERE due_at IS NOT NULL;

-- The link graph, over all runs. Sitemaps and feeds that a site or a page names are links
-- with kinds of their own. A run follows them only if it wants them. The page or site
-- that names a sitemap decides whose URLs the sitemap may list. Pages are no foreign
-- keys, as in page_crawls.
CREATE TABLE page_links (
    from_page_id bigint NOT NULL,
    to_page_id bigint NOT NULL,
    kind text NOT NULL DEFAULT 'link',
    nofollow boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- its text, or what stands for an image in it; null if there is none
    anchor text,
    -- crawl.Rel; null if there is none
    rel smallint,
    -- A link that its page has no more: when that was found, and when the page was read
    -- before, with the link. Null while it is there: then its page's last visit saw it.
    gone_at timestamptz,
    last_seen timestamptz,
    PRIMARY KEY (from_page_id, to_page_id, kind)
-- most rows never change: freeze them at once, as those of page_crawls
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_freeze_min_age = 0);

CREATE INDEX page_links_to ON page_links (to_page_id);
-- What leads to a page by a redirect is asked for with each page; what links to it only
-- by people.
CREATE INDEX page_links_redirects ON page_links (to_page_id) WHERE kind = 'redirect';

-- What domains and pages are worth by who links to them: what mosey rank has computed
-- last (package rank). Nothing else writes here. So recording a link does not write to
-- the row of its target, which many links may share.
CREATE TABLE domain_ranks (
    domain text PRIMARY KEY,
    -- how many registered domains link to it
    inlinks integer NOT NULL,
    -- from 0 to 1
    score real NOT NULL
);

-- Of pages to which another registered domain links.
CREATE TABLE page_ranks (
    page_id bigint PRIMARY KEY,
    inlinks integer NOT NULL,
    score real NOT NULL
);

-- The terms by which a page is found (crawl.Index). The transaction that records a page writes its
-- row. About a second later a worker takes many of them at once and makes a segment of the index. A
-- worker that dies loses none. A page without a row is not found, whatever the index says.
CREATE TABLE page_keywords (
    page_id bigint PRIMARY KEY,
    domain text NOT NULL,
    -- as in pages
    language varchar(35),
    -- The version of the page that is found, 0 before the first: the index has older ones, too, until
    -- they are merged away.
    version bigint NOT NULL DEFAULT 0,
    -- that the index does not have these terms yet
    waiting boolean NOT NULL DEFAULT true,
    -- which text search configurations make the stems
    configs text [] NOT NULL,
    second varchar(35),
    title text,
    headings text,
    description text,
    address text,
    body text,
    words integer NOT NULL DEFAULT 0,
    title_words integer NOT NULL DEFAULT 0,
    outline text [],
    -- what other domains call the page (mosey rank); null is nothing
    anchors text
-- Long texts are stored apart, so that indexing a page does not write them again. Each page leaves a
-- dead row, which vacuum makes room of.
) WITH (toast_tuple_target = 1024, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX page_keywords_waiting ON page_keywords (page_id) WHERE waiting;

-- The segments of the index: crawl.Segment. Searches read those that are not being merged.
CREATE TABLE index_segments (
    -- also the version of the pages that were first stored in it
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    pages integer NOT NULL,
    words bigint NOT NULL,
    bytes bigint NOT NULL,
    languages text [] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- when its pages that are gone, or newer elsewhere, were counted last
    checked_at timestamptz NOT NULL DEFAULT now(),
    -- Of a segment that a merge is making: whether it is one of large segments, beside which
    -- small ones are merged. A merge that does not end leaves such a row and chunks, which the
    -- next merge deletes. Null is that the segment is complete.
    merging boolean
);

-- The chunks of segments, which never change but for the worth of pages. Each fits into
-- one page of Postgres, so that reading one is reading that page.
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

-- Contents of robots.txt, each stored once for all origins. A body is stored as the site sent it: 1
-- KB as a rule, 500 KiB at the most. An audit reads it. The group that applies to us is stored in
-- canonical form, as UTF-8.
CREATE TABLE robots_contents (
    hash bytea PRIMARY KEY,
    content bytea NOT NULL,
    CONSTRAINT robots_contents_hash CHECK (hash = sha256(content))
);

-- What an origin's robots.txt says now (RFC 9309).
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
    -- when it wants to be visited (settings.ParseWindows); null where it does not say
    visit_times text,
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
    -- How many requests in a row had no answer of any kind, though the name of its host was
    -- known: that many tries https was given.
    unreached integer NOT NULL DEFAULT 0,
    -- when the verdict was last read from an answer; null if never
    read_at timestamptz,
    -- identifies this fetch: microseconds since the epoch
    version bigint NOT NULL,
    fetched_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

CREATE INDEX robots_domain ON robots (domain);

-- The contents of an origin's robots.txt: a row for each change, at most eight an origin. version is
-- the robots.version of the first fetch with these contents. A row holds until the next one.
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
-- for what is not referenced any more
CREATE INDEX robots_history_rules ON robots_history (rules_hash);
CREATE INDEX robots_history_body ON robots_history (body_hash) WHERE body_hash IS NOT NULL;

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
    -- Domains that share an address or a subnet leave it alone for the strictest delay
    -- that any of them wants. ended_at is when the last request ended, strict_ms the
    -- strictest delay asked for lately, strict_until when that delay stops counting.
    ended_at timestamptz,
    strict_ms bigint,
    strict_until timestamptz,
    -- how long a request has held a shared slot, on average
    took_ms bigint NOT NULL DEFAULT 0,
    -- Of a domain's slot: since when its attempts have been taken back, as it could not be
    -- reached and nothing told whether that was its fault or ours. Null once it was reached.
    spared_since timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- What a domain's last answers say about how much it can bear: crawl.Health.
CREATE TABLE domain_health (
    domain text PRIMARY KEY,
    health jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Times during which a worker could not reach anything: its own network was down, as
-- far as it could tell. seen_at is when the worker last said so.
CREATE TABLE outages (
    worker text NOT NULL,
    began_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    reason text NOT NULL,
    PRIMARY KEY (worker, began_at)
);

-- Processes that serve the task queues, also those that are gone: attempts name them. Each has a
-- share of fleet_limit, for a time. It begins no request after share_until, and its last has
-- ended by counts_until.
CREATE TABLE workers (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- as Temporal knows it, too: mosey/VERSION PID@HOST
    identity text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    -- empty is none
    build_id text NOT NULL DEFAULT '',
    role text NOT NULL,
    -- the most that it would have in flight by itself, and the longest that one can take
    most integer NOT NULL,
    span interval NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- null while it works, or until it is noticed that it has died
    stopped_at timestamptz,
    -- it did not say that it stopped
    lost boolean NOT NULL DEFAULT false,
    -- how often it has asked for a share
    asked bigint NOT NULL DEFAULT 0,
    -- what it said at seen_at: requests in flight, and how many it had if it could
    in_flight integer NOT NULL DEFAULT 0,
    wanted integer NOT NULL DEFAULT 0,
    -- its share, and until when it may begin requests in it
    share integer NOT NULL DEFAULT 0,
    share_until timestamptz,
    -- how many requests it can have in flight, at the most, until counts_until
    held integer NOT NULL DEFAULT 0,
    counts_until timestamptz,

    CONSTRAINT workers_numbers CHECK (most > 0 AND in_flight >= 0 AND wanted >= 0 AND share >= 0 AND held >= 0)
) WITH (fillfactor = 50);
-- no index has what changes with each sign of life
CREATE INDEX workers_working ON workers (id) WHERE stopped_at IS NULL;

-- The most requests that all workers together may have in flight, one row: who set it, when and
-- why. Shares are given one at a time, with the row locked (worker_renew).
CREATE TABLE fleet_limit (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- null is no limit
    max_fetches integer CHECK (max_fetches > 0),
    reason text NOT NULL DEFAULT '',
    set_by text NOT NULL DEFAULT '',
    -- null is never
    set_at timestamptz
);
INSERT INTO fleet_limit DEFAULT VALUES;

-- Seeds that a command line has handed over and SeedWorkflow has yet to store.
CREATE TABLE staged_seeds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    url text NOT NULL
);

CREATE INDEX staged_seeds_run ON staged_seeds (run_id, id);

-- How many entries of a seed file are stored while it is being stored. A storing that was
-- interrupted goes on from there if the file is still the same version.
CREATE TABLE seed_files (
    run_id bigint NOT NULL,
    file text NOT NULL,
    version text NOT NULL,
    entries bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, file)
);

-- What the bytes of images say (crawl.ImageContent): one row for all URLs that have the
-- same.
CREATE TABLE image_contents (
    sha256_hash text PRIMARY KEY CHECK (sha256_hash ~ '^[0-9a-f]{64}$'),
    file_size_bytes bigint NOT NULL,
    format text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    frames integer,
    -- null where the picture was not decoded, for undecoded
    phash bigint,
    dhash bigint,
    undecoded text,
    -- there is too little in the picture for its hashes to tell it from others
    flat boolean NOT NULL DEFAULT false,
    camera text,
    taken_at timestamptz,
    creator text,
    credit text,
    copyright text,
    license text,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    -- since when its bytes, and a small picture of it, are in the object store
    stored_at timestamptz,
    thumbnail_at timestamptz
);

-- The three bands of a hash (image_band_near): every third bit of it, so that each band has
-- its part of the low frequencies, which are less random than the others. Two hashes that
-- differ in at most 8 bits differ in at most 2 in one of them. Each index has all of the
-- hash, so that rows are read only of those that are alike.
CREATE INDEX image_contents_band1 ON image_contents ((phash & -7905747460161236407), phash)
WHERE phash IS NOT NULL AND NOT flat;
CREATE INDEX image_contents_band2 ON image_contents ((phash & 2635249153387078802), phash)
WHERE phash IS NOT NULL AND NOT flat;
CREATE INDEX image_contents_band3 ON image_contents ((phash & 5270498306774157604), phash)
WHERE phash IS NOT NULL AND NOT flat;

-- An image: one row a URL, from when a page names it. What it shares with others of the
-- same bytes is copied from image_contents.
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
    -- when it was answered last, with these bytes
    last_seen_at timestamptz,
    -- null while it was not fetched; false says that its last fetch brought nothing, for
    -- problem
    download_success boolean,
    problem text
) WITH (fillfactor = 80);

CREATE INDEX images_domain ON images (domain, id);
CREATE INDEX images_content ON images (sha256_hash) WHERE sha256_hash IS NOT NULL;

-- Which pages name an image, and how: one row an image and page.
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
    -- what the page says, in CSS pixels
    width integer,
    height integer,
    variants text [],
    -- when the page was found not to have it any more
    gone_at timestamptz,
    UNIQUE (page_id, image_id)
);

CREATE INDEX provenance_image ON provenance (image_id);
CREATE INDEX provenance_domain ON provenance (source_domain);

-- What functions take and return.

-- A seed; n is its place among those that are stored with it.
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

-- Of a domain that is the nth of a list: a run, and its crawl that is first in line.
CREATE TYPE domain_run AS (
    n integer,
    crawl bigint,
    run_id bigint,
    -- something is in flight, or pending of which the crawl tells nothing
    waits boolean,
    -- the run's own budget leaves no page
    run_pages boolean,
    -- crawl.RunFacts, but for what is due
    doc jsonb
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

-- An attempt to begin; n is its place in the group. was is who had the slot before, and
-- never gave it back; wait_ms and reason are set where the slot is not to be had.
CREATE TYPE start_attempt AS (
    n integer,
    domain text,
    crawl_id bigint,
    retry_priority smallint,
    hold interval,
    claim interval,
    span interval,
    queued boolean,
    -- the slots that it shares with other domains, and the delay that it wants of each
    shared text [],
    delays bigint [],
    was text,
    wait_ms bigint,
    reason text
);

-- What became of it. wait_ms is how long to wait before asking again, when not granted; crawl_id is the
-- crawl that has the lease.
CREATE TYPE begun_attempt AS (
    n integer,
    granted boolean,
    wait_ms bigint,
    reason text,
    crawl_id bigint
);

-- A worker's share of the requests in flight of all workers.
CREATE TYPE worker_share AS (
    share integer,
    -- how long it may begin requests in it from when it has asked
    lease_ms bigint,
    -- null is that there is no limit
    max_fetches integer
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

-- What became of an attempt.
CREATE TYPE recorded_attempt AS (
    n integer,
    closed boolean,
    news boolean,
    facts jsonb
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
    trap_evidence text,
    anchor text,
    rel smallint,
    -- of its crawl; null is what its depth makes of it
    priority smallint
);

-- A page to make part of a run, as follow (crawl.Follow) says. own is the domain whose
-- claim the caller holds, if any. after counts the pages found later on the same page.
CREATE TYPE found_page AS (
    run_id bigint,
    page_id bigint,
    domain text,
    url text,
    kind text,
    own text,
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

-- A visit to a page for a run, and after how long the run asks for it again; null is never.
CREATE TYPE revisit AS (
    page_id bigint,
    run_id bigint,
    visited timestamptz,
    every interval
);

-- +goose Down
-- Migrations only go forward.
