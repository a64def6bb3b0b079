-- Has domains that were given up, and origins whose robots.txt could not be read,
-- asked again: as if the time until then were over. What a person has stopped or
-- blocked stays so. Returns the domains of which something was lifted. The caller
-- notes when they are due (due_update).
CREATE OR REPLACE FUNCTION troubles_lift(p_domains text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_revived text[];
    v_origins text[];
    v_reread text[];
BEGIN
    IF cardinality(p_domains) = 0 THEN
        RETURN ARRAY[]::text[];
    END IF;
    PERFORM 1 FROM domains d WHERE d.domain = ANY (p_domains) ORDER BY d.domain FOR UPDATE;
    WITH revived AS (
        UPDATE domains d SET status = 'pending', status_reason = '', next_crawl_after = NULL
        WHERE d.domain = ANY (p_domains) AND d.status IN ('blocked', 'unreachable')
            AND coalesce(domain_forbidden(d.domain), 'pause') = 'pause'
        RETURNING d.domain
    )
    SELECT array_agg(r.domain) INTO v_revived FROM revived r;
    WITH expired AS (
        UPDATE robots r SET expires_at = now()
        WHERE r.domain = ANY (p_domains) AND r.verdict = 'unreachable' AND r.expires_at > now()
        RETURNING r.origin, r.domain
    )
    SELECT array_agg(e.origin), array_agg(DISTINCT e.domain) INTO v_origins, v_reread FROM expired e;
    IF v_origins IS NOT NULL THEN
        PERFORM crawls_hasten(v_reread, v_origins);
    END IF;
    RETURN ARRAY(SELECT x FROM unnest(v_revived) x UNION SELECT x FROM unnest(v_reread) x ORDER BY 1);
END
$$;

-- Makes due what is pending of origins and was put off.
CREATE OR REPLACE FUNCTION crawls_hasten(p_domains text[], p_origins text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE page_crawls c SET scheduled_for = now()
    FROM pages p
    WHERE p.id = c.page_id AND c.domain = ANY (p_domains) AND p.origin = ANY (p_origins)
        AND c.outcome IS NULL AND c.locked_at IS NULL AND c.scheduled_for > now();
END
$$;

-- The same for one domain, because a person says so. Returns whether there was
-- anything to lift.
CREATE OR REPLACE FUNCTION domain_retry(p_domain text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_lifted CONSTANT boolean := cardinality(troubles_lift(ARRAY[p_domain])) > 0;
BEGIN
    IF v_lifted THEN
        PERFORM domain_wake(p_domain);
    END IF;
    RETURN v_lifted;
END
$$;

-- Makes a run go on that is done: work has been added to it.
CREATE OR REPLACE FUNCTION run_go_on(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT r.status FROM crawl_runs r WHERE r.id = p_run_id) = 'done' THEN
        PERFORM run_start(p_run_id);
    END IF;
END
$$;

-- Makes a run go on, whatever it was, unless it is paused. One that had not been running
-- asks its domains in trouble again.
CREATE OR REPLACE FUNCTION run_start(p_run_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_was CONSTANT run_status := (SELECT r.status FROM crawl_runs r WHERE r.id = p_run_id FOR UPDATE);
    v_lifted text[];
BEGIN
    UPDATE crawl_runs SET status = 'running', status_reason = '', finished_at = NULL, updated_at = now()
    WHERE id = p_run_id AND status <> 'paused';
    IF v_was IN ('running', 'paused') THEN
        RETURN;
    END IF;
    v_lifted := troubles_lift(ARRAY(
        SELECT rd.domain FROM run_domains rd INNER JOIN domains d ON rd.domain = d.domain
        WHERE rd.run_id = p_run_id AND rd.next_due_at IS NOT NULL AND (
            d.status IN ('blocked', 'unreachable')
            OR EXISTS (
                SELECT 1 FROM robots r
                WHERE r.domain = rd.domain AND r.verdict = 'unreachable' AND r.expires_at > now()
            )
        )
    ));
    PERFORM due_update(v_lifted);
END
$$;
