-- name: ListAdd :one
SELECT list_add(@list::text, @entries::text [], @kinds::text [], @reason::text, @by::text)::integer AS added;

-- name: ListRemove :one
SELECT list_remove(@list::text, @entries::text [])::integer AS removed;

-- name: ListClear :one
SELECT list_remove(@list::text, NULL)::integer AS removed;

-- name: ListEntries :many
SELECT entry, kind, reason, set_by, set_at FROM list_entries
WHERE list = @list AND entry > @after::text ORDER BY entry LIMIT @max;

-- name: ListSizes :many
SELECT list, count(*)::bigint AS entries FROM list_entries GROUP BY list;

-- name: ListsHaveNetworks :one
SELECT EXISTS (SELECT 1 FROM list_entries WHERE kind = 'network') AS found;

-- name: AddressListed :one
SELECT domain_listed(@domain::text, @ip::inet)::jsonb AS listed;
