-- Why the database is closed: a sentence for people, with the remedy. Null while it is open.
CREATE OR REPLACE FUNCTION database_closed_why() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE m.state
        WHEN 'leaving' THEN format('this database is being moved to %s since %s: wait for mosey move to end, or open it again with '
            'mosey move --undo', m.other, to_char(m.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
        WHEN 'moved' THEN format('this database was moved to %s on %s: work there', m.other,
            to_char(m.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
        WHEN 'arriving' THEN format('this database is being filled from %s since %s: wait for mosey move to end, or give it again',
            m.other, to_char(m.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
        ELSE format('this database is a copy of %s that was given up on %s: fill it again with mosey move, or drop it', m.other,
            to_char(m.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
    END
    FROM database_move m
$$;

-- The function of the triggers that close a database: it refuses what they are about.
CREATE OR REPLACE FUNCTION database_closed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', coalesce(database_closed_why(), 'this database is just being opened')
        USING ERRCODE = 'object_not_in_prerequisite_state';
END
$$;
