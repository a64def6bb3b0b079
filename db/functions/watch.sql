-- The approximate number of rows of a table or an index, by the planner's statistics; 0 without these.
CREATE OR REPLACE FUNCTION rows_about(p_relation text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest(c.reltuples, 0)::bigint FROM pg_class c WHERE c.oid = p_relation::regclass
$$;

-- What a served domain waits for, by its slot; empty means nothing.
CREATE OR REPLACE FUNCTION slot_waits(p_holder text, p_free_at timestamptz, p_reason text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_holder IS NOT NULL THEN 'in flight' WHEN p_free_at > now() THEN p_reason ELSE '' END
$$;
