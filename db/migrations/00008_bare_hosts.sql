-- +goose Up

-- Whether the domain was seeded without a scheme: where https cannot be reached, http
-- is meant.
ALTER TABLE domains ADD COLUMN bare boolean NOT NULL DEFAULT false;

-- +goose Down
-- Migrations only go forward.
