-- What owners of hosts tell of their pages: crawl.Notice. A notice waits until the key file of its
-- host was read, which is a request as any other: a row of page_crawls, of a kind of its own. Then
-- its pages come earlier (notices_apply), as those that a feed names. Bounds are Go's (crawl/notice.go).

-- Whether a notice of a domain is of use: a run that goes on has it, and no person or list keeps it
-- from being asked for good.
CREATE OR REPLACE FUNCTION notices_wanted(p_domain text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(domain_forbidden(p_domain), 'pause') = 'pause' AND EXISTS (
        SELECT 1 FROM run_domains rd CROSS JOIN LATERAL (
            SELECT 1 FROM crawl_runs r WHERE r.id = rd.run_id AND r.status IN ('running', 'paused') LIMIT 1
        ) r
        WHERE rd.domain = p_domain
    );
END
$$;

-- Takes a notice: crawl.NoticeTaken. One is taken at a time, so that the bounds hold.
CREATE OR REPLACE FUNCTION notices_take(p jsonb, p_limits jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_urls CONSTANT text[] := ARRAY(SELECT DISTINCT u FROM jsonb_array_elements_text(p -> 'urls') AS u ORDER BY u);
    v_urls_max CONSTANT integer := (p_limits ->> 'urls')::integer;
    v_gap CONSTANT interval := ms_interval((p_limits ->> 'ask_every_ms')::bigint);
    k notice_keys;
    v_waiting bigint;
    v_keys bigint;
    v_new integer;
    v_dropped integer;
BEGIN
    IF NOT notices_wanted(p ->> 'domain') THEN
        RETURN jsonb_build_object('state', 'ignored');
    END IF;
    PERFORM pg_advisory_xact_lock((p_limits ->> 'lock')::bigint);
    DELETE FROM notice_keys x WHERE x.until <= t AND NOT (x.state = 'verified' AND x.waiting > 0);
    SELECT * INTO k FROM notice_keys x WHERE x.url = p ->> 'key_url' AND x.key = p ->> 'key' FOR UPDATE;
    IF k.state = 'refused' THEN
        RETURN jsonb_build_object('state', 'refused', 'why', k.why, 'until', k.until);
    END IF;
    SELECT coalesce(sum(x.waiting), 0), count(*) INTO v_waiting, v_keys FROM notice_keys x WHERE x.state = 'verified' AND x.id IS DISTINCT FROM k.id;
    IF v_waiting + v_urls_max > (p_limits ->> 'urls_of_all')::bigint OR v_keys >= (p_limits ->> 'keys_of_all')::bigint
        OR k.state = 'verified' AND k.waiting + cardinality(v_urls) > 2 * v_urls_max
    THEN
        RETURN jsonb_build_object('state', 'full');
    END IF;
    INSERT INTO notice_keys AS x (url, key, domain, host, origin, told_at, told_by, until)
    VALUES (p ->> 'key_url', p ->> 'key', p ->> 'domain', p ->> 'host', p ->> 'key_origin', t, p ->> 'by',
        t + ms_interval((p_limits ->> 'kept_ms')::bigint))
    ON CONFLICT (url, key) DO UPDATE SET
        told_at = t, told_by = excluded.told_by, until = CASE WHEN x.state = 'waiting' THEN excluded.until ELSE x.until END
    RETURNING * INTO k;
    -- Keys that are not verified make room, those first that were told first. One whose key file
    -- was asked for lately stays: it says when the next may be.
    DELETE FROM notice_keys x WHERE x.id = ANY (ARRAY(
        SELECT y.id FROM notice_keys y
        WHERE y.domain = k.domain AND y.state <> 'verified' AND y.id <> k.id AND (y.asked_at IS NULL OR y.asked_at < t - v_gap)
        ORDER BY y.told_at DESC OFFSET (p_limits ->> 'keys_of_domain')::integer - 1
    ));
    WITH told AS (
        INSERT INTO notices AS n (key_id, url, told_at, told_by) SELECT k.id, u, t, p ->> 'by' FROM unnest(v_urls) u
        ON CONFLICT (key_id, url) DO UPDATE SET told_at = excluded.told_at, told_by = excluded.told_by
        RETURNING (n.xmax = 0) AS new -- and not told again
    )
    SELECT (count(*) FILTER (WHERE told.new))::integer INTO v_new FROM told;
    k.waiting := k.waiting + v_new;
    IF k.state = 'waiting' AND k.waiting > v_urls_max THEN
        DELETE FROM notices n WHERE n.key_id = k.id AND n.url = ANY (ARRAY(
            SELECT y.url FROM notices y WHERE y.key_id = k.id ORDER BY y.told_at DESC, y.url OFFSET v_urls_max
        ));
        k.waiting := v_urls_max;
    END IF;
    UPDATE notice_keys x SET waiting = k.waiting WHERE x.id = k.id;
    LOOP
        SELECT coalesce(sum(x.waiting), 0), count(*) INTO v_waiting, v_keys FROM notice_keys x;
        EXIT WHEN v_waiting <= (p_limits ->> 'urls_of_all')::bigint AND v_keys <= (p_limits ->> 'keys_of_all')::bigint;
        DELETE FROM notice_keys x WHERE x.id = ANY (ARRAY(
            SELECT y.id FROM notice_keys y WHERE y.state <> 'verified' AND y.id <> k.id ORDER BY y.told_at LIMIT 100
        ));
        GET DIAGNOSTICS v_dropped = ROW_COUNT;
        EXIT WHEN v_dropped = 0;
    END LOOP;
    IF k.state = 'waiting' THEN
        PERFORM notices_ask(k.domain, v_gap);
        RETURN jsonb_build_object('state', 'waiting');
    END IF;
    RETURN jsonb_build_object('state', 'verified', 'earliest', (
        -- when the domain may be asked, as far as that is known
        SELECT nullif(greatest(t, s.free_at, d.next_crawl_after, d.opens_at, (
            SELECT max(coalesce(c.until, 'infinity')) FROM domain_controls c
            WHERE c.domain = k.domain AND c.kind = 'pause' AND c.lifted_at IS NULL
        )), 'infinity')
        FROM domains d LEFT JOIN politeness_slots s ON s.key = 'domain:' || d.domain WHERE d.domain = k.domain
    ));
END
$$;

-- Has the key file asked for that waits longest of a domain, in the first of its runs that is
-- running, unless one was asked for within p_gap. Returns whether it has.
CREATE OR REPLACE FUNCTION notices_ask(p_domain text, p_gap interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    k notice_keys;
    v_run bigint;
    v_page bigint;
    v_added integer;
BEGIN
    -- One at a time. As in crawls_add: a domain that is just being finished sees what is added here.
    PERFORM 1 FROM domains d WHERE d.domain = p_domain FOR NO KEY UPDATE;
    IF NOT notices_wanted(p_domain) OR EXISTS (SELECT 1 FROM notice_keys x WHERE x.domain = p_domain AND x.asked_at > t - p_gap) THEN
        RETURN false;
    END IF;
    SELECT min(x.run_id) INTO v_run FROM (SELECT rd.run_id FROM run_domains rd WHERE rd.domain = p_domain OFFSET 0) x
    WHERE (SELECT r.status FROM crawl_runs r WHERE r.id = x.run_id) = 'running';
    SELECT x.* INTO k FROM (SELECT y.* FROM notice_keys y WHERE y.domain = p_domain OFFSET 0) x
    WHERE x.state = 'waiting' AND x.until > t
    ORDER BY x.asked_at NULLS FIRST, x.id LIMIT 1;
    IF v_run IS NULL OR k.id IS NULL THEN
        RETURN false;
    END IF;
    v_page := (pages_add(jsonb_build_array(jsonb_build_object(
        'url', k.url, 'domain', k.domain, 'origin', k.origin, 'kind', (kinds('proves')) [1]
    )))) [1];
    -- It follows the page's last crawl in the run, unless that is pending. It is no seed, and it is a
    -- visit of its own, whatever came before.
    INSERT INTO page_crawls (page_id, domain, priority, run_id, previous_id, url, kind, depth, again)
    SELECT v_page, k.domain, kind_priority((kinds('proves')) [1]), v_run, c.id, k.url, (kinds('proves')) [1], 1, true
    FROM (SELECT 1) one LEFT JOIN LATERAL (
        SELECT y.id, y.outcome FROM page_crawls y
        WHERE y.page_id = v_page AND y.run_id = v_run AND NOT y.prerequisite ORDER BY y.id DESC LIMIT 1
    ) c ON true
    WHERE c.id IS NULL OR c.outcome IS NOT NULL
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_added = ROW_COUNT;
    UPDATE notice_keys x SET page_id = v_page, asked_at = t
    WHERE x.id = ANY (ARRAY(
        SELECT y.id FROM (SELECT z.id, z.state FROM notice_keys z WHERE z.url = k.url OFFSET 0) y WHERE y.state = 'waiting'
    ));
    UPDATE domains d SET status = 'pending', status_reason = '' WHERE d.domain = p_domain AND d.status = 'exhausted';
    PERFORM due_update(ARRAY[p_domain]);
    RETURN v_added > 0;
END
$$;

-- What answers for key files prove: crawl.Proof. One that is tried again proves nothing yet.
CREATE OR REPLACE FUNCTION notices_prove(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_refused bigint[];
BEGIN
    WITH said AS (
        UPDATE notice_keys k SET
            state = u.state, checked_at = a.ended, waiting = CASE WHEN u.state = 'verified' THEN k.waiting ELSE 0 END,
            why = CASE WHEN u.state = 'verified' THEN '' ELSE coalesce(a.doc ->> 'error', 'the key file does not have the key') END,
            until = a.ended + ms_interval(coalesce(
                (a.doc #>> CASE WHEN u.state = 'verified' THEN '{proof,verified_ms}' ELSE '{proof,refused_ms}' END::text[])::bigint,
                3600000
            ))
        FROM unnest(v) a CROSS JOIN LATERAL (
            SELECT x.id, CASE WHEN coalesce(a.doc #> '{proof,keys}', '[]') ? x.key THEN 'verified' ELSE 'refused' END AS state
            FROM (SELECT z.id, z.key, z.state FROM notice_keys z WHERE z.page_id = a.page_id OFFSET 0) x
            WHERE x.state = 'waiting'
        ) u
        WHERE k.id = u.id AND a.kind = ANY (kinds('proves')) AND NOT a.doc ? 'retry_in_ms'
        RETURNING k.id, k.state
    )
    SELECT array_agg(s.id) INTO v_refused FROM said s WHERE s.state = 'refused';
    DELETE FROM notices n WHERE n.key_id = ANY (v_refused);
END
$$;

-- Has key files asked for that wait and were not asked for: their run was paused, or their domain
-- was asked for another. Returns how many it has.
CREATE OR REPLACE FUNCTION notices_ask_all(p_gap interval, p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_before CONSTANT timestamptz := t - p_gap;
BEGIN
    DELETE FROM notice_keys x WHERE x.until <= t AND NOT (x.state = 'verified' AND x.waiting > 0);
    RETURN (
        SELECT (count(*) FILTER (WHERE notices_ask(d.domain, p_gap)))::integer FROM (
            SELECT DISTINCT x.domain FROM (
                SELECT k.domain FROM notice_keys k
                WHERE k.state = 'waiting' AND coalesce(k.asked_at, '-infinity') < v_before
                ORDER BY coalesce(k.asked_at, '-infinity') LIMIT p_most
            ) x
            ORDER BY x.domain
        ) d
    );
END
$$;

-- Carries out what was decided about notices of one domain. p is an array of {key_id, url, told_at,
-- page, fetched_at, history, due, found}. due has {run, at}: when a run asks for the page again. found
-- has {run, follow}: the runs that it becomes part of (crawl.Follow). A page that was visited since
-- then, or a URL that was told again, is left for the next time. Returns how many pages were due
-- earlier or found.
CREATE OR REPLACE FUNCTION notices_apply(p_domain text, p jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_done jsonb[];
    v_pages bigint[];
    v_key bigint;
    v_gone integer;
    v_sooner integer;
    v_added integer;
BEGIN
    -- who visits the page meanwhile comes before, or after
    PERFORM 1 FROM pages x WHERE x.id = ANY (ARRAY(SELECT (u.doc ->> 'page')::bigint FROM jsonb_array_elements(p) AS u (doc)))
    ORDER BY x.id FOR NO KEY UPDATE;
    -- nothing is told of the domain meanwhile
    PERFORM 1 FROM notice_keys k WHERE k.domain = p_domain ORDER BY k.id + 0 FOR UPDATE;
    v_done := ARRAY(
        SELECT u.doc FROM jsonb_array_elements(p) AS u (doc) CROSS JOIN LATERAL (
            SELECT x.told_at FROM notices x WHERE x.key_id = (u.doc ->> 'key_id')::bigint AND x.url = u.doc ->> 'url' LIMIT 1
        ) n
        WHERE n.told_at = (u.doc ->> 'told_at')::timestamptz
            AND (NOT u.doc ? 'page' OR (SELECT x.fetched_at FROM pages x WHERE x.id = (u.doc ->> 'page')::bigint)
                IS NOT DISTINCT FROM (u.doc ->> 'fetched_at')::timestamptz)
    );
    FOR v_key IN SELECT DISTINCT (d ->> 'key_id')::bigint FROM unnest(v_done) d LOOP
        DELETE FROM notices n WHERE n.key_id = v_key AND n.url = ANY (ARRAY(
            SELECT d ->> 'url' FROM unnest(v_done) d WHERE (d ->> 'key_id')::bigint = v_key
        ));
        GET DIAGNOSTICS v_gone = ROW_COUNT;
        UPDATE notice_keys k SET waiting = greatest(k.waiting - v_gone, 0) WHERE k.id = v_key;
    END LOOP;
    v_done := ARRAY(SELECT d FROM unnest(v_done) d WHERE d ? 'history');
    IF cardinality(v_done) = 0 OR NOT notices_wanted(p_domain) THEN
        RETURN 0;
    END IF;
    UPDATE domains d SET recrawl = coalesce(d.recrawl, '{}') || '{"pings": {}}'
    WHERE d.domain = p_domain AND NOT coalesce(d.recrawl, '{}') ? 'pings';
    v_pages := pages_add((
        SELECT jsonb_agg(jsonb_build_object(
            'url', d.doc ->> 'url', 'domain', p_domain, 'origin', d.doc ->> 'origin', 'patterns', d.doc -> 'patterns'
        ) ORDER BY d.n) FROM unnest(v_done) WITH ORDINALITY AS d (doc, n)
    ));
    UPDATE pages x SET history = u.doc -> 'history'
    FROM ROWS FROM (unnest(v_pages), unnest(v_done)) AS u (id, doc)
    WHERE x.id = ANY (v_pages) AND x.id = u.id;
    -- each row is looked up by its key, however many there are
    UPDATE revisits v SET due_at = o.at
    FROM (
        SELECT y.page_id, y.run_id, (r.doc ->> 'at')::timestamptz AS at
        FROM ROWS FROM (unnest(v_pages), unnest(v_done)) AS u (id, doc)
        CROSS JOIN LATERAL jsonb_array_elements(u.doc -> 'due') AS r (doc)
        CROSS JOIN LATERAL (
            SELECT x.page_id, x.run_id FROM revisits x
            WHERE x.page_id = u.id AND x.run_id = (r.doc ->> 'run')::bigint AND x.due_at > (r.doc ->> 'at')::timestamptz LIMIT 1
        ) y
        OFFSET 0
    ) o
    WHERE v.page_id = o.page_id AND v.run_id = o.run_id;
    GET DIAGNOSTICS v_sooner = ROW_COUNT;
    SELECT a.added INTO v_added FROM crawls_add(ARRAY(
        SELECT ((r.doc ->> 'run')::bigint, x.id, x.domain, x.url, crawl_kind('link', x.kind), '', r.doc -> 'follow', false, 0, 1)::found_page
        FROM ROWS FROM (unnest(v_pages), unnest(v_done)) AS u (id, doc)
        CROSS JOIN LATERAL jsonb_array_elements(u.doc -> 'found') AS r (doc)
        CROSS JOIN LATERAL (SELECT y.id, y.domain, y.url, y.kind FROM pages y WHERE y.id = u.id LIMIT 1) x
    )) a;
    RETURN v_sooner + coalesce(v_added, 0);
END
$$;
