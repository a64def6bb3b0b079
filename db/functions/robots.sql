-- Stores an origin's robots.txt: crawl.Robots. Pages that other rules disallowed return to their
-- runs. Returns the number of consecutive failed fetches.
CREATE OR REPLACE FUNCTION robots_save(p jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    v_failed CONSTANT boolean := coalesce((p ->> 'failed')::boolean, false);
    v_rules CONSTANT bytea := convert_to(coalesce(p ->> 'rules', ''), 'UTF8');
    v_hash CONSTANT bytea := sha256(v_rules);
    v_body CONSTANT bytea := decode(p ->> 'body', 'base64');
    v_body_hash CONSTANT bytea := coalesce(sha256(v_body), decode(p ->> 'body_hash', 'base64'));
    v_version CONSTANT bigint := (extract(EPOCH FROM t) * 1e6)::bigint;
    old robots;
    new robots;
BEGIN
    SELECT * INTO old FROM robots r WHERE r.origin = p ->> 'origin' FOR UPDATE;
    INSERT INTO robots AS r
        (origin, domain, verdict, agent, rules_hash, body_hash, crawl_delay_ms, visit_times, sitemaps, reason, status_code, etag, last_modified,
        tdm, missing, failures, unanswered_count, failing_since, read_at, version, fetched_at, expires_at)
    VALUES (p ->> 'origin', p ->> 'domain', (p ->> 'verdict')::robots_verdict, coalesce(p ->> 'agent', ''), v_hash, v_body_hash,
        (p ->> 'crawl_delay_ms')::bigint, p ->> 'visit_times',
        ARRAY(SELECT jsonb_array_elements_text(coalesce(p -> 'sitemaps', '[]'))),
        coalesce(p ->> 'reason', ''), (p ->> 'status_code')::smallint, p ->> 'etag',
        (p ->> 'last_modified')::timestamptz, p -> 'tdm', p -> 'missing',
        v_failed::integer, coalesce((p ->> 'unanswered_count')::integer, 0), CASE WHEN v_failed THEN t END, CASE WHEN NOT v_failed THEN t END,
        v_version, t, t + ms_interval((p ->> 'fresh_ms')::bigint))
    ON CONFLICT (origin) DO UPDATE SET
        verdict = excluded.verdict, agent = excluded.agent, rules_hash = excluded.rules_hash,
        body_hash = excluded.body_hash, crawl_delay_ms = excluded.crawl_delay_ms, visit_times = excluded.visit_times,
        sitemaps = excluded.sitemaps, reason = excluded.reason, status_code = excluded.status_code,
        etag = excluded.etag, last_modified = excluded.last_modified, tdm = excluded.tdm, missing = coalesce(excluded.missing, r.missing),
        failures = CASE WHEN v_failed THEN r.failures + 1 ELSE 0 END, unanswered_count = excluded.unanswered_count,
        failing_since = CASE WHEN v_failed THEN coalesce(r.failing_since, t) END,
        read_at = CASE WHEN v_failed THEN r.read_at ELSE t END,
        version = greatest(excluded.version, r.version + 1),
        fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
    RETURNING * INTO new;
    IF (new.verdict, new.agent, new.rules_hash, new.body_hash) IS DISTINCT FROM (old.verdict, old.agent, old.rules_hash, old.body_hash) THEN
        LOOP
            INSERT INTO robots_contents (hash, content)
            SELECT c.hash, c.content FROM (VALUES (v_hash, v_rules), (v_body_hash, v_body)) AS c (hash, content)
            WHERE c.content IS NOT NULL ORDER BY c.hash ON CONFLICT DO NOTHING;
            -- another origin may have dropped them just now
            EXIT WHEN (
                SELECT count(*) FROM (
                    SELECT 1 FROM robots_contents c
                    WHERE c.hash = v_hash OR v_body IS NOT NULL AND c.hash = v_body_hash ORDER BY c.hash FOR KEY SHARE
                ) x
            ) = CASE WHEN v_body IS NOT NULL AND v_body_hash <> v_hash THEN 2 ELSE 1 END;
        END LOOP;
        INSERT INTO robots_history (origin, version, verdict, agent, rules_hash, body_hash, fetched_at)
        VALUES (new.origin, new.version, new.verdict, new.agent, new.rules_hash, new.body_hash, new.fetched_at);
        PERFORM robots_forget(new.origin, 8);
    END IF;
    IF NOT v_failed AND old.origin IS NOT NULL AND (old.verdict, old.rules_hash) <> (new.verdict, new.rules_hash) THEN
        PERFORM domains_wake(attempts_requeue(ARRAY[new.domain], ARRAY(
            SELECT c.id FROM page_crawls c
            WHERE c.domain = new.domain AND c.outcome = 'blocked_robots'
                AND (SELECT p.origin FROM pages p WHERE p.id = c.page_id) = new.origin
                AND (SELECT r.status FROM crawl_runs r WHERE r.id = c.run_id) = 'running'
        )));
    END IF;
    IF new.visit_times IS DISTINCT FROM old.visit_times THEN
        PERFORM domains_wake(ARRAY[new.domain], true);
    END IF;
    IF new.verdict <> 'unreachable' AND old.verdict = 'unreachable' THEN
        PERFORM attempts_make_due(ARRAY[new.domain], ARRAY[new.origin]);
        PERFORM due_update(ARRAY[new.domain]);
    END IF;
    RETURN new.failures;
END
$$;

-- Deletes all but the last changes of an origin's robots.txt, and contents that no other origin
-- has. This bounds the storage of a site that changes its robots.txt at each request.
CREATE OR REPLACE FUNCTION robots_forget(p_origin text, p_keep integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_hashes bytea[];
BEGIN
    PERFORM set_config('mosey.allow_delete', 'robots', true);
    WITH gone AS (
        DELETE FROM robots_history h
        WHERE h.origin = p_origin
            AND h.version <= (SELECT x.version FROM robots_history x WHERE x.origin = p_origin ORDER BY x.version DESC LIMIT 1 OFFSET p_keep)
        RETURNING h.rules_hash, h.body_hash
    )
    SELECT array_agg(k.hash) INTO v_hashes FROM gone g CROSS JOIN LATERAL (VALUES (g.rules_hash), (g.body_hash)) AS k (hash);
    PERFORM set_config('mosey.allow_delete', '', true);
    IF v_hashes IS NULL THEN
        RETURN;
    END IF;
    PERFORM 1 FROM robots_contents c WHERE c.hash = ANY (v_hashes) ORDER BY c.hash FOR UPDATE;
    -- a separate statement sees rows that others stored before the lock
    DELETE FROM robots_contents c
    WHERE c.hash = ANY (v_hashes) AND NOT EXISTS (SELECT 1 FROM robots_history h WHERE h.rules_hash = c.hash)
        AND NOT EXISTS (SELECT 1 FROM robots_history h WHERE h.body_hash = c.hash);
END
$$;
