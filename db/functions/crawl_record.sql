-- Closes an attempt and does all that follows from it, in one transaction: the
-- domain's slot, the page, its links, the pages found, their crawls, the retry, the
-- totals. The document is crawl.Attempt. If the crawl is closed already (a slow
-- worker was taken for dead) it changes nothing.
--
-- Returns what the domain's facts are now, whether this call closed the crawl, and
-- whether it made other domains due that the dispatcher does not know of.
CREATE OR REPLACE FUNCTION crawl_record(p jsonb) RETURNS crawl_recorded LANGUAGE plpgsql AS $$
DECLARE
    r crawl_recorded;
    v_domain CONSTANT text := p ->> 'domain';
    v_id CONSTANT bigint := (p ->> 'crawl_id')::bigint;
    v_requested CONSTANT boolean := coalesce((p ->> 'requested')::boolean, false);
    v_ended CONSTANT timestamptz := coalesce(
        (p ->> 'ended_at')::timestamptz, clock_timestamp() - ms_interval((p ->> 'since_end_ms')::bigint)
    );
    v_held boolean := false;
    c page_crawls;
BEGIN
    r.news := false;
    IF v_requested THEN
        v_held := slot_release(v_domain, 'crawl:' || v_id, v_ended, (p ->> 'delay_ms')::bigint, p ->> 'reason',
            p ? 'reached');
    END IF;
    IF v_held AND p ? 'health' THEN
        INSERT INTO domain_health (domain, health) VALUES (v_domain, p -> 'health')
        ON CONFLICT (domain) DO UPDATE SET health = excluded.health, updated_at = clock_timestamp();
    END IF;
    SELECT * INTO c FROM page_crawls WHERE id = v_id FOR UPDATE;
    r.closed := FOUND AND c.outcome IS NULL AND (c.locked_at IS NOT NULL) = v_requested;
    IF r.closed THEN
        PERFORM crawl_close(p, v_ended, v_held);
        IF p ? 'charge' THEN
            PERFORM patterns_charge(c, p);
        END IF;
        PERFORM page_update(c.page_id, p -> 'page', v_ended);
        r.news := links_record(c, p);
        IF p ? 'retry_in_ms' THEN
            INSERT INTO page_crawls
                (page_id, domain, priority, scheduled_for, run_id, previous_id, url, kind, depth, redirects)
            VALUES (c.page_id, c.domain, coalesce((p ->> 'retry_priority')::smallint, c.priority),
                v_ended + ms_interval((p ->> 'retry_in_ms')::bigint), c.run_id, c.id, c.url,
                c.kind, c.depth, c.redirects);
        END IF;
        IF NOT c.prerequisite THEN
            PERFORM totals_add(c.run_id, v_domain, p);
        END IF;
        IF v_held AND p ? 'verdict' THEN
            UPDATE domains SET
                status = (p ->> 'verdict')::domain_status, status_reason = p ->> 'verdict_reason',
                next_crawl_after = v_ended + ms_interval(coalesce((p ->> 'verdict_ms')::bigint, 3600000))
            WHERE domain = v_domain AND status IN ('pending', 'active');
        END IF;
    END IF;
    IF (r.closed OR NOT v_requested) AND p ? 'robots' THEN
        PERFORM robots_save(p -> 'robots');
    END IF;
    r.facts := domain_facts(coalesce(p ->> 'facts_of', v_domain));
    RETURN r;
END
$$;

-- Closes the row. What an audit needs is written only if the lease was still held.
CREATE OR REPLACE FUNCTION crawl_close(p jsonb, p_ended timestamptz, p_held boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE page_crawls SET
        locked_at = NULL, completed_at = p_ended, outcome = (p ->> 'outcome')::crawl_outcome,
        status_code = (p ->> 'status_code')::smallint, error_message = p ->> 'error',
        duration_ms = (p ->> 'duration_ms')::integer, bytes = (p ->> 'bytes')::bigint,
        truncated = (p ->> 'truncated')::boolean,
        content_type = p ->> 'content_type', ip = (p ->> 'ip')::inet,
        skipped = p ->> 'skipped', unchanged = p ->> 'unchanged',
        robots_version = (p ->> 'robots_version')::bigint,
        delay_ms = CASE WHEN p_held THEN (p ->> 'delay_ms')::bigint END,
        delay_reason = CASE WHEN p_held THEN p ->> 'reason' END,
        ip_delay_ms = (p ->> 'ip_delay_ms')::bigint,
        subnet = (p ->> 'subnet')::cidr, subnet_delay_ms = (p ->> 'subnet_delay_ms')::bigint,
        retry_after_ms = (p ->> 'retry_after_ms')::bigint
    WHERE id = (p ->> 'crawl_id')::bigint;
END
$$;

-- Counts an attempt in its run's totals of the domain.
CREATE OR REPLACE FUNCTION totals_add(p_run_id bigint, p_domain text, p jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    o CONSTANT text := p ->> 'outcome';
    v_skipped CONSTANT text := p ->> 'skipped';
BEGIN
    UPDATE run_domains SET
        requests = requests + coalesce((p ->> 'requested')::boolean, false)::integer,
        nofollow = nofollow + (o = 'success' AND coalesce((p #>> '{page,nofollow}')::boolean, false))::integer,
        skips = CASE WHEN v_skipped IS NULL THEN skips ELSE
            skips || jsonb_build_object(v_skipped, coalesce((skips ->> v_skipped)::bigint, 0) + 1)
        END,
        success = success + (o = 'success')::integer,
        failed = failed + (o = 'failed')::integer,
        skipped = skipped + (o = 'skipped')::integer,
        timeout = timeout + (o = 'timeout')::integer,
        blocked_robots = blocked_robots + (o = 'blocked_robots')::integer,
        blocked_4xx = blocked_4xx + (o = 'blocked_4xx')::integer,
        blocked_5xx = blocked_5xx + (o = 'blocked_5xx')::integer,
        bytes = bytes + coalesce((p ->> 'bytes')::bigint, 0), updated_at = clock_timestamp()
    WHERE run_id = p_run_id AND domain = p_domain;
END
$$;
