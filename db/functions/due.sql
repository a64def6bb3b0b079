-- When a domain is due for a run, or why not. This is the only definition, and nothing else writes
-- run_domains.next_due_at. A transaction that changes one of these rows calls due_update:
--
--   pending attempts by kind, and the attempt in flight    page_crawls, politeness_slots
--   operators' decisions and lists, and their ends     domain_controls, list_entries
--   deferral, the opening of windows, the claim        domains
--   budgets of the domain by kind                      run_domains, crawl_runs.settings
--
-- A run's status and its own budgets are checked when domains are claimed and when the run ends
-- (run_allowed_work). A row may be too early, which costs one check in vain. It is never too late.

-- Returns when domains are due, in their order, for each of their runs. With p_claims claimed
-- domains are not due, because their workflows check for work. Without it claims are ignored.
CREATE OR REPLACE FUNCTION domains_due(p_domains text[], p_claims boolean) RETURNS run_due[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN ARRAY(
        SELECT (w.run_id, w.domain, greatest(w.at, CASE WHEN w.at IS NOT NULL THEN w.ban_end END),
            greatest(w.images_at, CASE WHEN w.images_at IS NOT NULL THEN w.ban_end END),
            CASE
                WHEN w.at IS NULL THEN ''
                WHEN w.ban_end >= w.at AND w.ban_end > t THEN w.ban_reason
                WHEN w.at = 'infinity' THEN 'budget'
                WHEN w.at > t THEN CASE WHEN w.at = w.lease_end THEN 'in flight' ELSE 'scheduled' END
                ELSE ''
            END)::run_due
        FROM (
            SELECT rd.run_id, k.domain, g.at AS ban_end, g.reason AS ban_reason, f.free_at AS lease_end, i.at AS images_at,
                least(f.free_at, CASE
                    WHEN s.spent = 'all' OR s.spent = 'pages' AND i.pending IS NULL THEN CASE WHEN n.at IS NOT NULL THEN 'infinity'::timestamptz END
                    WHEN s.spent = 'pages' THEN i.pending
                    ELSE n.at
                END) AS at
            FROM unnest(p_domains) AS k (domain)
            CROSS JOIN LATERAL (
                SELECT p_claims AND x.claimed_by IS NOT NULL AS served, x.status, x.next_crawl_after, x.opens_at
                FROM domains x WHERE x.domain = k.domain LIMIT 1
            ) d LEFT JOIN LATERAL (
                -- the end of all bans on requests, and the longest reason (reasons.Reason)
                SELECT x.at, x.reason FROM (
                    SELECT coalesce(c.until, 'infinity') AS at, control_reason(c.kind) AS reason
                    FROM domain_controls c
                    WHERE c.domain = k.domain AND c.lifted_at IS NULL AND control_reason(c.kind) IS NOT NULL
                    UNION ALL
                    SELECT 'infinity', 'listed' WHERE domain_listed_by(k.domain) IS NOT NULL
                    UNION ALL
                    SELECT coalesce(d.next_crawl_after, CASE WHEN is_abandoned(d.status) THEN 'infinity'::timestamptz END),
                        'deferred'
                    UNION ALL
                    SELECT d.opens_at, 'window'
                ) x
                WHERE x.at IS NOT NULL ORDER BY x.at DESC, array_position(reasons('by rank'), x.reason) LIMIT 1
            ) g ON true
            CROSS JOIN LATERAL (SELECT domain_budget(k.domain) AS own OFFSET 0) b
            CROSS JOIN LATERAL (SELECT x AS row, x.run_id FROM run_domains x WHERE x.domain = k.domain OFFSET 0) rd
            CROSS JOIN LATERAL (
                SELECT x.settings, (x.settings ->> 'max_pages')::bigint >= 0 AND x.settings ->> 'images' <> 'off' AS both_kinds
                FROM crawl_runs x WHERE x.id = rd.run_id LIMIT 1
            ) r
            CROSS JOIN LATERAL (
                SELECT CASE WHEN NOT d.served THEN first_due_at(k.domain, rd.run_id, t, false) END AS at OFFSET 0
            ) n
            -- in most runs of a domain nothing is pending
            CROSS JOIN LATERAL (
                SELECT CASE WHEN n.at IS NOT NULL THEN forbidden_by_budget(rd.row, r.settings, b.own) ELSE '' END AS spent OFFSET 0
            ) s
            CROSS JOIN LATERAL (
                SELECT CASE WHEN r.both_kinds AND s.spent <> 'all' THEN x.at END AS at, x.at AS pending FROM (
                    SELECT CASE WHEN n.at IS NOT NULL AND (r.both_kinds OR s.spent = 'pages') THEN first_due_at(k.domain, rd.run_id, t, true) END AS at
                ) x OFFSET 0
            ) i
            CROSS JOIN LATERAL (
                SELECT CASE WHEN NOT d.served THEN in_flight_lease_end(k.domain, rd.run_id) END AS free_at OFFSET 0
            ) f
        ) w
        ORDER BY w.domain, w.run_id
    );
END
$$;

-- Returns the end of the lease of a run's crawl of a domain; null means no crawl in flight.
CREATE OR REPLACE FUNCTION in_flight_lease_end(p_domain text, p_run_id bigint) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT greatest(s.free_at, c.locked_at) FROM politeness_slots s CROSS JOIN LATERAL (
            SELECT x.locked_at FROM page_crawls x
            WHERE x.id = substr(s.holder, 7)::bigint AND x.run_id = p_run_id AND x.completed_at IS NULL AND NOT x.prerequisite LIMIT 1
        ) c
        WHERE s.key = 'domain:' || p_domain AND s.holder IS NOT NULL
    );
END
$$;

-- Returns when the first pending attempt of a domain is due in a run, of images or of any kind;
-- null means never. With due attempts it is the time of one of them, after one step along an index.
CREATE OR REPLACE FUNCTION first_due_at(p_domain text, p_run_id bigint, p_now timestamptz, p_images boolean) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    c_least CONSTANT smallint := (CASE WHEN p_images THEN 1 ELSE -32768 END)::smallint;
    v_at timestamptz;
BEGIN
    SELECT c.scheduled_for INTO v_at FROM page_crawls c
    WHERE c.domain = p_domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for <= p_now
        AND c.priority >= c_least AND (c.kind = ANY (kinds('image')) OR NOT p_images)
    ORDER BY c.priority DESC, c.scheduled_for, c.id LIMIT 1;
    IF v_at IS NULL THEN
        SELECT min(c.scheduled_for) INTO v_at FROM page_crawls c
        WHERE c.domain = p_domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL
            AND c.priority >= c_least AND (c.kind = ANY (kinds('image')) OR NOT p_images);
    END IF;
    RETURN v_at;
END
$$;

-- Stores when domains are due in all their runs; null for a claimed domain, whose workflow checks
-- for work. Returns the runs with a domain that is due sooner. A caller that has made crawls
-- pending locks the domains' rows, at least FOR KEY SHARE. Later times are computed again under a
-- lock that waits for such callers, so that no new crawl is missed.
CREATE OR REPLACE FUNCTION due_update(p_domains text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v run_due[] := domains_due(p_domains, true);
    v_later text[];
    v_sooner bigint[];
BEGIN
    WITH sooner AS (
        UPDATE run_domains rd SET next_due_at = u.due_at, images_due_at = u.images_due_at, wait_reason = u.reason
        FROM unnest(v) u
        WHERE rd.domain = ANY (p_domains) AND rd.run_id = u.run_id AND rd.domain = u.domain
            AND (rd.next_due_at IS NULL OR rd.next_due_at > greatest(u.due_at, t)) AND u.due_at IS NOT NULL
        RETURNING rd.run_id
    )
    SELECT array_agg(DISTINCT s.run_id) INTO v_sooner FROM sooner s;
    SELECT array_agg(DISTINCT u.domain ORDER BY u.domain) INTO v_later
    FROM unnest(v) u CROSS JOIN LATERAL (
        SELECT x AS stored FROM run_domains x WHERE x.run_id = u.run_id AND x.domain = u.domain LIMIT 1
    ) rd
    WHERE due_differs(rd.stored, u, t);
    IF v_later IS NOT NULL THEN
        PERFORM 1 FROM domains d WHERE d.domain = ANY (v_later) ORDER BY d.domain FOR UPDATE;
        v := domains_due(v_later, true);
        UPDATE run_domains rd SET next_due_at = u.due_at, images_due_at = u.images_due_at, wait_reason = u.reason
        FROM unnest(v) u
        WHERE rd.domain = ANY (v_later) AND rd.run_id = u.run_id AND rd.domain = u.domain
            AND due_differs(rd, u, t);
    END IF;
    RETURN coalesce(v_sooner, '{}');
END
$$;

-- Reports whether stored and computed values of a domain in a run differ. Past times are equal.
CREATE OR REPLACE FUNCTION due_differs(rd run_domains, u run_due, p_now timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (rd.next_due_at IS NULL, greatest(rd.next_due_at, p_now), rd.images_due_at IS NULL, greatest(rd.images_due_at, p_now), rd.wait_reason)
        IS DISTINCT FROM (u.due_at IS NULL, greatest(u.due_at, p_now), u.images_due_at IS NULL, greatest(u.images_due_at, p_now), u.reason)
$$;

-- Waits until domains of a run, or of all runs if that is null, are finished, because their finish
-- has read rows before the caller's change. Later finishes wait for the caller.
CREATE OR REPLACE FUNCTION finishes_await(p_run_id bigint) RETURNS void LANGUAGE sql AS $$
    SELECT FROM domains d
    WHERE d.claimed_by IS NOT NULL AND (p_run_id IS NULL
        OR EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = d.domain))
    -- || '' makes a sort: for the order alone, Postgres would read all domains by name
    ORDER BY d.domain || '' FOR KEY SHARE
$$;

-- Recomputes when the windows of a run's domains open, after a change of its window or status.
CREATE OR REPLACE FUNCTION run_windows(p_run_id bigint, p_old_window text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF concat(p_old_window, (SELECT r.settings ->> 'window' FROM crawl_runs r WHERE r.id = p_run_id)) <> '' THEN
        PERFORM finishes_await(p_run_id);
        PERFORM domains_wake(ARRAY(
            SELECT d.domain FROM domains d
            WHERE d.opens_at IS NOT NULL AND EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = d.domain)
            ORDER BY d.domain
        ), true);
    END IF;
END
$$;

-- Returns why a domain is not requested now, and until when, in the given run. Without a run it is
-- the run that may request it first. An empty reason means that it may be requested. Unlike
-- run_domains.wait_reason it covers claimed domains and slots. It is the state that operators see.
CREATE OR REPLACE FUNCTION domain_wait(p_domain text, p_run_id bigint, OUT wait_reason text, OUT until timestamptz)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_at timestamptz;
    s politeness_slots;
BEGIN
    SELECT u.reason, u.due_at INTO wait_reason, v_at FROM unnest(domains_due(ARRAY[p_domain], false)) u
    WHERE (p_run_id IS NULL OR u.run_id = p_run_id) AND u.due_at IS NOT NULL
    ORDER BY u.due_at LIMIT 1;
    SELECT x.* INTO s FROM politeness_slots x WHERE x.key = 'domain:' || p_domain;
    until := greatest(v_at, s.free_at, now());
    wait_reason := CASE
        WHEN s.free_at > now() AND s.holder IS NOT NULL THEN 'in flight'
        WHEN until <= now() THEN ''
        WHEN v_at >= s.free_at OR s.key IS NULL THEN wait_reason
        ELSE coalesce(s.reason, '')
    END;
END
$$;
