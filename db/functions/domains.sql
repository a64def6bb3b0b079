-- Reports whether a domain was abandoned, until a time or until an operator lifts it.
CREATE OR REPLACE FUNCTION is_abandoned(p_status domain_status) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_status IN ('blocked', 'unreachable')
$$;

-- The state machine of domains.
CREATE OR REPLACE FUNCTION domains_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
        ('pending', 'active'), ('pending', 'blocked'), ('pending', 'unreachable'),
        ('active', 'pending'), ('active', 'exhausted'), ('active', 'blocked'), ('active', 'unreachable'),
        ('exhausted', 'pending'), ('exhausted', 'blocked'),
        ('blocked', 'pending'), ('blocked', 'active'),
        ('unreachable', 'pending'), ('unreachable', 'active'), ('unreachable', 'blocked')
    ) THEN
        RAISE EXCEPTION 'domain %: status % cannot become %', OLD.domain, OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    NEW.updated_at := clock_timestamp();
    NEW.version := OLD.version + 1;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER domains_transition BEFORE UPDATE ON domains
FOR EACH ROW EXECUTE FUNCTION domains_transition();

-- Recomputes when domains are due, after a change that may make them due. Forbidden and abandoned
-- domains stay deferred. With p_windows only their windows may have changed.
CREATE OR REPLACE FUNCTION domains_wake(p_domains text[], p_windows boolean DEFAULT false) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- a concurrent finish has read the old rows
    PERFORM 1 FROM domains d WHERE d.domain = ANY (p_domains) ORDER BY d.domain FOR UPDATE;
    UPDATE domains SET opens_at = NULL, next_crawl_after = CASE WHEN p_windows OR is_abandoned(status) THEN next_crawl_after END
    WHERE domain = ANY (p_domains)
        AND (opens_at IS NOT NULL OR NOT p_windows AND next_crawl_after IS NOT NULL AND NOT is_abandoned(status));
    IF FOUND OR NOT p_windows THEN
        PERFORM due_update(p_domains);
    END IF;
END
$$;

-- Returns since when all requests to a domain were refused; null means not refused.
CREATE OR REPLACE FUNCTION domain_refused_since(p_domain text, p_since timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_since > coalesce((SELECT h.updated_at FROM domain_health h WHERE h.domain = p_domain), '-infinity') THEN p_since END
$$;

-- Allows requests to abandoned domains and to origins with an unreadable robots.txt, but not
-- against an operator's stop or block. Returns the changed domains. The caller then calls
-- due_update.
CREATE OR REPLACE FUNCTION failures_clear(p_domains text[]) RETURNS text[] LANGUAGE plpgsql AS $$
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
        WHERE d.domain = ANY (p_domains) AND is_abandoned(d.status)
            AND coalesce(domain_forbidden_by(d.domain), 'pause') = 'pause'
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
        PERFORM attempts_make_due(v_reread, v_origins);
    END IF;
    RETURN ARRAY(SELECT x FROM unnest(v_revived) x UNION SELECT x FROM unnest(v_reread) x ORDER BY 1);
END
$$;
