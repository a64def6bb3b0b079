-- Gives a worker its share of fleet_limit, and notes that it lives. Until the worker hears the
-- answer it can have up to p_held requests in flight: its share so far, or what is left of a
-- larger one. It would have p_wanted if it could.
--
-- What workers hold never exceeds the limit, but for what they held when the limit was lowered:
-- a share is what others do not hold at the most. So what one is to have less, it has handed back
-- before another gets it. A worker that is not heard of holds what it held until counts_until:
-- its share has ended by then, and the requests that it had begun.
--
-- All is on the database's clock. p_asked counts the worker's calls: one that comes late, after
-- the next, changes nothing, and returns null, as for a worker that is not known.
CREATE OR REPLACE FUNCTION worker_renew(p_id integer, p_asked bigint, p_in_flight integer, p_held integer, p_wanted integer)
RETURNS worker_share LANGUAGE plpgsql SET lock_timeout = '3s' AS $$
DECLARE
    v_limit integer;
    t timestamptz;
    v_lease_ms bigint;
    v_most integer;
    v_others integer;
    v worker_share;
BEGIN
    -- one worker at a time
    SELECT l.max_fetches INTO v_limit FROM fleet_limit l FOR UPDATE;
    t := clock_timestamp();
    -- Without a limit there is no hurry: only that a limit is set has to be noticed.
    v_lease_ms := CASE WHEN v_limit IS NULL THEN 30000::bigint ELSE 15000 END;
    UPDATE workers w SET
        asked = p_asked, seen_at = t, stopped_at = NULL, lost = false, in_flight = p_in_flight, wanted = least(p_wanted, w.most),
        -- what it had begun before its share ended is over
        held = CASE WHEN w.counts_until > t THEN p_held ELSE 0 END,
        share_until = t + ms_interval(v_lease_ms), counts_until = t + ms_interval(v_lease_ms) + w.span
    WHERE w.id = p_id AND w.asked < p_asked
    RETURNING w.most INTO v_most;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    v := (v_most, v_lease_ms, v_limit)::worker_share;
    IF v_limit IS NOT NULL THEN
        SELECT coalesce(sum(w.held), 0)::integer INTO v_others FROM workers w
        WHERE w.stopped_at IS NULL AND w.counts_until > t AND w.id <> p_id;
        v.share := greatest(0, least(v_most, worker_part(p_id, v_limit, t), v_limit - v_others));
    END IF;
    UPDATE workers w SET share = v.share, held = greatest(w.held, v.share) WHERE w.id = p_id;
    RETURN v;
END
$$;

-- What a worker should have of a limit. Workers that want little get it. The others get equal
-- parts of the rest. What nobody wants is divided equally: a worker that begins to want more has
-- some at once. If a limit is smaller than the number of workers, turns change twice a minute.
CREATE OR REPLACE FUNCTION worker_part(p_id integer, p_limit integer, p_now timestamptz) RETURNS integer
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
        SELECT x.id, x.wanted, row_number() OVER (ORDER BY x.wanted, x.place) AS n
        FROM (
            SELECT y.id, y.wanted, (row_number() OVER (ORDER BY y.id) + v_turn) % v_workers AS place
            FROM workers y WHERE y.stopped_at IS NULL AND y.share_until > p_now
        ) x ORDER BY n
    LOOP
        v_part := least(w.wanted, v_left / (v_workers - w.n::integer + 1));
        v_left := v_left - v_part;
        IF w.id = p_id THEN
            v_own := v_part;
        END IF;
    END LOOP;
    RETURN v_own + CASE WHEN v_workers > 0 THEN v_left / v_workers ELSE 0 END;
END
$$;
