-- Claims domains with due work for a run: first domains whose claim ran out while they were active,
-- then those that yielded least, by priority. It skips domains that another dispatcher is claiming.
-- If the run's page budget is spent, only images are due. It looks up few due domains by time and
-- many by yield_count, so that it reads few rows in vain.
CREATE OR REPLACE FUNCTION domains_claim(p_run_id bigint, p_max integer, p_claim interval) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    c_few CONSTANT integer := 20000; -- due domains, which are sorted
    v_due CONSTANT bigint := run_due_count(p_run_id, c_few + 1);
    v_images CONSTANT boolean := run_allowed_work(p_run_id) = 'images';
    v_lost text[];
    v_taken text[];
    v_free text[];
BEGIN
    IF v_due = 0 THEN
        RETURN '{}'::text[];
    END IF;
    v_lost := ARRAY(
        -- OFFSET 0: reads domains_claim_expired instead of all domains in the order of their names
        SELECT d.domain FROM (
            SELECT x.domain FROM domains x
            WHERE x.last_crawl_run_id = p_run_id AND x.status = 'active' AND x.claimed_by IS NULL OFFSET 0
        ) d CROSS JOIN LATERAL (
            SELECT x.next_due_at, x.images_due_at FROM run_domains x WHERE x.run_id = p_run_id AND x.domain = d.domain LIMIT 1
        ) rd
        WHERE CASE WHEN v_images THEN rd.images_due_at ELSE rd.next_due_at END <= now()
        ORDER BY d.domain LIMIT p_max
    );
    v_taken := ARRAY(
        (
            SELECT rd.domain FROM run_domains rd WHERE v_images AND rd.run_id = p_run_id AND rd.images_due_at <= now()
            ORDER BY rd.images_due_at LIMIT p_max
        ) UNION ALL (
            SELECT rd.domain FROM run_domains rd
            WHERE NOT v_images AND v_due > c_few AND rd.run_id = p_run_id AND rd.next_due_at < 'infinity' AND rd.next_due_at <= now()
            ORDER BY rd.yield_count, rd.priority DESC, rd.domain LIMIT p_max
        ) UNION ALL (
            SELECT rd.domain FROM run_domains rd
            WHERE NOT v_images AND v_due <= c_few AND rd.run_id = p_run_id AND rd.next_due_at <= now()
            ORDER BY rd.yield_count, rd.priority DESC, rd.domain LIMIT p_max
        )
    );
    v_taken := (v_lost || ARRAY(
        SELECT u.domain FROM unnest(v_taken) WITH ORDINALITY AS u (domain, n) WHERE u.domain <> ALL (v_lost) ORDER BY u.n
    )) [:p_max];
    v_free := ARRAY(
        SELECT d.domain FROM domains d WHERE d.domain = ANY (v_taken) AND d.claimed_by IS NULL AND d.status <> 'exhausted'
        ORDER BY d.domain FOR UPDATE SKIP LOCKED
    );
    v_taken := ARRAY(
        SELECT u.domain FROM unnest(v_taken) WITH ORDINALITY AS u (domain, n)
        WHERE u.domain IN (SELECT unnest(v_free)) ORDER BY u.n
    );
    UPDATE domains d SET
        status = 'active', status_reason = '', claimed_by = 'domain/' || d.domain, claim_expires_at = now() + p_claim,
        last_crawl_run_id = p_run_id, next_crawl_after = NULL, opens_at = NULL
    WHERE d.domain = ANY (v_taken);
    UPDATE run_domains rd SET
        next_due_at = NULL, images_due_at = NULL, wait_reason = '',
        requests_at_claim = CASE WHEN rd.run_id = p_run_id THEN rd.pages_started + rd.images_started ELSE rd.requests_at_claim END
    WHERE rd.domain = ANY (v_taken) AND (rd.next_due_at IS NOT NULL OR rd.run_id = p_run_id);
    RETURN v_taken;
END
$$;

-- Renews short claims when requests start. With p_take, for pages, it takes expired ones again.
CREATE OR REPLACE FUNCTION claims_renew(p_domains text[], p_span interval, p_take boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains d SET
        claimed_by = 'domain/' || d.domain, claim_expires_at = now() + p_span,
        status = CASE WHEN d.status = 'pending' THEN 'active' ELSE d.status END
    WHERE d.domain = ANY (p_domains) AND (d.claim_expires_at < now() + p_span * 2 / 3 OR p_take AND d.claimed_by IS NULL);
    IF FOUND THEN
        -- next_due_at alone is the condition of a partial index, which the planner would read
        UPDATE run_domains rd SET next_due_at = NULL, images_due_at = NULL, wait_reason = ''
        WHERE rd.domain = ANY (p_domains) AND (rd.next_due_at IS NOT NULL OR rd.images_due_at IS NOT NULL);
    END IF;
END
$$;
