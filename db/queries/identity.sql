-- name: DatabaseIdentity :one
SELECT identity::text FROM database_identity;

-- name: DatabaseClosed :one
SELECT coalesce(database_closed_why(), '')::text;
