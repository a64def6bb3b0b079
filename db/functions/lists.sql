-- Returns the possible list entries of a domain: its name, its parents, and these with "*.".
CREATE OR REPLACE FUNCTION domain_keys(p_domain text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_keys text[] := ARRAY[p_domain];
    v_above text := p_domain;
BEGIN
    WHILE position('.' IN v_above) > 0 LOOP
        v_above := substr(v_above, position('.' IN v_above) + 1);
        v_keys := v_keys || v_above || ('*.' || v_above);
    END LOOP;
    RETURN v_keys;
END
$$;

-- Returns the most specific entry of a domain on a list, or null. Entries of networks match
-- addresses, which only a worker knows.
CREATE OR REPLACE FUNCTION list_entry(p_list text, p_domain text) RETURNS list_entries LANGUAGE plpgsql STABLE AS $$
DECLARE
    e list_entries;
BEGIN
    -- a step along the index for each key: for all at once the planner may read the whole list
    SELECT x.* INTO e FROM unnest(domain_keys(p_domain)) k (entry) CROSS JOIN LATERAL (
        SELECT y.* FROM list_entries y WHERE y.list = p_list AND y.entry = k.entry LIMIT 1
    ) x
    WHERE x.kind <> 'host' OR x.entry = p_domain
    ORDER BY length(x.entry) DESC LIMIT 1;
    RETURN e;
END
$$;

-- Returns the list entry that forbids a domain or, with p_ip, its requests to that address, as
-- crawl.Control, or null. An allow list with networks decides about unlisted domains by address.
CREATE OR REPLACE FUNCTION domain_listed_by(p_domain text, p_ip inet DEFAULT NULL) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    e list_entries;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM list_entries) THEN
        RETURN NULL;
    ELSIF p_ip IS NULL THEN
        e := list_entry('block', p_domain);
    ELSE
        SELECT x.* INTO e FROM list_entries x
        WHERE x.list = 'block' AND x.kind = 'network' AND x.network >>= p_ip ORDER BY masklen(x.network) DESC LIMIT 1;
    END IF;
    IF e.list IS NULL AND EXISTS (SELECT 1 FROM list_entries x WHERE x.list = 'allow')
        AND EXISTS (SELECT 1 FROM list_entries x WHERE x.list = 'allow' AND x.kind = 'network') = (p_ip IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM list_entries x WHERE x.list = 'allow' AND x.kind = 'network' AND x.network >>= p_ip)
        AND (list_entry('allow', p_domain)).list IS NULL
    THEN
        SELECT 'allow', '', x.set_by, x.set_at INTO e.list, e.entry, e.set_by, e.set_at
        FROM list_entries x WHERE x.list = 'allow' LIMIT 1;
    END IF;
    RETURN CASE WHEN e.list IS NOT NULL THEN jsonb_build_object(
        'kind', 'block', 'list', e.list, 'entry', e.entry, 'reason', coalesce(e.reason, ''), 'set_by', e.set_by,
        'set_at', e.set_at
    ) END;
END
$$;
