-- Subscriptions to hubs of feeds (W3C WebSub): crawl.Subscription. A feed that is read says which hub it
-- has (websub_found). The reconciling process has the hub asked (websub_look), which is a request as any
-- other: a row of page_crawls, of a kind of its own. The hub then asks the public listener whether it is to
-- tell of changes (websub_verify). Each time that it tells, the feed is due earlier (websub_apply).

-- How long after a try the next follows: an hour, and twice as long each time, up to a day.
CREATE OR REPLACE FUNCTION websub_wait(p_tries integer) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT least(interval '1 hour' * 2 ^ least(greatest(p_tries - 1, 0), 10), interval '1 day')
$$;

-- How many tries in a row a hub has. How many subscriptions there are of one hub's domain, and of the feeds of one
-- domain. How soon another hub that a feed names is asked. How long one that has ended is kept. How long a listener
-- counts as there, and when it is gone for good.
CREATE OR REPLACE FUNCTION websub_bounds(
    OUT tries integer, OUT of_hub integer, OUT of_domain integer, OUT renamed interval, OUT ended interval, OUT here interval, OUT gone interval
) LANGUAGE sql IMMUTABLE AS $$
    SELECT 5, 1000, 100, interval '1 day', interval '30 days', interval '10 minutes', interval '30 days'
$$;

-- Keeps where hubs reach the listener. The first of several counts while it is there. Returns the one that
-- counts.
CREATE OR REPLACE FUNCTION listener_here(p_url text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_before CONSTANT text := (SELECT l.url FROM listener l);
    v_url text;
BEGIN
    INSERT INTO listener AS l (url, seen_at) VALUES (p_url, t)
    ON CONFLICT (only_row) DO UPDATE SET url = p_url, seen_at = t
    WHERE l.url = p_url OR l.seen_at < t - (SELECT b.here FROM websub_bounds() b);
    SELECT l.url INTO v_url FROM listener l;
    IF v_url <> v_before THEN
        -- hubs know another
        UPDATE websub_subscriptions s SET next_at = t, state = CASE WHEN s.state = 'asked' THEN 'wanted' ELSE s.state END
        WHERE s.state IN ('active', 'asked');
    END IF;
    RETURN v_url;
END
$$;

-- Whether a domain may have one subscription more as a hub's. A person may have forbidden it.
CREATE OR REPLACE FUNCTION websub_admits(p_hub_domain text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    b CONSTANT record := websub_bounds();
BEGIN
    RETURN coalesce(domain_forbidden(p_hub_domain), 'pause') = 'pause'
        AND (SELECT count(*) FROM (SELECT 1 FROM websub_subscriptions x WHERE x.hub_domain = p_hub_domain LIMIT b.of_hub) y) < b.of_hub;
END
$$;

-- Notes which hubs feeds have that were read: crawl.FeedHub. One that names another hub than before begins
-- anew, but for its tries. One that names none any more has no subscription: what its hub still tells is answered so.
CREATE OR REPLACE FUNCTION websub_found(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b CONSTANT record := websub_bounds();
BEGIN
    DELETE FROM websub_subscriptions s
    WHERE s.feed_page_id = ANY (ARRAY(SELECT a.page_id FROM unnest(v) a WHERE a.doc ? 'hub' AND a.doc #> '{hub,address}' IS NULL));
    UPDATE websub_subscriptions s SET state = 'ended', why = 'it has not told of changes', next_at = clock_timestamp() + b.ended
    WHERE s.state <> 'ended'
        AND s.feed_page_id = ANY (ARRAY(SELECT a.page_id FROM unnest(v) a WHERE a.doc #> '{hub,silent}' = 'true'));
    IF NOT EXISTS (SELECT 1 FROM listener l WHERE l.seen_at > clock_timestamp() - b.gone) THEN
        RETURN;
    END IF;
    INSERT INTO websub_subscriptions AS s (feed_page_id, domain, topic, named, hub, hub_domain, hub_origin, hub_registered)
    SELECT a.page_id, a.domain, a.doc #>> '{hub,topic}', h.doc ->> 'url', h.doc ->> 'url', h.doc ->> 'domain', h.doc ->> 'origin',
        h.doc ->> 'registered'
    FROM unnest(v) a CROSS JOIN LATERAL (SELECT a.doc #> '{hub,address}' AS doc) h LEFT JOIN LATERAL (
        SELECT x.topic, x.named FROM websub_subscriptions x WHERE x.feed_page_id = a.page_id LIMIT 1
    ) o ON true
    WHERE h.doc IS NOT NULL AND (o.topic, o.named) IS DISTINCT FROM (a.doc #>> '{hub,topic}', h.doc ->> 'url')
        AND coalesce(domain_forbidden(a.domain), 'pause') = 'pause' AND websub_admits(h.doc ->> 'domain')
        AND (o.topic IS NOT NULL OR (
            SELECT count(*) FROM (SELECT 1 FROM websub_subscriptions x WHERE x.domain = a.domain LIMIT b.of_domain) y
        ) < b.of_domain)
    ORDER BY a.page_id
    ON CONFLICT (feed_page_id) DO UPDATE SET
        topic = excluded.topic, named = excluded.named, hub = excluded.hub, hub_domain = excluded.hub_domain,
        hub_origin = excluded.hub_origin, hub_registered = excluded.hub_registered, token = excluded.token, secret = excluded.secret,
        state = 'wanted', why = '', hub_page_id = NULL, run_id = NULL, found_at = excluded.found_at, active_since = NULL,
        lease_until = NULL, told_at = NULL, next_at = greatest(excluded.next_at, s.asked_at + b.renamed);
END
$$;

-- Whether a hub is to be asked for a subscription by a crawl of its page.
CREATE OR REPLACE FUNCTION websub_asks(p_page_id bigint, p_run_id bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM websub_subscriptions s WHERE s.hub_page_id = p_page_id AND s.run_id = p_run_id)
$$;

-- Has a subscription wait for its next try, or ends it.
CREATE OR REPLACE FUNCTION websub_refused(p_id bigint, p_why text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    b CONSTANT record := websub_bounds();
BEGIN
    UPDATE websub_subscriptions s SET
        tries = s.tries + 1, why = left(p_why, 500), hub_page_id = NULL, run_id = NULL,
        state = CASE WHEN s.tries + 1 < b.tries THEN 'wanted' ELSE 'ended' END,
        next_at = t + CASE WHEN s.tries + 1 < b.tries THEN websub_wait(s.tries + 1) ELSE b.ended END
    WHERE s.id = p_id;
END
$$;

-- What hubs have answered: crawl.Subscribed. A hub may have asked the listener before it answers.
CREATE OR REPLACE FUNCTION websub_answered(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    a closed_attempt;
    s websub_subscriptions;
    v_moved jsonb;
BEGIN
    FOR a IN SELECT x.* FROM unnest(v) x WHERE x.kind = ANY (kinds('subscribes')) AND NOT x.doc ? 'retry_in_ms' ORDER BY x.page_id LOOP
        SELECT x.* INTO s FROM websub_subscriptions x WHERE x.hub_page_id = a.page_id AND x.run_id = a.run_id FOR UPDATE;
        CONTINUE WHEN s.id IS NULL;
        v_moved := a.doc #> '{subscribed,moved}';
        IF s.state = 'active' OR a.doc #> '{subscribed,accepted}' = 'true' THEN
            UPDATE websub_subscriptions x SET
                hub_page_id = NULL, run_id = NULL, state = CASE WHEN x.state = 'asking' THEN 'asked' ELSE x.state END,
                next_at = CASE WHEN x.state = 'asking' THEN a.ended + websub_wait(1) ELSE x.next_at END
            WHERE x.id = s.id;
        ELSE
            PERFORM websub_refused(s.id, coalesce(a.doc ->> 'error', 'the hub answered ' || (a.doc ->> 'status_code'), 'the hub gave no answer'));
            -- The other hub gets a token and a secret of its own: only that can confirm then. It is asked at once, and
            -- one that moves us on not before the next try.
            UPDATE websub_subscriptions x SET
                hub = v_moved ->> 'url', hub_domain = v_moved ->> 'domain', hub_origin = v_moved ->> 'origin',
                hub_registered = v_moved ->> 'registered', token = DEFAULT, secret = DEFAULT, active_since = NULL,
                lease_until = NULL, next_at = CASE WHEN s.tries = 0 THEN clock_timestamp() ELSE x.next_at END
            WHERE x.id = s.id AND x.state = 'wanted' AND v_moved IS NOT NULL AND websub_admits(v_moved ->> 'domain');
        END IF;
    END LOOP;
END
$$;

-- Has a hub asked, if that may be now. Returns when to look again.
CREATE OR REPLACE FUNCTION websub_ask(s websub_subscriptions) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    b CONSTANT record := websub_bounds();
    v_url text;
    v_run bigint;
    v_page bigint;
    v_added integer;
BEGIN
    SELECT l.url INTO v_url FROM listener l WHERE l.seen_at > t - b.here;
    IF v_url IS NULL THEN
        RETURN t + b.here;
    END IF;
    IF NOT notices_wanted(s.domain) OR domain_forbidden(s.hub_domain) IS NOT NULL THEN
        RETURN t + websub_wait(1);
    END IF;
    -- the run that asks for the feed again asks the hub, too
    SELECT min(x.run_id) INTO v_run FROM (SELECT v.run_id, v.due_at FROM revisits v WHERE v.page_id = s.feed_page_id OFFSET 0) x
    WHERE (x.due_at IS NOT NULL OR EXISTS (
        SELECT 1 FROM page_crawls c WHERE c.page_id = s.feed_page_id AND c.run_id = x.run_id AND c.completed_at IS NULL
    )) AND (SELECT r.status FROM crawl_runs r WHERE r.id = x.run_id) = 'running';
    IF v_run IS NULL THEN
        RETURN t + websub_wait(1);
    END IF;
    -- A stranger may name hosts as hubs that are none. Until a hub has confirmed a subscription, there is one request an
    -- hour to its domain, and one for all feeds of theirs.
    IF NOT EXISTS (
            SELECT 1 FROM (SELECT x.lease_until FROM websub_subscriptions x WHERE x.hub_domain = s.hub_domain OFFSET 0) y
            WHERE y.lease_until > t
        ) AND EXISTS (
            SELECT 1 FROM (
                SELECT x.id, x.asked_at FROM websub_subscriptions x WHERE x.hub_domain = s.hub_domain
                UNION ALL
                SELECT x.id, x.asked_at FROM websub_subscriptions x WHERE x.domain = s.domain
                OFFSET 0
            ) y
            WHERE y.asked_at > t - websub_wait(1) AND y.id <> s.id
        )
    THEN
        RETURN t + b.here;
    END IF;
    v_page := (pages_add(jsonb_build_array(jsonb_build_object(
        'url', s.hub, 'domain', s.hub_domain, 'origin', s.hub_origin -- it may be a page as well
    )))) [1];
    IF websub_asks(v_page, v_run) THEN
        -- for another feed, soon, unless the hub has to be waited for
        RETURN t + CASE
            WHEN (SELECT x.asked_at FROM websub_subscriptions x WHERE x.hub_page_id = v_page AND x.run_id = v_run) > t - interval '1 minute'
                THEN interval '10 seconds'
            ELSE b.here
        END;
    END IF;
    IF EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = v_run AND rd.domain = s.hub_domain) THEN
        v_added := crawls_aside(v_run, v_page, s.hub_domain, s.hub, (kinds('subscribes')) [1]);
    ELSE
        IF s.hub_registered IS NOT NULL THEN
            PERFORM registered_add(ARRAY[s.hub_domain], ARRAY[s.hub_registered]);
        END IF;
        SELECT a.added INTO v_added FROM crawls_add(ARRAY[(
            v_run, v_page, s.hub_domain, s.hub, (kinds('subscribes')) [1], '', '{"depth": 1}', false, 0, kind_priority((kinds('subscribes')) [1])
        )::found_page]) a;
    END IF;
    IF v_added = 0 THEN
        RETURN t + b.here; -- it is asked for as a page just now, or a list forbids it
    END IF;
    UPDATE websub_subscriptions x SET state = 'asking', hub_page_id = v_page, run_id = v_run, callback = v_url, asked_at = t WHERE x.id = s.id;
    RETURN t + b.here;
END
$$;

-- Looks at subscriptions whose time has come, at most so many. Returns how many it has looked at, and how many hubs
-- are asked.
CREATE OR REPLACE FUNCTION websub_look(p_most integer) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    b CONSTANT record := websub_bounds();
    s websub_subscriptions;
    v_next timestamptz;
    v_looked integer := 0;
    v_asked integer := 0;
BEGIN
    FOR s IN
        SELECT x.* FROM websub_subscriptions x WHERE x.next_at <= t ORDER BY x.next_at LIMIT p_most FOR UPDATE SKIP LOCKED
    LOOP
        v_looked := v_looked + 1;
        IF s.state = 'ended' OR s.state = 'wanted' AND greatest(s.found_at, s.asked_at, s.lease_until) < t - b.gone THEN
            -- The feed may name it anew. No run asks for it any more, or nobody listens.
            DELETE FROM websub_subscriptions x WHERE x.id = s.id;
            CONTINUE;
        ELSIF s.state = 'asked' THEN
            PERFORM websub_refused(s.id, 'it accepted, and did not ask whether that is wanted');
            CONTINUE;
        ELSIF s.state = 'asking' AND EXISTS (
            SELECT 1 FROM page_crawls c
            WHERE c.page_id = s.hub_page_id AND c.run_id = s.run_id AND NOT c.prerequisite AND c.completed_at IS NULL
        ) AND (SELECT r.status FROM crawl_runs r WHERE r.id = s.run_id) IN ('running', 'paused') THEN
            v_next := t + b.here;
        ELSE
            -- the lease ends soon, or the run that was to ask has ended
            UPDATE websub_subscriptions x SET
                state = 'wanted', tries = CASE WHEN s.state = 'active' THEN 0 ELSE x.tries END, hub_page_id = NULL, run_id = NULL
            WHERE x.id = s.id AND s.state <> 'wanted';
            v_next := websub_ask(s);
            v_asked := v_asked + (SELECT (x.state = 'asking')::integer FROM websub_subscriptions x WHERE x.id = s.id);
        END IF;
        UPDATE websub_subscriptions x SET next_at = v_next WHERE x.id = s.id;
    END LOOP;
    RETURN ARRAY[v_looked, v_asked];
END
$$;

-- A hub asks whether it is to tell of changes of a topic, for so long. Returns whether it is.
CREATE OR REPLACE FUNCTION websub_verify(p_token text, p_topic text, p_lease_s bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_lease CONSTANT interval := interval '1 second' * least(greatest(p_lease_s, 3600), 30 * 86400);
BEGIN
    UPDATE websub_subscriptions s SET
        state = 'active', tries = 0, why = '', active_since = CASE WHEN s.lease_until > t THEN s.active_since ELSE t END,
        lease_until = t + v_lease, next_at = t + v_lease * 2 / 3
    WHERE s.token = p_token AND s.topic = p_topic AND (s.state IN ('asking', 'asked', 'active') OR s.state = 'wanted' AND s.lease_until > t);
    RETURN FOUND;
END
$$;

-- A hub refuses, or ends a subscription. Returns whether there was one.
CREATE OR REPLACE FUNCTION websub_deny(p_token text, p_topic text, p_why text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE websub_subscriptions s SET
        state = 'ended', why = left('the hub refused: ' || p_why, 500), hub_page_id = NULL, run_id = NULL, lease_until = NULL,
        next_at = clock_timestamp() + (SELECT b.ended FROM websub_bounds() b)
    WHERE s.token = p_token AND s.topic = p_topic;
    RETURN FOUND;
END
$$;

-- Carries out what was decided about pushes. p is an array of {id, told_at, page, fetched_at, history, due}. due has
-- {run, at}: when a run asks for the feed again. If it was visited since then, or more was told, it is left for the next
-- time. Returns how many feeds are due earlier.
CREATE OR REPLACE FUNCTION websub_apply(p jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_done jsonb[];
BEGIN
    -- who visits the page meanwhile comes before, or after
    PERFORM 1 FROM pages x WHERE x.id = ANY (ARRAY(SELECT (u.doc ->> 'page')::bigint FROM jsonb_array_elements(p) AS u (doc)))
    ORDER BY x.id FOR NO KEY UPDATE;
    v_done := ARRAY(
        SELECT u.doc FROM jsonb_array_elements(p) AS u (doc)
        WHERE (SELECT s.told_at FROM websub_subscriptions s WHERE s.id = (u.doc ->> 'id')::bigint) = (u.doc ->> 'told_at')::timestamptz
            AND (SELECT x.fetched_at FROM pages x WHERE x.id = (u.doc ->> 'page')::bigint)
                IS NOT DISTINCT FROM (u.doc ->> 'fetched_at')::timestamptz
    );
    UPDATE websub_subscriptions s SET told_at = NULL
    FROM unnest(v_done) d
    WHERE s.id = ANY (ARRAY(SELECT (x ->> 'id')::bigint FROM unnest(v_done) x)) AND s.id = (d ->> 'id')::bigint
        AND s.told_at = (d ->> 'told_at')::timestamptz;
    UPDATE pages x SET history = d -> 'history'
    FROM unnest(v_done) d
    WHERE x.id = ANY (ARRAY(SELECT (y ->> 'page')::bigint FROM unnest(v_done) y)) AND x.id = (d ->> 'page')::bigint AND d ? 'history';
    RETURN revisits_hasten(ARRAY(SELECT (d ->> 'page')::bigint FROM unnest(v_done) d), v_done);
END
$$;
