-- +goose Up

-- Bodies of robots.txt as they were sent, once for all that have the same, so that an
-- audit reads what a site has said and not what the crawler had made of it. One is
-- 500 KiB at the most, and 1 KB as a rule. The new columns are null for what was read
-- before; adding them costs nothing on a large table, and their keys one pass over it.
CREATE TABLE robots_bodies (
    hash bytea PRIMARY KEY,
    body bytea NOT NULL,
    CONSTRAINT robots_bodies_hash CHECK (hash = sha256(body))
);

ALTER TABLE robots ADD COLUMN body_hash bytea REFERENCES robots_bodies (hash);
ALTER TABLE robots_history ADD COLUMN body_hash bytea REFERENCES robots_bodies (hash);

-- +goose Down
-- Migrations only go forward.
