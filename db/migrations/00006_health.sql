-- +goose Up

-- What is shared by domains is left alone for the strictest delay that anybody
-- wants there: when the last request ended, the strictest delay asked for lately,
-- and until when that counts. Adding columns without a default rewrites nothing.
ALTER TABLE politeness_slots
ADD COLUMN ended_at timestamptz,
ADD COLUMN strict_ms bigint,
ADD COLUMN strict_until timestamptz;

-- Names the decision, so that one which is stored again, its answer lost, is stored
-- once. Null where it cannot be.
ALTER TABLE domain_controls ADD COLUMN decision text;
CREATE UNIQUE INDEX domain_controls_decision ON domain_controls (domain, decision) WHERE decision IS NOT NULL;

-- A domain that was given up is asked again: next_crawl_after says when. Those that
-- were given up for good get their turn now. Reads each such domain once.
WITH given_up AS (
    UPDATE domains AS d SET next_crawl_after = now()
    WHERE
        d.status IN ('unreachable', 'blocked') AND d.next_crawl_after IS NULL AND NOT EXISTS (
            SELECT 1 FROM domain_controls AS c
            WHERE c.domain = d.domain AND c.kind IN ('stop', 'block') AND c.lifted_at IS NULL
        )
    RETURNING d.domain
)
UPDATE run_domains AS rd SET next_due_at = now()
FROM given_up AS g WHERE rd.domain = g.domain AND rd.next_due_at = 'infinity';

-- +goose Down
-- Migrations only go forward.
