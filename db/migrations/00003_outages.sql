-- +goose Up

-- Times during which a worker could not reach anything: its own network was down, as
-- far as it could tell. seen_at is when the worker last said so.
CREATE TABLE outages (
    worker text NOT NULL,
    began_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    reason text NOT NULL,
    PRIMARY KEY (worker, began_at)
);

-- +goose Down
-- Migrations only go forward.
