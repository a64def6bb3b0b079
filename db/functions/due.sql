-- When a domain is due for a run, and if it is not, why. This is the only definition. A change
-- of a row that it reads calls due_update for the domain in the same transaction. Nothing else
-- writes run_domains.next_due_at. It is computed from these rows:
--
--   pending crawls by kind, and the one in flight      page_crawls, politeness_slots
--   what people and lists forbid, and until when       domain_controls, list_entries
--   deferral, and when the windows open                domains
--   budgets of the domain by kind                      run_domains, crawl_runs.settings
--   the claim                                          domains
--
-- What holds for a whole run is not part of it: its status, and its budgets of pages, bytes and
-- time. That is looked at when domains are claimed, and when the run ends (run_open).
--
-- A row may say too early. Then the domain is looked at in vain, once. It never says too late.

-- Until when nothing of a domain may be asked, for whichever run, and why (crawl.Reason). Null
-- is not at all. Of several reasons it is the one that lasts longest.
CREATE OR REPLACE FUNCTION domain_gate(p_domain text, OUT at timestamptz, OUT reason text) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT g.at, g.reason INTO at, reason FROM (
        SELECT coalesce(c.until, 'infinity') AS at, control_reason(c.kind) AS reason, control_order(c.kind) AS n
        FROM domain_controls c
        WHERE c.domain = p_domain AND c.lifted_at IS NULL AND c.kind IN ('pause', 'stop', 'block')
        UNION ALL
        SELECT 'infinity', 'listed', 0 WHERE domain_listed(p_domain) IS NOT NULL
        UNION ALL
        SELECT CASE WHEN d.status IN ('blocked', 'unreachable') THEN coalesce(d.next_crawl_after, 'infinity') ELSE d.next_crawl_after END,
            'deferred', 4
        FROM domains d WHERE d.domain = p_domain
        UNION ALL
        SELECT d.opens_at, 'window', 5 FROM domains d WHERE d.domain = p_domain
    ) g
    WHERE g.at IS NOT NULL ORDER BY g.at DESC, g.n LIMIT 1;
END
$$;

-- How many pages a run may ask for of a domain. Null means: no limit. p_own is what a person has
-- set for the domain. p_growths is how often the run's own budget has grown there. Each time it
-- grows by one page at least.
CREATE OR REPLACE FUNCTION pages_budget(p_settings jsonb, p_growths integer, p_own bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_own >= 0 THEN p_own
        WHEN p_own < 0 OR (p_settings ->> 'max_pages_per_domain')::bigint < 0 THEN NULL
        WHEN p_growths > 0 THEN greatest(
            (p_settings ->> 'max_pages_per_domain')::bigint + p_growths,
            least((p_settings ->> 'max_pages_per_domain')::bigint * (p_settings ->> 'budget_growth')::float8 ^ p_growths, 1e18)::bigint
        )
        ELSE (p_settings ->> 'max_pages_per_domain')::bigint
    END
$$;

-- The budget of pages that a person has set for a domain; null is none.
CREATE OR REPLACE FUNCTION domain_budget(p_domain text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT (c.value #>> '{}')::bigint FROM domain_controls c
        WHERE c.domain = p_domain AND c.kind = 'budget' AND c.lifted_at IS NULL AND (c.until IS NULL OR c.until > clock_timestamp())
    );
END
$$;

-- Whether a budget of a domain in a run leaves no further page.
CREATE OR REPLACE FUNCTION pages_spent(rd run_domains, p_settings jsonb, p_own bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(rd.pages_started >= pages_budget(p_settings, rd.budget_growths, p_own), false)
        OR (p_settings ->> 'max_pages_per_registered_domain')::bigint >= 0
        AND registered_started(rd.run_id, coalesce(rd.registered, rd.domain)) >= (p_settings ->> 'max_pages_per_registered_domain')::bigint;
END
$$;

-- Whether a budget of a domain in a run leaves no further request of any kind.
CREATE OR REPLACE FUNCTION domain_spent(rd run_domains, p_settings jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_settings ->> 'max_bytes_per_domain')::bigint >= 0 AND rd.bytes >= (p_settings ->> 'max_bytes_per_domain')::bigint
$$;

-- When domains are due, for one run or, where that is null, for each that they are part of.
-- A claim is not looked at.
CREATE OR REPLACE FUNCTION domains_due(p_domains text[], p_run_id bigint DEFAULT NULL) RETURNS SETOF run_due
LANGUAGE plpgsql STABLE AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY SELECT w.run_id, w.domain, greatest(w.at, CASE WHEN w.at IS NOT NULL THEN w.gate END),
        greatest(w.images_at, CASE WHEN w.images_at IS NOT NULL THEN w.gate END),
        CASE
            WHEN w.at IS NULL THEN ''
            WHEN w.gate >= w.at AND w.gate > t THEN w.gate_reason
            WHEN w.at = 'infinity' THEN 'budget'
            WHEN w.at > t THEN CASE WHEN w.at = w.flying THEN 'in flight' ELSE 'scheduled' END
            ELSE ''
        END
    FROM (
        SELECT rd.run_id, k.domain, g.at AS gate, g.reason AS gate_reason, f.free_at AS flying, i.at AS images_at, least(f.free_at, CASE
            WHEN s.everything OR s.pages AND i.pending IS NULL THEN CASE WHEN n.pending THEN 'infinity'::timestamptz END
            WHEN s.pages THEN i.pending
            ELSE n.at
        END) AS at
        FROM unnest(p_domains) AS k (domain)
        CROSS JOIN LATERAL (SELECT x.at, x.reason FROM domain_gate(k.domain) x OFFSET 0) g
        CROSS JOIN LATERAL (SELECT domain_budget(k.domain) AS own OFFSET 0) b
        CROSS JOIN LATERAL (
            SELECT x AS rd, x.run_id FROM run_domains x
            WHERE x.domain = k.domain AND (p_run_id IS NULL OR x.run_id = p_run_id) OFFSET 0
        ) rd
        CROSS JOIN LATERAL (
            SELECT x.settings, (x.settings ->> 'max_pages')::bigint >= 0 AND x.settings ->> 'images' <> 'off' AS both_kinds
            FROM crawl_runs x WHERE x.id = rd.run_id LIMIT 1
        ) r
        CROSS JOIN LATERAL (SELECT x.at, x.pending FROM crawls_due(k.domain, rd.run_id, t) x OFFSET 0) n
        -- of most of the runs that a domain has been part of nothing is pending
        CROSS JOIN LATERAL (
            SELECT n.pending AND domain_spent(rd.rd, r.settings) AS everything,
                CASE WHEN n.pending THEN pages_spent(rd.rd, r.settings, b.own) ELSE false END AS pages OFFSET 0
        ) s
        CROSS JOIN LATERAL (
            SELECT CASE WHEN r.both_kinds AND NOT s.everything THEN x.at END AS at, x.at AS pending FROM (
                SELECT CASE WHEN n.pending AND (r.both_kinds OR s.pages) THEN images_due(k.domain, rd.run_id, t) END AS at
            ) x OFFSET 0
        ) i
        CROSS JOIN LATERAL (SELECT crawl_flying(k.domain, rd.run_id) AS free_at OFFSET 0) f
    ) w;
END
$$;

-- When the lease ends of the crawl of a run that is in flight on a domain, whose worker may have
-- died; null is that none is.
CREATE OR REPLACE FUNCTION crawl_flying(p_domain text, p_run_id bigint) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT greatest(s.free_at, c.locked_at) FROM politeness_slots s CROSS JOIN LATERAL (
            SELECT x.locked_at FROM page_crawls x
            WHERE x.id = holder_crawl(s.holder) AND x.run_id = p_run_id AND x.completed_at IS NULL AND NOT x.prerequisite LIMIT 1
        ) c
        WHERE s.key = 'domain:' || p_domain AND s.holder IS NOT NULL
    );
END
$$;

-- When the first pending crawl of a domain is due in a run, of whatever kind, and whether there
-- is one. Where some are due already it is one of these, at the cost of one step along an index.
CREATE OR REPLACE FUNCTION crawls_due(p_domain text, p_run_id bigint, p_now timestamptz, OUT at timestamptz, OUT pending boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT c.scheduled_for INTO at FROM page_crawls c
    WHERE c.domain = p_domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for <= p_now
    ORDER BY c.priority DESC, c.scheduled_for, c.id LIMIT 1;
    IF at IS NULL THEN
        SELECT min(c.scheduled_for) INTO at FROM page_crawls c
        WHERE c.domain = p_domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL;
    END IF;
    pending := at IS NOT NULL;
END
$$;

-- The same of images alone, which come before all else.
CREATE OR REPLACE FUNCTION images_due(p_domain text, p_run_id bigint, p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_at timestamptz;
BEGIN
    SELECT c.scheduled_for INTO v_at FROM page_crawls c
    WHERE c.domain = p_domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for <= p_now
        AND c.priority > 0 AND kind_image(c.kind)
    ORDER BY c.priority DESC, c.scheduled_for, c.id LIMIT 1;
    IF v_at IS NULL THEN
        SELECT min(c.scheduled_for) INTO v_at FROM page_crawls c
        WHERE c.domain = p_domain AND c.run_id = p_run_id AND c.outcome IS NULL AND c.locked_at IS NULL
            AND c.priority > 0 AND kind_image(c.kind);
    END IF;
    RETURN v_at;
END
$$;

-- Notes when domains are due, in all their runs. For a claimed domain it notes null: its workflow
-- looks by itself. Returns the runs for which something has become due sooner. A caller that has
-- made crawls pending holds a lock on the domains' rows, FOR KEY SHARE at the least. What comes
-- later than noted is computed once more under a lock that waits for such callers. So no crawl
-- that comes meanwhile is passed over.
CREATE OR REPLACE FUNCTION due_update(p_domains text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v run_due[] := due_claimed(p_domains);
    v_later text[];
    v_sooner bigint[];
BEGIN
    WITH sooner AS (
        UPDATE run_domains rd SET next_due_at = u.at, images_due_at = u.images_at, waits = u.reason
        FROM unnest(v) u
        WHERE rd.domain = ANY (p_domains) AND rd.run_id = u.run_id AND rd.domain = u.domain
            AND (rd.next_due_at IS NULL OR rd.next_due_at > greatest(u.at, t)) AND u.at IS NOT NULL
        RETURNING rd.run_id
    )
    SELECT array_agg(DISTINCT s.run_id) INTO v_sooner FROM sooner s;
    SELECT array_agg(DISTINCT u.domain ORDER BY u.domain) INTO v_later
    FROM unnest(v) u CROSS JOIN LATERAL (
        SELECT x AS noted FROM run_domains x WHERE x.run_id = u.run_id AND x.domain = u.domain LIMIT 1
    ) rd
    WHERE due_differs(rd.noted, u, t);
    IF v_later IS NOT NULL THEN
        PERFORM 1 FROM domains d WHERE d.domain = ANY (v_later) ORDER BY d.domain FOR UPDATE;
        v := due_claimed(v_later);
        UPDATE run_domains rd SET next_due_at = u.at, images_due_at = u.images_at, waits = u.reason
        FROM unnest(v) u
        WHERE rd.domain = ANY (v_later) AND rd.run_id = u.run_id AND rd.domain = u.domain
            AND due_differs(rd, u, t);
    END IF;
    RETURN coalesce(v_sooner, '{}');
END
$$;

-- Whether two instants are the same to who looks for what is due: all that are past are.
CREATE OR REPLACE FUNCTION due_same(p_a timestamptz, p_b timestamptz, p_now timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_a IS NOT DISTINCT FROM p_b OR coalesce(p_a <= p_now AND p_b <= p_now, false)
$$;

-- Whether what is noted of a domain in a run is not what is so.
CREATE OR REPLACE FUNCTION due_differs(rd run_domains, u run_due, p_now timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT due_same(rd.next_due_at, u.at, p_now) OR NOT due_same(rd.images_due_at, u.images_at, p_now) OR rd.waits <> u.reason
$$;

-- When domains are due, but for those that are claimed.
CREATE OR REPLACE FUNCTION due_claimed(p_domains text[]) RETURNS run_due[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT (u.run_id, u.domain, CASE WHEN d.free THEN u.at END, CASE WHEN d.free THEN u.images_at END,
            CASE WHEN d.free THEN u.reason ELSE '' END)::run_due
        FROM domains_due(p_domains) u CROSS JOIN LATERAL (
            SELECT x.claimed_by IS NULL AS free FROM domains x WHERE x.domain = u.domain LIMIT 1
        ) d
        ORDER BY u.domain, u.run_id
    );
END
$$;

-- Waits for domains that are just being finished, of a run or, where that is null, of all:
-- their finish has read rows as they were before the caller changed them. Those that are
-- finished from now on wait for the caller.
CREATE OR REPLACE FUNCTION finishes_await(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM domains d
    WHERE d.claimed_by IS NOT NULL AND (p_run_id IS NULL
        OR EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = d.domain))
    -- with || '' they are sorted: for the order alone, all domains would be read by their names
    ORDER BY d.domain || '' FOR KEY SHARE;
END
$$;

-- The same for all domains of a run, some at a time.
CREATE OR REPLACE FUNCTION run_due_update(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_domains text[];
    v_last text := '';
BEGIN
    PERFORM finishes_await(p_run_id);
    LOOP
        v_domains := ARRAY(
            SELECT rd.domain FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain > v_last ORDER BY rd.domain LIMIT 10000
        );
        EXIT WHEN cardinality(v_domains) = 0;
        PERFORM due_update(v_domains);
        v_last := v_domains[cardinality(v_domains)];
    END LOOP;
END
$$;

-- A run's windows hold for a domain while the run goes on: whatever changes its status, it is
-- decided anew when its domains' windows open.
CREATE OR REPLACE FUNCTION crawl_runs_windows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM run_windows_forget(NEW.id);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER crawl_runs_windows AFTER UPDATE OF status ON crawl_runs
FOR EACH ROW WHEN (OLD.status <> NEW.status AND NEW.settings ->> 'window' <> '') EXECUTE FUNCTION crawl_runs_windows();

-- Has it decided anew when the windows of a run's domains open. The caller has changed what
-- windows hold there.
CREATE OR REPLACE FUNCTION run_windows_forget(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_domains text[];
BEGIN
    PERFORM finishes_await(p_run_id);
    WITH forgotten AS (
        UPDATE domains d SET opens_at = NULL
        WHERE d.opens_at IS NOT NULL
            AND EXISTS (SELECT 1 FROM run_domains rd WHERE rd.run_id = p_run_id AND rd.domain = d.domain)
        RETURNING d.domain
    )
    SELECT array_agg(f.domain ORDER BY f.domain) INTO v_domains FROM forgotten f;
    IF v_domains IS NOT NULL THEN
        PERFORM due_update(v_domains);
    END IF;
END
$$;
