-- Begins attempts of different domains, as crawl_begin does: those of pages that share no
-- slot and have no budget. The document is an array of crawl.Start. It does not wait for
-- long for what another transaction has locked: each is begun alone then.
CREATE OR REPLACE FUNCTION crawls_begin(p jsonb) RETURNS SETOF begun_attempt LANGUAGE plpgsql
SET lock_timeout = '500ms' AS $$
DECLARE
    v start_attempt[];
    v_begun bigint[];
BEGIN
    v := slots_take(ARRAY(
        SELECT (e.n, e.doc ->> 'domain', (e.doc ->> 'crawl_id')::bigint, (e.doc ->> 'final')::boolean,
            ms_interval((e.doc ->> 'hold_ms')::bigint), ms_interval((e.doc ->> 'claim_ms')::bigint),
            NULL, NULL, NULL)::start_attempt
        FROM jsonb_array_elements(p) WITH ORDINALITY AS e (doc, n) ORDER BY e.doc ->> 'domain'
    ));
    PERFORM claims_renew(array_agg(a.domain ORDER BY a.domain), max(a.claim), true) FROM unnest(v) a WHERE a.reason IS NULL;
    WITH x AS (
        UPDATE page_crawls c SET locked_at = clock_timestamp(), final = a.final
        FROM unnest(v) a
        WHERE c.id = ANY (ARRAY(SELECT x.crawl_id FROM unnest(v) x)) AND c.id = a.crawl_id AND a.reason IS NULL
            AND c.completed_at IS NULL AND c.locked_at IS NULL
            AND (SELECT r.status FROM crawl_runs r WHERE r.id = c.run_id) = 'running'
            AND (SELECT d.status FROM domains d WHERE d.domain = c.domain) NOT IN ('blocked', 'unreachable')
        RETURNING c.id, c.run_id, c.domain, c.kind
    ), counted AS (
        UPDATE run_domains r SET
            pages_started = r.pages_started + kind_counted(x.kind)::integer,
            images_started = r.images_started + kind_image(x.kind)::integer, updated_at = clock_timestamp()
        FROM x
        WHERE r.domain = ANY (ARRAY(SELECT y.domain FROM unnest(v) y)) AND r.run_id = x.run_id AND r.domain = x.domain
    )
    SELECT coalesce(array_agg(x.id), '{}') INTO v_begun FROM x;
    IF cardinality(v_begun) < cardinality(v) THEN
        PERFORM slot_undo(a.domain, '{}', 'crawl:' || a.crawl_id, 0, '{}')
        FROM unnest(v) a WHERE a.reason IS NULL AND a.crawl_id <> ALL (v_begun);
    END IF;
    RETURN QUERY SELECT a.n, a.crawl_id = ANY (v_begun), coalesce(a.wait_ms, 0),
        CASE WHEN a.crawl_id = ANY (v_begun) THEN '' ELSE coalesce(a.reason, 'stale') END,
        CASE WHEN a.crawl_id = ANY (v_begun) THEN a.crawl_id ELSE 0 END
    FROM unnest(v) a;
END
$$;

-- Takes the slots of domains that share nothing, as slot_take does. Of those that it does
-- not take it says why, and how long to wait.
CREATE OR REPLACE FUNCTION slots_take(p start_attempt[]) RETURNS start_attempt[] LANGUAGE plpgsql AS $$
DECLARE
    keys CONSTANT text[] := ARRAY(SELECT 'domain:' || a.domain FROM unnest(p) a ORDER BY 1);
    v start_attempt[];
    t timestamptz;
BEGIN
    IF EXISTS (SELECT 1 FROM unnest(keys) k WHERE (SELECT s.key FROM politeness_slots s WHERE s.key = k) IS NULL) THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k ON CONFLICT (key) DO NOTHING;
    END IF;
    PERFORM 1 FROM unnest(keys) k CROSS JOIN LATERAL (SELECT 1 FROM politeness_slots s WHERE s.key = k FOR UPDATE) l;
    t := clock_timestamp();
    v := ARRAY(
        SELECT (a.n, a.domain, a.crawl_id, a.final, a.hold, a.claim, CASE WHEN f.kind IS NULL THEN s.holder END,
            CASE WHEN f.kind IS NULL AND s.free_at > t THEN ms_between(t, s.free_at) END,
            coalesce(f.kind, CASE WHEN s.free_at > t THEN s.reason END))::start_attempt
        FROM unnest(p) a CROSS JOIN LATERAL (
            SELECT x.free_at, x.reason, x.holder FROM politeness_slots x WHERE x.key = 'domain:' || a.domain LIMIT 1
        ) s CROSS JOIN LATERAL (SELECT domain_forbidden(a.domain) AS kind) f
    );
    UPDATE politeness_slots s
    SET free_at = t + a.hold, holder = 'crawl:' || a.crawl_id, reason = 'in flight', updated_at = t
    FROM unnest(v) a
    WHERE s.key = ANY (keys) AND s.key = 'domain:' || a.domain AND a.reason IS NULL;
    PERFORM crawl_reap(a.was) FROM unnest(v) a WHERE a.reason IS NULL AND a.was IS NOT NULL;
    RETURN v;
END
$$;
