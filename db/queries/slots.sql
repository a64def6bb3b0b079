-- name: SlotsRestored :one
SELECT slots_restored(@age_ms::bigint)::bigint;
