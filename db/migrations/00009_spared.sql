-- +goose Up

-- Of a domain's slot: since when its attempts have been taken back, for it could not
-- be reached and nothing told whether that was its fault or ours. Null once it was
-- reached.
ALTER TABLE politeness_slots ADD COLUMN spared_since timestamptz;

-- +goose Down
-- Migrations only go forward.
