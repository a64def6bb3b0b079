-- +goose Up

-- Which database this is, wherever its rows are moved: a backup that is restored goes on
-- being it. A namespace of Temporal belongs to one database (wiring.ClaimNamespace). One
-- row; it costs nothing on a large database.
CREATE TABLE database_identity (
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    one boolean PRIMARY KEY DEFAULT true,
    CONSTRAINT database_identity_one CHECK (one)
);

INSERT INTO database_identity DEFAULT VALUES;

-- +goose Down
-- Migrations only go forward.
