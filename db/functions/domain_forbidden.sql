-- These are plpgsql, like all that a page calls: the plan of an SQL function is made
-- anew in every transaction.

-- What a person has decided that forbids requests to a domain now: pause, stop or
-- block, which a list does, too; null is nothing.
CREATE OR REPLACE FUNCTION domain_forbidden(p_domain text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT c.kind FROM domain_controls c
        WHERE c.domain = p_domain AND c.lifted_at IS NULL AND c.kind IN ('pause', 'stop', 'block')
            AND (c.until IS NULL OR c.until > clock_timestamp())
        ORDER BY c.kind LIMIT 1
    ), CASE WHEN domain_listed(p_domain) IS NOT NULL THEN 'block' END);
END
$$;

-- Until when that is; null is not at all, infinity until it is lifted.
CREATE OR REPLACE FUNCTION domain_forbidden_until(p_domain text) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN greatest((
        SELECT max(coalesce(c.until, 'infinity')) FROM domain_controls c
        WHERE c.domain = p_domain AND c.lifted_at IS NULL AND c.kind IN ('pause', 'stop', 'block')
            AND (c.until IS NULL OR c.until > clock_timestamp())
    ), CASE WHEN domain_listed(p_domain) IS NOT NULL THEN 'infinity'::timestamptz END);
END
$$;
