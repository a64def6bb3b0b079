-- These are plpgsql, like all that a page calls: the plan of an SQL function is made
-- anew in every transaction.

-- What a person has decided that forbids requests to a domain now: pause, stop or
-- block, which a list does, too; null is nothing.
CREATE OR REPLACE FUNCTION domain_forbidden(p_domain text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(CASE WHEN domain_listed(p_domain) IS NOT NULL THEN 'block' END, (
        SELECT c.kind FROM domain_controls c
        WHERE c.domain = p_domain AND c.lifted_at IS NULL AND control_reason(c.kind) IS NOT NULL
            AND (c.until IS NULL OR c.until > clock_timestamp())
        ORDER BY array_position(reasons('by rank'), control_reason(c.kind)) LIMIT 1
    ));
END
$$;

-- Stores a person's decision about a domain, known or not, in place of an earlier
-- one of its kind. A stop or block that has no end also sets the domain's status.
-- p_decision, if not empty, names the decision: one that is stored already is not
-- stored again, and so does not undo what was decided since.
CREATE OR REPLACE FUNCTION domain_control(
    p_domain text, p_kind text, p_value jsonb, p_reason text, p_by text, p_until timestamptz, p_decision text DEFAULT ''
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO domains (domain) VALUES (p_domain) ON CONFLICT (domain) DO NOTHING;
    PERFORM 1 FROM domains WHERE domain = p_domain FOR UPDATE;
    IF EXISTS (SELECT 1 FROM domain_controls WHERE domain = p_domain AND decision = p_decision) THEN
        RETURN;
    END IF;
    UPDATE domain_controls SET lifted_at = now(), lifted_by = p_by
    WHERE domain = p_domain AND kind = p_kind AND lifted_at IS NULL;
    INSERT INTO domain_controls (domain, kind, value, reason, set_by, until, decision)
    VALUES (p_domain, p_kind, p_value, p_reason, p_by, p_until, nullif(p_decision, ''));
    IF p_kind IN ('stop', 'block') AND p_until IS NULL THEN
        UPDATE domains SET status = 'blocked', status_reason = p_reason, next_crawl_after = NULL WHERE domain = p_domain;
    END IF;
    IF control_reason(p_kind) IS NOT NULL THEN
        PERFORM due_update(ARRAY[p_domain]);
    ELSE
        PERFORM domains_wake(ARRAY[p_domain]);
    END IF;
END
$$;

-- Takes decisions of some kinds back, and returns whether there was one in force. With the last
-- stop or block, or where no kinds are given, the domain is asked again, also if it was given up.
CREATE OR REPLACE FUNCTION domain_lift(p_domain text, p_kinds text[], p_by text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    lifted boolean;
BEGIN
    PERFORM 1 FROM domains WHERE domain = p_domain FOR UPDATE;
    UPDATE domain_controls SET lifted_at = now(), lifted_by = p_by
    WHERE domain = p_domain AND kind = ANY (p_kinds) AND lifted_at IS NULL;
    lifted := FOUND;
    IF p_kinds = '{}' OR p_kinds && ARRAY['stop', 'block'] THEN
        lifted := cardinality(troubles_lift(ARRAY[p_domain])) > 0 OR lifted;
    END IF;
    IF lifted OR p_kinds <> '{}' THEN
        PERFORM domains_wake(ARRAY[p_domain]);
    END IF;
    RETURN lifted;
END
$$;
