-- +goose Up

-- A run can be paused, until an instant or until it is resumed: nothing of it begins then,
-- and its dispatcher waits.
ALTER TYPE run_status ADD VALUE 'paused';
ALTER TABLE crawl_runs ADD COLUMN paused_until timestamptz;

-- Who has made, changed, paused, resumed or stopped a run: crawl.RunChange. was and value
-- are the settings that were changed, before and after.
CREATE TABLE run_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL REFERENCES crawl_runs (id) ON DELETE CASCADE,
    kind text NOT NULL,
    was jsonb,
    value jsonb,
    reason text NOT NULL DEFAULT '',
    until timestamptz,
    set_by text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    -- names what made it, so that it is made once however often it is asked for
    decision text,
    CONSTRAINT run_changes_kind_known CHECK (kind IN ('create', 'set', 'pause', 'resume', 'stop'))
);
CREATE INDEX run_changes_run ON run_changes (run_id, id);
CREATE UNIQUE INDEX run_changes_decision ON run_changes (run_id, decision) WHERE decision IS NOT NULL;

-- +goose Down
-- Migrations only go forward.
