-- name: SeedsAdd :one
SELECT seeds_add(@run_id::bigint, @urls::text [], @domains::text [], @origins::text [])::integer AS added;

-- name: SeedsStaged :many
SELECT id, url FROM staged_seeds WHERE run_id = @run_id ORDER BY id LIMIT @max;

-- name: SeedsStage :copyfrom
INSERT INTO staged_seeds (run_id, url) VALUES (@run_id, @url);

-- name: SeedsUnstage :exec
DELETE FROM staged_seeds WHERE run_id = @run_id AND id <= @last_id;
