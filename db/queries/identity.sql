-- name: DatabaseIdentity :one
SELECT identity::text FROM installation;
