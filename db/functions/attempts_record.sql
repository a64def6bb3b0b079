-- Closes attempts of different domains and stores their results in one transaction: slots, pages,
-- links, found pages, their crawls, retries, totals. p is an array of crawl.Attempt. A crawl that
-- is already closed, because its slow worker seemed dead, changes nothing.
--
-- Returns for each attempt the facts of its domain, whether this call closed the crawl, and whether
-- other domains of the run became due unknown to the dispatcher. With p_short_lock_timeout it
-- does not wait long for locks: each attempt is then recorded alone.
--
-- Each statement handles the group in the order of its keys, so that two groups rarely deadlock. It
-- names all keys of its changes and no condition of a partial index, so that the planner cannot
-- scan all pending rows. Rare steps are looked up in the document first, because that costs less.
CREATE OR REPLACE FUNCTION attempts_record(p jsonb, p_short_lock_timeout boolean) RETURNS SETOF recorded_attempt LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v CONSTANT attempt[] := ARRAY(
        SELECT (e.n, e.doc - 'index', e.doc ->> 'domain', (e.doc ->> 'attempt_id')::bigint, e.doc ? 'requested',
            coalesce((e.doc ->> 'ended_at')::timestamptz, t - ms_interval((e.doc ->> 'since_end_ms')::bigint))
        )::attempt
        FROM jsonb_array_elements(p) WITH ORDINALITY AS e (doc, n) ORDER BY e.doc ->> 'domain', e.n
    );
    v_with_lease integer[];
    v_closed closed_attempt[];
    v_with_new_due_domains integer[];
    v_facts jsonb[];
    v_unserved text[];
    d jsonb;
BEGIN
    IF p_short_lock_timeout THEN
        PERFORM set_config('lock_timeout', '500ms', true);
    END IF;
    -- an attempt without its lease does not release its slot
    WITH released AS (
        UPDATE politeness_slots s SET
            free_at = a.ended_at + ms_interval((a.doc ->> 'delay_ms')::bigint), reason = a.doc ->> 'reason',
            holder = NULL, updated_at = clock_timestamp(),
            unreachable_since = CASE WHEN NOT a.doc ? 'reached' THEN s.unreachable_since END
        FROM unnest(v) a
        WHERE s.key = ANY (ARRAY(SELECT 'domain:' || x.domain FROM unnest(v) x))
            AND a.requested AND s.key = 'domain:' || a.domain AND s.holder = 'crawl:' || a.attempt_id
        RETURNING a.n
    )
    SELECT coalesce(array_agg(r.n), '{}') INTO v_with_lease FROM released r;
    v_closed := attempts_close(v, v_with_lease);
    IF cardinality(v_with_lease) > 0 THEN
        INSERT INTO domain_health (domain, health)
        SELECT a.domain, a.doc -> 'health' FROM unnest(v) a
        WHERE a.n = ANY (v_with_lease) AND a.doc ? 'health' ORDER BY a.domain
        ON CONFLICT (domain) DO UPDATE SET health = excluded.health, updated_at = clock_timestamp();
    END IF;
    IF cardinality(v_closed) > 0 THEN
        PERFORM pages_update(v_closed, patterns_charge(v_closed));
        PERFORM keywords_record(p, v_closed);
        v_with_new_due_domains := links_record(p, v_closed);
        IF EXISTS (SELECT 1 FROM unnest(v_closed) a WHERE a.kind = ANY (kinds('image'))) THEN
            PERFORM images_record(v_closed);
        END IF;
        IF jsonb_path_exists(p, '$[*].retry_in_ms') THEN
            INSERT INTO page_crawls
                (page_id, domain, priority, scheduled_for, run_id, previous_id, url, kind, depth, redirects, is_revisit, schemeless, attempt)
            SELECT a.page_id, a.domain, CASE WHEN a.doc ? 'retry_next' THEN a.priority ELSE coalesce(c.retry_priority, a.priority) END,
                CASE WHEN a.doc ? 'retry_next' THEN c.scheduled_for ELSE a.ended_at + ms_interval((a.doc ->> 'retry_in_ms')::bigint) END,
                a.run_id, a.attempt_id, a.url, a.kind, a.depth, a.redirects, c.is_revisit, c.schemeless, c.attempt + 1
            FROM unnest(v_closed) a CROSS JOIN LATERAL (
                SELECT x.is_revisit, x.schemeless, x.attempt, x.retry_priority, x.scheduled_for FROM page_crawls x WHERE x.id = a.attempt_id LIMIT 1
            ) c
            WHERE a.doc ? 'retry_in_ms';
            UPDATE run_domains x SET last_request_at = NULL FROM unnest(v_closed) a
            WHERE x.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v_closed) y))
                AND x.run_id = a.run_id AND x.domain = a.domain AND a.doc ? 'retry_next';
        END IF;
        IF jsonb_path_exists(p, '$[*].recrawl') THEN
            PERFORM recrawls_record(v_closed);
        END IF;
        PERFORM totals_add(v_closed);
        IF jsonb_path_exists(p, '$[*].abandon_status') THEN
            UPDATE domains x SET
                status = (a.doc ->> 'abandon_status')::domain_status, status_reason = a.doc ->> 'abandon_reason',
                next_crawl_after = a.ended_at + ms_interval(coalesce((a.doc ->> 'abandon_ms')::bigint, 3600000))
            FROM unnest(v_closed) a
            WHERE x.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v_closed) y))
                AND a.has_lease AND a.doc ? 'abandon_status' AND x.domain = a.domain AND x.status IN ('pending', 'active');
        END IF;
    END IF;
    IF jsonb_path_exists(p, '$[*].robots') THEN
        FOR d IN
            SELECT a.doc -> 'robots' FROM unnest(v) a
            WHERE a.doc ? 'robots' AND (NOT a.requested OR a.n IN (SELECT c.n FROM unnest(v_closed) c))
        LOOP
            PERFORM robots_save(d);
        END LOOP;
    END IF;
    -- a domain without a claim is not finished: after a seed filter, or if its worker seemed dead
    v_unserved := ARRAY(
        SELECT DISTINCT a.domain FROM unnest(v_closed) a
        WHERE (SELECT d.claimed_by FROM domains d WHERE d.domain = a.domain) IS NULL
    );
    IF cardinality(v_unserved) > 0 THEN
        PERFORM due_update(v_unserved);
    END IF;
    v_facts := domain_facts(ARRAY(SELECT coalesce(a.doc ->> 'next_facts_of', a.domain) FROM unnest(v) a));
    RETURN QUERY SELECT a.n, a.n IN (SELECT c.n FROM unnest(v_closed) c), coalesce(a.n = ANY (v_with_new_due_domains), false), v_facts[a.place]
    FROM unnest(v) WITH ORDINALITY AS a (n, doc, domain, attempt_id, requested, ended_at, place);
END
$$;

-- Closes the rows. It stores the delays, for an audit, only if the lease was still held.
CREATE OR REPLACE FUNCTION attempts_close(v attempt[], p_with_lease integer[]) RETURNS closed_attempt[]
LANGUAGE plpgsql AS $$
DECLARE
    v_closed closed_attempt[];
BEGIN
    WITH x AS (
        UPDATE page_crawls c SET
            locked_at = NULL, completed_at = a.ended_at, outcome = (a.doc ->> 'outcome')::crawl_outcome,
            status_code = (a.doc ->> 'status_code')::smallint, error_message = a.doc ->> 'error',
            duration_ms = (a.doc ->> 'duration_ms')::integer, bytes = (a.doc ->> 'bytes')::bigint,
            truncated = (a.doc ->> 'truncated')::boolean, lost = a.doc ? 'lease_exceeded',
            content_type = a.doc ->> 'content_type', ip = (a.doc ->> 'ip')::inet,
            skipped = a.doc ->> 'skipped', unchanged_reason = a.doc ->> 'unchanged_reason',
            robots_version = (a.doc ->> 'robots_version')::bigint,
            delay_ms = CASE WHEN a.n = ANY (p_with_lease) THEN (a.doc ->> 'delay_ms')::bigint END,
            delay_reason = CASE WHEN a.n = ANY (p_with_lease) THEN a.doc ->> 'reason' END,
            ip_delay_ms = (a.doc ->> 'ip_delay_ms')::bigint,
            subnet = (a.doc ->> 'subnet')::cidr, subnet_delay_ms = (a.doc ->> 'subnet_delay_ms')::bigint,
            registered = a.doc ->> 'registered_domain', registered_delay_ms = (a.doc ->> 'registered_delay_ms')::bigint,
            retry_after_ms = (a.doc ->> 'retry_after_ms')::bigint, archived = a.doc -> 'archived'
        FROM unnest(v) a
        WHERE c.id = ANY (ARRAY(SELECT x.attempt_id FROM unnest(v) x)) AND c.id = a.attempt_id
            AND c.completed_at IS NULL AND (c.locked_at IS NOT NULL) = a.requested
        RETURNING a.n, a.doc, a.domain, c.id, a.ended_at, a.n = ANY (p_with_lease) AS has_lease, c.run_id, c.page_id, c.url, c.kind,
            c.priority, c.depth, c.redirects, c.prerequisite
    )
    SELECT coalesce(array_agg((x.*, y.fetched_at, y.duplicate)::closed_attempt ORDER BY x.domain), '{}') INTO v_closed
    FROM x CROSS JOIN LATERAL (SELECT p.fetched_at, p.duplicate FROM pages p WHERE p.id = x.page_id LIMIT 1) y;
    RETURN v_closed;
END
$$;

-- Counts attempts in the totals of their domains in their runs. Images have their own budgets and
-- count only if they were stored or skipped. Sitemaps and feeds count only if their response was
-- useless, because most sites have none of them.
CREATE OR REPLACE FUNCTION totals_add(v closed_attempt[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_domains r SET
        requests = r.requests + o.asked::integer,
        nofollow = r.nofollow + (o.outcome = 'success' AND coalesce((a.doc #>> '{page,nofollow}')::boolean, false))::integer,
        skips = CASE WHEN o.skipped IS NULL THEN r.skips ELSE
            r.skips || jsonb_build_object(o.skipped, coalesce((r.skips ->> o.skipped)::bigint, 0) + 1)
        END,
        success = r.success + (o.outcome = 'success')::integer, failed = r.failed + (o.outcome = 'failed')::integer,
        skipped = r.skipped + (o.outcome = 'skipped')::integer, timeout = r.timeout + (o.outcome = 'timeout')::integer,
        blocked_robots = r.blocked_robots + (o.outcome = 'blocked_robots')::integer,
        blocked_4xx = r.blocked_4xx + (o.outcome = 'blocked_4xx')::integer, blocked_5xx = r.blocked_5xx + (o.outcome = 'blocked_5xx')::integer,
        images_stored = r.images_stored + (a.kind = ANY (kinds('image')) AND a.doc #> '{image,content}' IS NOT NULL)::integer,
        bytes = r.bytes + CASE WHEN i.list THEN 0 ELSE coalesce((a.doc ->> 'bytes')::bigint, 0) END, updated_at = clock_timestamp()
    FROM unnest(v) a CROSS JOIN LATERAL (
        SELECT a.kind = ANY (kinds('counted')) AS counted, a.kind = ANY (kinds('announces')) AS list OFFSET 0
    ) i CROSS JOIN LATERAL (
        SELECT i.counted AND a.doc ? 'requested' AS asked, CASE WHEN i.counted THEN a.doc ->> 'outcome' ELSE '' END AS outcome,
            CASE WHEN i.counted OR a.doc ->> 'skipped' <> ALL (reasons('known')) THEN a.doc ->> 'skipped' END AS skipped
    ) o
    WHERE r.domain = ANY (ARRAY(SELECT x.domain FROM unnest(v) x)) AND r.run_id = a.run_id AND r.domain = a.domain
        AND NOT a.prerequisite AND (NOT i.list OR a.doc ?& '{skipped,requested}');
    INSERT INTO run_outcomes_new (ended_at, run_id, outcome, attempts)
    SELECT date_trunc('minute', a.ended_at), a.run_id, (a.doc ->> 'outcome')::crawl_outcome, count(*)
    FROM unnest(v) a WHERE NOT a.prerequisite AND a.kind = ANY (kinds('counted')) GROUP BY 1, 2, 3;
    -- many domains share this row, so only runs with a budget of bytes update it
    UPDATE crawl_runs r SET bytes = r.bytes + b.bytes
    FROM (
        SELECT a.run_id, sum((a.doc ->> 'bytes')::bigint) AS bytes FROM unnest(v) a
        WHERE NOT a.prerequisite AND (a.kind = ANY (kinds('counted')) OR a.kind = ANY (kinds('image'))) GROUP BY a.run_id ORDER BY a.run_id
    ) b
    WHERE r.id = b.run_id AND r.bytes IS NOT NULL AND b.bytes > 0;
END
$$;
