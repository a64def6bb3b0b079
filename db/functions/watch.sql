-- Returns the approximate number of rows of a table or index, by statistics of the planner, or 0.
CREATE OR REPLACE FUNCTION rows_estimate(p_relation text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(c.reltuples, 0)::bigint FROM pg_class c WHERE c.oid = p_relation::regclass
$$;

-- Returns the reason for the wait of a served domain, by its slot; empty means no wait.
CREATE OR REPLACE FUNCTION slot_wait_reason(p_holder text, p_free_at timestamptz, p_reason text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_holder IS NOT NULL THEN 'in flight' WHEN p_free_at > now() THEN p_reason ELSE '' END
$$;
