-- Whether another crawl follows one.
CREATE OR REPLACE FUNCTION crawl_followed(c page_crawls) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT f.id FROM page_crawls f
        WHERE f.page_id = c.page_id AND f.run_id = c.run_id AND coalesce(f.previous_id, CASE WHEN f.prerequisite THEN -f.id ELSE 0 END) = c.id
    ) IS NOT NULL;
END
$$;
