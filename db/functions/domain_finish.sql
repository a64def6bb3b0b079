-- Gives a domain's claim back. The caller holds the lock on the domain's row and has decided
-- from the facts read under it. p_deferred is until when the domain is deferred, and p_opens
-- until when its windows are closed; null means: not. In the runs p_yields the domain makes room
-- for others that wait. Each such turn is counted once.
CREATE OR REPLACE FUNCTION domain_finish(
    p_domain text, p_deferred timestamptz, p_opens timestamptz, p_reason text, p_yields bigint[] DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains SET
        claimed_by = NULL, claim_expires_at = NULL, opens_at = p_opens,
        status = CASE
            WHEN status NOT IN ('pending', 'active') THEN status
            WHEN EXISTS (SELECT 1 FROM page_crawls c WHERE c.domain = p_domain AND c.outcome IS NULL)
                THEN 'pending'
            WHEN status = 'active' THEN 'exhausted'
            ELSE status
        END,
        status_reason = CASE WHEN status IN ('pending', 'active') THEN p_reason ELSE status_reason END,
        -- a domain that was given up is, for as long as was said then
        next_crawl_after = CASE
            WHEN status IN ('blocked', 'unreachable') THEN next_crawl_after
            ELSE p_deferred
        END
    WHERE domain = p_domain;
    UPDATE run_domains SET turns = turns + 1, turn_started = NULL
    WHERE domain = p_domain AND run_id = ANY (p_yields) AND turn_started IS NOT NULL;
    PERFORM due_update(ARRAY[p_domain]);
END
$$;

-- Counts a domain that was given back, and works out when its turn comes. p_grows are the runs
-- whose budget for the domain is spent: it grows if the domain is good. It is done apart from
-- the finish, since counting takes long where a domain has many pages.
CREATE OR REPLACE FUNCTION domain_counted(p_domain text, p_grows bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM domains_count(ARRAY[p_domain]);
    PERFORM domains_prioritize(ARRAY[p_domain]);
    IF cardinality(p_grows) > 0 THEN
        UPDATE run_domains rd SET budget_growths = rd.budget_growths + 1
        WHERE rd.domain = p_domain AND rd.run_id = ANY (p_grows) AND rd.waits = 'budget' AND EXISTS (
            SELECT 1 FROM domains d
            WHERE d.domain = p_domain AND d.status = 'pending' AND d.yield_rate >= 0.5 AND d.error_rate <= 0.1
        );
        IF FOUND THEN
            PERFORM due_update(ARRAY[p_domain]);
        END IF;
    END IF;
END
$$;
