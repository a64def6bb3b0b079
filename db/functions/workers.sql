-- Returns a worker's share of fleet_limit, and stores that it lives. Until the response it may have
-- p_permits_held requests in flight: its share so far, or the rest of a larger one. It would use
-- p_demand.
--
-- The held requests exceed the limit only if it was lowered, because a share is at most the part
-- that others do not hold. So a worker returns its excess before another gets it. A silent worker
-- holds its requests until permits_held_until, when its share and its requests have ended.
--
-- All times are on the database's clock. If that is put forward, shares in use seem to have ended.
-- A worker that reports one revives all that were valid at its last report. If the clock is put
-- back, a dead worker's requests count for longer.
--
-- p_renewal_count counts the calls. A late call changes nothing and returns null, like an unknown
-- worker.
CREATE OR REPLACE FUNCTION worker_renew(p_id integer, p_renewal_count bigint, p_in_flight integer, p_permits_held integer, p_demand integer)
RETURNS worker_share LANGUAGE plpgsql SET lock_timeout = '3s' AS $$
DECLARE
    v_limit integer;
    t timestamptz;
    v_lease_ms bigint;
    v_max_lease CONSTANT interval := ms_interval(30000); -- of a lease
    v_seen timestamptz;
    v_permits_held_until timestamptz;
    v_max_fetches integer;
    v_others integer;
    v worker_share;
BEGIN
    -- one worker at a time
    SELECT l.max_fetches INTO v_limit FROM fleet_limit l FOR UPDATE;
    t := clock_timestamp();
    -- without a limit a worker only has to notice a new one
    v_lease_ms := CASE WHEN v_limit IS NULL THEN 30000::bigint ELSE 15000 END;
    SELECT w.seen_at, w.permits_held_until INTO v_seen, v_permits_held_until FROM workers w WHERE w.id = p_id AND w.renewal_count < p_renewal_count;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF p_permits_held > 0 AND v_permits_held_until <= t THEN
        UPDATE workers w SET permits_held_until = t + v_max_lease + w.max_request_time
        WHERE w.stopped_at IS NULL AND w.permits_held_until > v_seen AND w.permits_held_until <= t;
    END IF;
    UPDATE workers w SET
        renewal_count = p_renewal_count, seen_at = t, stopped_at = NULL, lost = false, in_flight = p_in_flight, permits_held = p_permits_held,
        demand = least(p_demand, w.max_fetches),
        -- without this response it retains its last lease, which may be longer if there was no
        -- limit
        share_until = least(greatest(w.share_until, t + ms_interval(v_lease_ms)), t + v_max_lease),
        permits_held_until = least(greatest(w.permits_held_until, t + ms_interval(v_lease_ms) + w.max_request_time), t + v_max_lease + w.max_request_time)
    WHERE w.id = p_id
    RETURNING w.max_fetches INTO v_max_fetches;
    v := (v_max_fetches, v_lease_ms, v_limit)::worker_share;
    IF v_limit IS NOT NULL THEN
        SELECT coalesce(sum(w.permits_held), 0)::integer INTO v_others FROM workers w
        WHERE w.stopped_at IS NULL AND w.permits_held_until > t AND w.id <> p_id;
        v.share := greatest(0, least(v_max_fetches, worker_fair_share(p_id, v_limit, t), v_limit - v_others));
    END IF;
    UPDATE workers w SET share = v.share, permits_held = greatest(w.permits_held, v.share) WHERE w.id = p_id;
    RETURN v;
END
$$;

-- Returns a worker's part of a limit. Workers that want little get it. The others get equal parts
-- of the rest. The unwanted rest is divided equally, so that a worker that wants more has some at
-- once. If a limit is smaller than the number of workers, turns change twice a minute.
CREATE OR REPLACE FUNCTION worker_fair_share(p_id integer, p_limit integer, p_now timestamptz) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_left integer := p_limit;
    v_workers integer;
    v_turn CONSTANT bigint := floor(extract(EPOCH FROM p_now) / 30)::bigint;
    v_part integer;
    v_own integer := 0;
    w record;
BEGIN
    SELECT count(*)::integer INTO v_workers FROM workers x WHERE x.stopped_at IS NULL AND x.share_until > p_now;
    FOR w IN
        SELECT x.id, x.demand, row_number() OVER (ORDER BY x.demand, x.place) AS n
        FROM (
            SELECT y.id, y.demand, (row_number() OVER (ORDER BY y.id) + v_turn) % v_workers AS place
            FROM workers y WHERE y.stopped_at IS NULL AND y.share_until > p_now
        ) x ORDER BY n
    LOOP
        v_part := least(w.demand, v_left / (v_workers - w.n::integer + 1));
        v_left := v_left - v_part;
        IF w.id = p_id THEN
            v_own := v_part;
        END IF;
    END LOOP;
    RETURN v_own + CASE WHEN v_workers > 0 THEN v_left / v_workers ELSE 0 END;
END
$$;
