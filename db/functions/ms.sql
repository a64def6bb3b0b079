-- Returns the milliseconds between two instants, rounded up so that no wait ends early.
CREATE OR REPLACE FUNCTION ms_between(p_from timestamptz, p_to timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ceil(extract(EPOCH FROM (p_to - p_from)) * 1000)::bigint;

-- Returns the duration of a request, rounded down so that it does not begin before its lease.
CREATE OR REPLACE FUNCTION ms_taken(p_from timestamptz, p_to timestamptz) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(floor(extract(EPOCH FROM (p_to - p_from)) * 1000), 2147483647)::integer;

CREATE OR REPLACE FUNCTION ms_interval(p_ms bigint) RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_ms * interval '1 millisecond';
