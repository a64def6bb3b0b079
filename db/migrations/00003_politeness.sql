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

-- Logs the request of a holder that has died with a domain's slot: it may have been
-- made. Only to be called with the slot locked and free.
-- +goose StatementBegin
CREATE FUNCTION slot_lost(p_domain text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
BEGIN
    INSERT INTO requests (domain, kind, crawl_id, started_at, ended_at, delay_ms, delay_reason, ip_delay_ms, lost)
    SELECT
        p_domain, CASE WHEN s.holder LIKE 'crawl:%' THEN 'page' ELSE 'robots' END,
        substring(s.holder FROM '^crawl:(\d+)$')::bigint, s.updated_at,
        greatest(s.updated_at, s.free_at), 0, '', 0, true
    FROM politeness_slots s WHERE s.key = k_domain AND s.holder IS NOT NULL;
    UPDATE politeness_slots s SET holder = NULL WHERE s.key = k_domain AND s.holder IS NOT NULL;
END
$$;
-- +goose StatementEnd

-- Takes the slots of a domain and of what it shares with others (its address, its
-- subnet) for one request, or says how long to wait. A taken slot stays closed
-- until the request must have ended and the delay passed, even if nobody releases
-- it: p_hold_ms for the domain, p_span_ms and its own delay for what is shared.
--
-- Those who find a shared slot busy, or others waiting for it, get a place in its
-- queue (tail): one request fits between two places. p_queued says that the
-- caller has waited for its place; it then only waits for the slots themselves.
-- +goose StatementBegin
CREATE FUNCTION slot_take(
    p_domain text, p_shared text[], p_shared_delay_ms bigint[], p_holder text,
    p_hold_ms bigint, p_span_ms bigint, p_queued boolean
) RETURNS slot_answer LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
    keys CONSTANT text[] := k_domain || p_shared;
    slot record;
    domain record;
    wanted timestamptz;
    place timestamptz;
    reason text;
    t timestamptz;
BEGIN
    -- Before anything is locked: an address's lock must not be held while its
    -- domain's row is inserted, which others lock first.
    IF EXISTS (SELECT 1 FROM unnest(keys) k WHERE (SELECT s.key FROM politeness_slots s WHERE s.key = k) IS NULL) THEN
        INSERT INTO politeness_slots (key) SELECT k FROM unnest(keys) k ORDER BY k
        ON CONFLICT (key) DO NOTHING;
    END IF;
    PERFORM 1 FROM (SELECT k FROM unnest(keys) k ORDER BY k) o
    CROSS JOIN LATERAL (SELECT 1 FROM politeness_slots s WHERE s.key = o.k FOR UPDATE) l;
    t := clock_timestamp();
    SELECT s.* INTO domain FROM politeness_slots s WHERE s.key = k_domain;
    IF domain.free_at > t THEN
        RETURN (false, ms_between(t, domain.free_at), domain.reason)::slot_answer;
    END IF;
    FOR slot IN
        SELECT s.free_at, s.tail, s.holder, k.key, ms_interval(k.delay_ms) AS delay
        FROM unnest(p_shared, p_shared_delay_ms) AS k (key, delay_ms)
        CROSS JOIN LATERAL (SELECT x.* FROM politeness_slots x WHERE x.key = k.key) s
    LOOP
        CONTINUE WHEN slot.free_at <= t AND (slot.tail <= t OR p_queued);
        -- A request in flight ends long before its hold, as a rule: look again soon.
        wanted := greatest(t, CASE
            WHEN slot.holder IS NULL THEN slot.free_at ELSE least(slot.free_at, t + slot.delay)
        END);
        IF NOT p_queued THEN
            wanted := greatest(wanted, slot.tail);
        END IF;
        IF place IS NULL OR wanted > place THEN
            place := wanted;
            reason := split_part(slot.key, ':', 1);
        END IF;
    END LOOP;
    IF place IS NOT NULL THEN
        IF NOT p_queued THEN
            UPDATE politeness_slots s
            SET tail = greatest(s.tail, place + ms_interval(p_shared_delay_ms[array_position(p_shared, s.key)]))
            WHERE s.key = ANY (p_shared);
        END IF;
        RETURN (false, ms_between(t, place), reason)::slot_answer;
    END IF;
    IF domain.holder IS NOT NULL THEN
        PERFORM slot_lost(p_domain);
    END IF;
    UPDATE politeness_slots s
    SET free_at = t + ms_interval(CASE
            WHEN s.key = k_domain THEN p_hold_ms
            ELSE p_span_ms + p_shared_delay_ms[array_position(p_shared, s.key)]
        END),
        holder = p_holder, reason = 'in flight', updated_at = t
    WHERE s.key = ANY (keys);
    RETURN (true, 0, '')::slot_answer;
END
$$;
-- +goose StatementEnd

-- Gives back what p_holder holds: the slots stay closed for the delays, counted
-- from the end of the request, p_since_end_ms ago. Returns false, and changes
-- nothing, for those who have lost their hold on the domain.
-- +goose StatementBegin
CREATE FUNCTION slot_release(
    p_domain text, p_shared text[], p_shared_delay_ms bigint[], p_holder text,
    p_since_end_ms bigint, p_delay_ms bigint, p_reason text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    k_domain CONSTANT text := 'domain:' || p_domain;
    keys CONSTANT text[] := k_domain || p_shared;
    t CONSTANT timestamptz := clock_timestamp();
    ended CONSTANT timestamptz := t - ms_interval(p_since_end_ms);
BEGIN
    PERFORM 1 FROM politeness_slots s
    WHERE s.key = ANY (keys) AND s.holder = p_holder ORDER BY s.key FOR UPDATE;
    IF (SELECT s.holder FROM politeness_slots s WHERE s.key = k_domain) IS DISTINCT FROM p_holder THEN
        RETURN false;
    END IF;
    UPDATE politeness_slots s SET
        free_at = ended + ms_interval(CASE
            WHEN s.key = k_domain THEN p_delay_ms
            ELSE p_shared_delay_ms[array_position(p_shared, s.key)]
        END),
        reason = CASE WHEN s.key = k_domain THEN p_reason ELSE split_part(s.key, ':', 1) END,
        holder = NULL, updated_at = t
    WHERE s.key = ANY (keys) AND s.holder = p_holder;
    RETURN true;
END
$$;
-- +goose StatementEnd

-- What a request shares with others: keys from slot_take's p_shared.
CREATE FUNCTION shared_part(p_shared text[], p_kind text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT substr(k, length(p_kind) + 2) FROM unnest(p_shared) AS k WHERE k LIKE p_kind || ':%');

CREATE FUNCTION shared_delay(p_shared text[], p_delay_ms bigint[], p_kind text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce((
    SELECT s.delay_ms FROM unnest(p_shared, p_delay_ms) AS s (key, delay_ms) WHERE s.key LIKE p_kind || ':%'
), 0);

-- Ends a request that is not a page's: logs it and gives its slots back.
-- +goose StatementBegin
CREATE FUNCTION request_finish(
    p_domain text, p_ip text, p_shared text[], p_shared_delay_ms bigint[], p_holder text,
    p_kind text, p_url text, p_since_end_ms bigint, p_duration_ms bigint, p_status_code integer,
    p_delay_ms bigint, p_reason text, p_retry_after_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ended CONSTANT timestamptz := clock_timestamp() - ms_interval(p_since_end_ms);
BEGIN
    IF slot_release(p_domain, p_shared, p_shared_delay_ms, p_holder, p_since_end_ms, p_delay_ms, p_reason) THEN
        INSERT INTO requests (domain, ip, kind, url, started_at, ended_at, status_code,
            delay_ms, delay_reason, ip_delay_ms, subnet, subnet_delay_ms, retry_after_ms)
        VALUES (p_domain, nullif(p_ip, '')::inet, p_kind, p_url,
            ended - ms_interval(p_duration_ms), ended, nullif(p_status_code, 0),
            p_delay_ms, p_reason, shared_delay(p_shared, p_shared_delay_ms, 'ip'), shared_part(p_shared, 'subnet'),
            shared_delay(p_shared, p_shared_delay_ms, 'subnet'), nullif(p_retry_after_ms, 0));
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION request_finish, shared_delay, shared_part, slot_release, slot_take, slot_lost, ms_interval, ms_between;
DROP TYPE slot_answer;
