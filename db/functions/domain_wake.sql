-- Has it decided anew when a domain may be asked: something has changed that may make it due.
-- What a person forbids stays put off, and so does a domain that was given up.
CREATE OR REPLACE FUNCTION domain_wake(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM domains WHERE domain = p_domain FOR UPDATE;
    UPDATE domains SET
        opens_at = NULL,
        next_crawl_after = CASE WHEN status IN ('blocked', 'unreachable') THEN next_crawl_after END
    WHERE domain = p_domain AND (opens_at IS NOT NULL OR next_crawl_after IS NOT NULL AND status NOT IN ('blocked', 'unreachable'));
    PERFORM due_update(ARRAY[p_domain]);
END
$$;
