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
