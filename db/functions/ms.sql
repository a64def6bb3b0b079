-- Milliseconds from one instant to another, rounded up so that such a wait never ends early.
CREATE OR REPLACE FUNCTION ms_between(p_from timestamptz, p_to timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ceil(extract(EPOCH FROM (p_to - p_from)) * 1000)::bigint;

-- Milliseconds that a request has taken, rounded down so that it does not seem to have begun before its lease.
CREATE OR REPLACE FUNCTION ms_taken(p_from timestamptz, p_to timestamptz) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(floor(extract(EPOCH FROM (p_to - p_from)) * 1000), 2147483647)::integer;

CREATE OR REPLACE FUNCTION ms_interval(p_ms bigint) RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_ms * interval '1 millisecond';
