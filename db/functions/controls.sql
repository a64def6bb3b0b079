-- Returns the decision that forbids a domain now: pause, stop or block (also by a list), or null.
-- It is plpgsql, because Postgres plans an SQL function in every transaction.
CREATE OR REPLACE FUNCTION domain_forbidden_by(p_domain text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(CASE WHEN domain_listed_by(p_domain) IS NOT NULL THEN 'block' END, (
        SELECT c.kind FROM domain_controls c
        WHERE c.domain = p_domain AND c.lifted_at IS NULL AND control_reason(c.kind) IS NOT NULL
            AND (c.until IS NULL OR c.until > clock_timestamp())
        ORDER BY array_position(reasons('by rank'), control_reason(c.kind)) LIMIT 1
    ));
END
$$;
