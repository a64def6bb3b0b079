-- Adds entries to a list, or replaces their reasons. Returns the number of new entries.
-- name: ListAdd :one
WITH given AS (
    INSERT INTO list_entries AS e (list, entry, kind, network, reason, set_by)
    SELECT DISTINCT ON (x.entry) @list::text, x.entry, x.kind, CASE WHEN x.kind = 'network' THEN x.entry::cidr END, @reason::text, @by::text
    FROM (SELECT unnest(@entries::text []) AS entry, unnest(@kinds::text []) AS kind) AS x ORDER BY x.entry
    ON CONFLICT (list, entry) DO UPDATE SET reason = excluded.reason, set_by = excluded.set_by, set_at = now()
    RETURNING e.xmax = 0 AS is_new
)
SELECT count(*) FILTER (WHERE g.is_new)::integer AS added FROM given AS g;

-- Updates when domains are due that new entries forbid. A worker applies entries of addresses.
-- name: ListUpdateForbidden :exec
SELECT due_update(ARRAY(
    SELECT DISTINCT rd.domain FROM run_domains AS rd
    WHERE rd.next_due_at < 'infinity' AND domain_keys(rd.domain) && @entries::text [] ORDER BY rd.domain
));

-- Removes entries from a list; null means all of them.
-- name: ListRemove :execrows
DELETE FROM list_entries AS x
WHERE x.list = @list::text AND (sqlc.narg('entries')::text [] IS NULL OR x.entry = ANY(sqlc.narg('entries')::text []));

-- Updates when domains are due that the lists no longer forbid, and makes the runs read again the
-- links to these domains that they skipped.
-- name: ListsUpdateAllowed :exec
WITH widened AS (
    UPDATE crawl_runs SET widening = '{}' WHERE status = 'running' AND settings ->> 'scope' = 'web'
)
SELECT due_update(ARRAY(SELECT DISTINCT rd.domain FROM run_domains AS rd WHERE rd.wait_reason = 'listed' ORDER BY rd.domain));

-- name: FinishesAwait :exec
SELECT finishes_await(sqlc.narg('run_id')::bigint);

-- name: ListEntries :many
SELECT entry, kind, reason, set_by, set_at FROM list_entries
WHERE list = @list AND entry > @after::text ORDER BY entry LIMIT @max;

-- name: ListSizes :many
SELECT list, count(*)::bigint AS entries FROM list_entries GROUP BY list;

-- name: ListsHaveNetworks :one
SELECT EXISTS (SELECT 1 FROM list_entries WHERE kind = 'network') AS found;

-- name: AddressListed :one
SELECT domain_listed_by(@domain::text, @ip::inet)::jsonb AS listed;
