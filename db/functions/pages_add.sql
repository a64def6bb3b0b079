-- Stores pages that were found, all at once, and returns their ids in the order
-- given; urls may repeat. Each is {url, domain, origin, kind, patterns}. Sorted, so
-- that two transactions that find the same pages wait for each other instead of
-- deadlocking.
CREATE OR REPLACE FUNCTION pages_add(p_pages jsonb) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pages (url, domain, origin, kind, patterns)
    SELECT DISTINCT ON (l.domain, l.url) l.url, l.domain, l.origin, coalesce(l.kind, 'page'), l.patterns
    FROM jsonb_to_recordset(p_pages) AS l (url text, domain text, origin text, kind text, patterns text[])
    WHERE (SELECT p.id FROM pages p WHERE p.domain = l.domain AND p.url = l.url) IS NULL
    ORDER BY l.domain, l.url
    ON CONFLICT (domain, url) DO NOTHING;
    RETURN (
        SELECT coalesce(array_agg((
            SELECT p.id FROM pages p WHERE p.domain = l.page ->> 'domain' AND p.url = l.page ->> 'url'
        ) ORDER BY l.n), '{}')
        FROM jsonb_array_elements(p_pages) WITH ORDINALITY AS l (page, n)
    );
END
$$;

-- Notes which registered domains domains are part of that are found; what is known of them
-- stays.
CREATE OR REPLACE FUNCTION registered_add(p_domains text[], p_registered text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO registered_domains (domain, registered)
    SELECT DISTINCT ON (u.domain) u.domain, u.registered FROM unnest(p_domains, p_registered) AS u (domain, registered)
    WHERE (SELECT g.domain FROM registered_domains g WHERE g.domain = u.domain) IS NULL
    ORDER BY u.domain ON CONFLICT (domain) DO NOTHING;
END
$$;
