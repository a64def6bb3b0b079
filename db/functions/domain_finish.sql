-- Gives a domain's claim back. The caller holds the lock on the domain's row and
-- has decided from the facts read under it. p_due says when the dispatcher is to
-- look again, by run, of all runs that the decision was made with; null is not
-- before somebody changes something. p_deferred is until when the domain is
-- deferred, or null. p_yields is the run of which it makes room for others that wait,
-- p_grows are those whose budget for the domain is spent, and grows if it is good.
CREATE OR REPLACE FUNCTION domain_finish(
    p_domain text, p_due jsonb, p_deferred timestamptz, p_reason text, p_yields bigint DEFAULT NULL,
    p_grows bigint[] DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains SET
        claimed_by = NULL, claim_expires_at = NULL,
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
    -- What other runs have pending stays as due as it was: they were stopped, and may
    -- have gone on just now.
    UPDATE run_domains rd SET next_due_at = d.due
    FROM (
        SELECT x.run_id, CASE
            WHEN NOT EXISTS (
                SELECT 1 FROM page_crawls c
                WHERE c.domain = p_domain AND c.run_id = x.run_id AND c.outcome IS NULL
            ) THEN NULL
            WHEN p_due ? x.run_id::text THEN coalesce((p_due ->> x.run_id::text)::timestamptz, 'infinity')
            ELSE x.next_due_at
        END AS due
        FROM run_domains x WHERE x.domain = p_domain
    ) d
    WHERE rd.domain = p_domain AND rd.run_id = d.run_id AND rd.next_due_at IS DISTINCT FROM d.due;
    UPDATE run_domains SET turns = turns + 1 WHERE run_id = p_yields AND domain = p_domain;
    PERFORM domains_count(ARRAY[p_domain]);
    IF cardinality(p_grows) > 0 THEN
        UPDATE run_domains rd SET budget_growths = rd.budget_growths + 1, next_due_at = greatest(now(), p_deferred)
        WHERE rd.domain = p_domain AND rd.run_id = ANY (p_grows) AND rd.next_due_at = 'infinity' AND EXISTS (
            SELECT 1 FROM domains d
            WHERE d.domain = p_domain AND d.status = 'pending' AND d.yield_rate >= 0.5 AND d.error_rate <= 0.1
        );
    END IF;
    PERFORM domains_prioritize(ARRAY[p_domain]);
END
$$;
