-- These are plpgsql, like all that a page calls: the plan of an SQL function is made
-- anew in every transaction.

-- Which of several decisions of a person counts: a block before a stop before a pause, as
-- crawl.Controls.Forbidding has it.
CREATE OR REPLACE FUNCTION control_order(p_kind text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(ARRAY['block', 'stop', 'pause'], p_kind)
$$;

-- What a person has decided that forbids requests to a domain now: pause, stop or
-- block, which a list does, too; null is nothing.
CREATE OR REPLACE FUNCTION domain_forbidden(p_domain text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(CASE WHEN domain_listed(p_domain) IS NOT NULL THEN 'block' END, (
        SELECT c.kind FROM domain_controls c
        WHERE c.domain = p_domain AND c.lifted_at IS NULL AND c.kind IN ('pause', 'stop', 'block')
            AND (c.until IS NULL OR c.until > clock_timestamp())
        ORDER BY control_order(c.kind) LIMIT 1
    ));
END
$$;
