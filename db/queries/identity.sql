-- name: DatabaseIdentity :one
SELECT identity::text FROM database_identity;
