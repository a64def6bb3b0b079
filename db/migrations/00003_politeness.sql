-- +goose Up

-- The guard. All of these run on the database's clock, read after the rows are
-- locked, so that a worker's own clock never matters. Slots are always locked
-- before any other row, in key order, which rules out deadlocks.

CREATE TYPE slot_answer AS (
    granted boolean,
    -- how long to wait before asking again, when not granted
    wait_ms bigint,
    reason text
);

-- milliseconds from one instant to another, rounded up so that whoever waits
-- that long is not early
CREATE FUNCTION ms_between(p_from timestamptz, p_to timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ceil(extract(EPOCH FROM (p_to - p_from)) * 1000)::bigint;

CREATE FUNCTION ms_interval(p_ms bigint) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_ms * interval '1 millisecond';

-- Takes the slots of a domain and (if p_ip is not empty) of an address for one
-- request, or says how long to wait. A taken slot stays closed for p_hold_ms
-- (p_ip_hold_ms), by which time the request must have ended and the delay passed,
-- even if nobody releases it.
--
-- Those who find an address busy, or others waiting for it, get a place in its
-- queue (tail): one request fits between two places. p_queued says that the
-- caller has waited for its place; it then only waits for the address itself.
-- +goose StatementBegin
CREATE FUNCTION slot_take(
    p_domain text, p_ip text, p_holder text, p_hold_ms bigint, p_ip_hold_ms bigint,
    p_ip_delay_ms bigint, p_queued boolean
) RETURNS slot_answer LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
    k_ip CONSTANT text := 'ip:' || p_ip;
    by_ip CONSTANT boolean := p_ip <> '' AND p_ip_delay_ms > 0;
    keys CONSTANT text[] := CASE WHEN by_ip THEN ARRAY[k_domain, k_ip] ELSE ARRAY[k_domain] END;
    slot record;
    domain_free timestamptz;
    domain_reason text;
    domain_holder text;
    domain_taken timestamptz;
    ip_free timestamptz;
    ip_tail timestamptz;
    ip_holder text;
    t timestamptz;
    place timestamptz;
BEGIN
    -- Before anything is locked: an address's lock must not be held while its
    -- domain's row is inserted, which others lock first.
    IF (SELECT s.key FROM politeness_slots s WHERE s.key = k_domain) IS NULL
        OR (by_ip AND (SELECT s.key FROM politeness_slots s WHERE s.key = k_ip) IS NULL)
    THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k
        ON CONFLICT (key) DO NOTHING;
    END IF;
    FOR slot IN
        SELECT s.key, s.free_at, s.reason, s.tail, s.holder, s.updated_at FROM politeness_slots s
        WHERE s.key = ANY (keys) ORDER BY s.key FOR UPDATE
    LOOP
        IF slot.key = k_domain THEN
            domain_free := slot.free_at;
            domain_reason := slot.reason;
            domain_holder := slot.holder;
            domain_taken := slot.updated_at;
        ELSE
            ip_free := slot.free_at;
            ip_tail := slot.tail;
            ip_holder := slot.holder;
        END IF;
    END LOOP;
    t := clock_timestamp();
    IF domain_free > t THEN
        RETURN (false, ms_between(t, domain_free), domain_reason)::slot_answer;
    END IF;
    IF ip_free > t OR (ip_tail > t AND NOT p_queued) THEN
        -- A request in flight ends long before its hold, as a rule: look again soon.
        ip_free := greatest(t, CASE
            WHEN ip_holder IS NULL THEN ip_free ELSE least(ip_free, t + ms_interval(p_ip_delay_ms))
        END);
        IF p_queued THEN
            RETURN (false, ms_between(t, ip_free), 'ip')::slot_answer;
        END IF;
        place := greatest(ip_tail, ip_free);
        UPDATE politeness_slots SET tail = place + ms_interval(p_ip_delay_ms) WHERE key = k_ip;
        RETURN (false, ms_between(t, place), 'ip')::slot_answer;
    END IF;
    -- Whoever had the slot has died with it; its request may have been made.
    IF domain_holder IS NOT NULL THEN
        INSERT INTO requests (domain, kind, crawl_id, started_at, ended_at, delay_ms, delay_reason, ip_delay_ms, lost)
        VALUES (
            p_domain, CASE WHEN domain_holder LIKE 'crawl:%' THEN 'page' ELSE 'robots' END,
            substring(domain_holder FROM '^crawl:(\d+)$')::bigint, domain_taken,
            greatest(domain_taken, domain_free), 0, '', 0, true);
    END IF;
    UPDATE politeness_slots
    SET free_at = t + ms_interval(CASE WHEN key = k_domain THEN p_hold_ms ELSE p_ip_hold_ms END),
        holder = p_holder, reason = 'in flight', updated_at = t
    WHERE key = ANY (keys);
    RETURN (true, 0, '')::slot_answer;
END
$$;
-- +goose StatementEnd

-- Gives back what p_holder holds: the slots stay closed for the delays, counted
-- from the end of the request, p_since_end_ms ago. Returns false, and changes
-- nothing, for those who have lost their hold.
-- +goose StatementBegin
CREATE FUNCTION slot_release(
    p_domain text, p_ip text, p_holder text, p_since_end_ms bigint,
    p_delay_ms bigint, p_ip_delay_ms bigint, p_reason text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    t CONSTANT timestamptz := clock_timestamp();
    ended CONSTANT timestamptz := t - ms_interval(p_since_end_ms);
BEGIN
    PERFORM 1 FROM politeness_slots
    WHERE key IN ('domain:' || p_domain, 'ip:' || p_ip) AND holder = p_holder
    ORDER BY key FOR UPDATE;
    UPDATE politeness_slots SET
        free_at = ended + ms_interval(CASE WHEN key LIKE 'domain:%' THEN p_delay_ms ELSE p_ip_delay_ms END),
        reason = CASE WHEN key LIKE 'domain:%' THEN p_reason ELSE 'ip' END,
        holder = NULL, updated_at = t
    WHERE key IN ('domain:' || p_domain, 'ip:' || p_ip) AND holder = p_holder;
    RETURN FOUND;
END
$$;
-- +goose StatementEnd

-- Ends a request that is not a page's: logs it and gives its slots back.
-- +goose StatementBegin
CREATE FUNCTION request_finish(
    p_domain text, p_ip text, p_holder text, p_kind text, p_url text,
    p_since_end_ms bigint, p_duration_ms bigint, p_status_code integer,
    p_delay_ms bigint, p_ip_delay_ms bigint, p_reason text, p_retry_after_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ended CONSTANT timestamptz := clock_timestamp() - ms_interval(p_since_end_ms);
BEGIN
    IF slot_release(p_domain, p_ip, p_holder, p_since_end_ms, p_delay_ms, p_ip_delay_ms, p_reason) THEN
        INSERT INTO requests (domain, ip, kind, url, started_at, ended_at, status_code,
            delay_ms, delay_reason, ip_delay_ms, retry_after_ms)
        VALUES (p_domain, nullif(p_ip, '')::inet, p_kind, p_url,
            ended - ms_interval(p_duration_ms), ended, nullif(p_status_code, 0),
            p_delay_ms, p_reason, p_ip_delay_ms, nullif(p_retry_after_ms, 0));
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION request_finish, slot_release, slot_take, ms_interval, ms_between;
DROP TYPE slot_answer;
