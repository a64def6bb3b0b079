-- Charges a page that was read for the first time to its patterns: as a duplicate
-- if the caller says so, or if another page of the domain has the same content.
CREATE OR REPLACE FUNCTION patterns_charge(c page_crawls, p jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_hash CONSTANT bytea := decode(p #>> '{page,visit,content}', 'hex');
    v_simhash CONSTANT bigint := (p #>> '{page,simhash}')::bigint;
    v_copy boolean;
BEGIN
    IF (SELECT x.fetched_at FROM pages x WHERE x.id = c.page_id) IS NOT NULL THEN
        RETURN;
    END IF;
    v_copy := EXISTS (
        SELECT 1 FROM pages x WHERE x.domain = c.domain AND x.content_hash = v_hash AND x.id <> c.page_id
    );
    INSERT INTO url_patterns AS u (domain, pattern, seen, duplicates, recent)
    SELECT c.domain, k.pattern, 1, (v_copy OR k.duplicate)::integer,
        CASE WHEN v_copy OR k.duplicate OR v_simhash IS NULL THEN '{}' ELSE ARRAY[v_simhash] END
    FROM jsonb_to_recordset(p -> 'charges') AS k (pattern text, duplicate boolean) ORDER BY k.pattern
    ON CONFLICT (domain, pattern) DO UPDATE SET
        seen = u.seen + 1,
        duplicates = u.duplicates + excluded.duplicates,
        recent = (excluded.recent || u.recent)[1:(p ->> 'recent_max')::integer],
        updated_at = clock_timestamp();
END
$$;
