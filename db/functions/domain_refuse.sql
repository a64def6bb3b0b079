-- Defers a domain of which no address may be asked by this process's own rule: it
-- was not told to allow the network. That is nothing about the domain: nothing of it
-- is closed, and what its robots.txt says stays as it was.
CREATE OR REPLACE FUNCTION domain_refuse(p_domain text, p_ip inet, p_wait_ms bigint, p_reason text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains SET
        next_crawl_after = now() + ms_interval(p_wait_ms), status_reason = p_reason,
        refused_ip = p_ip, refused_since = coalesce(domain_refused_since(p_domain), now())
    WHERE domain = p_domain AND status IN ('pending', 'active');
    PERFORM due_update(ARRAY[p_domain]);
END
$$;

-- Since when a domain has been refused without an answer of it between; null is not.
CREATE OR REPLACE FUNCTION domain_refused_since(p_domain text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT d.refused_since FROM domains d
        WHERE d.domain = p_domain AND d.refused_since IS NOT NULL
            AND coalesce((SELECT h.updated_at FROM domain_health h WHERE h.domain = p_domain), '-infinity')
                < d.refused_since
    );
END
$$;

-- Lifts the deferral of domains that were refused for an address that may be asked
-- now, and returns how many those were.
CREATE OR REPLACE FUNCTION domains_permit(p_networks text[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_networks CONSTANT inet[] := ARRAY(SELECT n::inet FROM unnest(p_networks) n);
    lifted CONSTANT text[] := ARRAY(
        SELECT d.domain FROM domains d
        WHERE d.refused_ip IS NOT NULL AND d.refused_ip <<= ANY (v_networks) ORDER BY d.domain FOR UPDATE
    );
    f text;
BEGIN
    FOREACH f IN ARRAY lifted LOOP
        UPDATE domains SET
            refused_ip = NULL, refused_since = NULL,
            status_reason = CASE WHEN status IN ('pending', 'active') THEN '' ELSE status_reason END
        WHERE domain = f;
        PERFORM domain_wake(f);
    END LOOP;
    RETURN cardinality(lifted);
END
$$;
