package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/test/model"
)

// readRows is one statement for all that the model is compared with. An instant is in
// microseconds, null 0 and infinity the largest number.
const readRows = `
SELECT jsonb_build_object('now', pg_temp.us(clock_timestamp()),
'runs', (SELECT coalesce(jsonb_object_agg(r.name, jsonb_build_object(
    'status', r.status, 'until', pg_temp.us(r.paused_until), 'spent', r.spent_budget)), '{}') FROM crawl_runs r WHERE r.name = ANY ($1)),
'domains', (SELECT coalesce(jsonb_object_agg(d.domain, jsonb_build_object(
    'status', d.status, 'deferred', pg_temp.us(d.next_crawl_after), 'claim', pg_temp.us(d.claim_expires_at),
    'opens', pg_temp.us((to_jsonb(d) ->> 'opens_at')::timestamptz),
    'forbidden', (SELECT jsonb_agg(pg_temp.us(coalesce(c.until, 'infinity'))) FROM domain_controls c
        WHERE c.domain = d.domain AND c.kind IN ('pause', 'stop', 'block') AND c.lifted_at IS NULL),
    'free', pg_temp.us(s.free_at), 'held', s.holder IS NOT NULL,
    'health', (SELECT h.health FROM domain_health h WHERE h.domain = d.domain))), '{}')
    FROM domains d LEFT JOIN politeness_slots s ON s.key = 'domain:' || d.domain WHERE d.domain = ANY ($2)),
'work', (SELECT coalesce(jsonb_agg(jsonb_build_object(
    'run', r.name, 'domain', x.domain, 'due', pg_temp.us(x.next_due_at), 'begun', x.pages_started, 'images', x.images_started,
    'bytes', x.bytes, 'next_page', pg_temp.us(p.page), 'next_image', pg_temp.us(p.image), 'flying', coalesce(p.flying, false))
    ORDER BY x.domain, r.name), '[]')
    FROM run_domains x JOIN crawl_runs r ON r.id = x.run_id CROSS JOIN LATERAL (
        SELECT min(c.scheduled_for) FILTER (WHERE c.kind <> 'image' AND c.locked_at IS NULL) AS page,
            min(c.scheduled_for) FILTER (WHERE c.kind = 'image' AND c.locked_at IS NULL) AS image,
            bool_or(c.locked_at IS NOT NULL) AS flying
        FROM page_crawls c WHERE c.domain = x.domain AND c.run_id = x.run_id AND c.outcome IS NULL AND NOT c.prerequisite
    ) p WHERE r.name = ANY ($1) AND x.domain = ANY ($2)),
'pages', (SELECT coalesce(jsonb_agg(to_jsonb(y)), '[]') FROM (
    SELECT r.name AS run, c.domain, c.url,
        count(*) FILTER (WHERE c.outcome IS NOT NULL AND c.skipped IS NULL AND c.outcome <> 'blocked_robots') AS asked,
        count(*) FILTER (WHERE c.skipped = 'undone') AS undone,
        count(*) FILTER (WHERE c.outcome IS NULL) AS open, count(c.locked_at) AS flying,
        count(*) FILTER (WHERE c.is_revisit) AS visits,
        coalesce((array_agg(c.skipped ORDER BY c.id DESC) FILTER (WHERE c.outcome IS NOT NULL))[1], '') AS last,
        pg_temp.us(min(v.due_at)) AS next_due, r.name AS recrawler
    FROM page_crawls c JOIN crawl_runs r ON r.id = c.run_id
    LEFT JOIN revisits v ON v.page_id = c.page_id AND v.run_id = c.run_id
    WHERE r.name = ANY ($1) AND c.domain = ANY ($2) AND NOT c.prerequisite GROUP BY r.name, c.domain, c.url
) y))`

// functions defines the temporary functions of each connection. us converts an instant. pass lets
// time pass for some runs and domains: it moves all their instants back. Only pass changes closed
// rows.
const functions = `
CREATE OR REPLACE FUNCTION pg_temp.us(t timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN t IS NULL THEN 0 WHEN t = 'infinity' THEN 9223372036854775807 ELSE (extract(epoch FROM t) * 1000000)::bigint END
$$;
CREATE OR REPLACE FUNCTION pg_temp.pass(p_runs text[], p_domains text[], d interval) RETURNS void LANGUAGE plpgsql
SET session_replication_role = replica AS $$
DECLARE
    v_runs bigint[] := ARRAY(SELECT r.id FROM crawl_runs r WHERE r.name = ANY (p_runs));
BEGIN
    UPDATE crawl_runs SET started_at = started_at - d, paused_until = paused_until - d, began_at = began_at - d,
        last_poll_at = last_poll_at - d
    WHERE id = ANY (v_runs);
    -- windows go by the wall clock
    UPDATE run_domains SET next_due_at = next_due_at - d, images_due_at = images_due_at - d
    WHERE run_id = ANY (v_runs) AND wait_reason <> 'window' AND (next_due_at IS NOT NULL OR images_due_at IS NOT NULL);
    UPDATE revisits SET due_at = due_at - d WHERE run_id = ANY (v_runs) AND due_at IS NOT NULL;
    UPDATE domains SET next_crawl_after = next_crawl_after - d, claim_expires_at = claim_expires_at - d, refused_since = refused_since - d,
        planned_at = planned_at - d
    WHERE domain = ANY (p_domains);
    UPDATE domain_controls SET until = until - d, set_at = set_at - d WHERE domain = ANY (p_domains);
    UPDATE politeness_slots SET free_at = free_at - d, queue_end = queue_end - d, ended_at = ended_at - d, strictest_delay_until = strictest_delay_until - d,
        unreachable_since = unreachable_since - d
    WHERE key = ANY (ARRAY(SELECT 'domain:' || x FROM unnest(p_domains) x));
    UPDATE page_crawls SET scheduled_for = scheduled_for - d, locked_at = locked_at - d, completed_at = completed_at - d,
        created_at = created_at - d
    -- of what is closed, when it was matters of a refusal alone
    WHERE domain = ANY (p_domains) AND run_id = ANY (v_runs) AND (outcome IS NULL OR outcome = 'blocked_4xx');
    UPDATE pages SET fetched_at = fetched_at - d, fresh_until = fresh_until - d, failed_at = failed_at - d
    WHERE domain = ANY (p_domains);
    UPDATE robots SET expires_at = expires_at - d, fetched_at = fetched_at - d, read_at = read_at - d, failing_since = failing_since - d
    WHERE domain = ANY (p_domains);
    UPDATE domain_health SET updated_at = updated_at - d,
        health = health || CASE WHEN health ? 'dns_failing_since'
            THEN jsonb_build_object('dns_failing_since', (health ->> 'dns_failing_since')::timestamptz - d) ELSE '{}' END
            || CASE WHEN health ? 'connections_failing_since'
            THEN jsonb_build_object('connections_failing_since', (health ->> 'connections_failing_since')::timestamptz - d) ELSE '{}' END
    WHERE domain = ANY (p_domains);
END
$$;`

// rows reads what is stored.
func (b *bench) rows(ctx context.Context) (model.Rows, error) {
	var data []byte
	var rows model.Rows
	if err := b.db.QueryRow(ctx, readRows, b.runs, b.domains).Scan(&data); err != nil {
		return rows, fmt.Errorf("read the rows: %w", err)
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		return rows, fmt.Errorf("read the rows: %w", err)
	}
	return rows, nil
}

// pass has time pass, for the rows, the model and Temporal.
func (b *bench) pass(ctx context.Context, span time.Duration) error {
	_, err := b.db.Exec(ctx, "SELECT pg_temp.pass($1, $2, $3::interval)", b.runs, b.domains,
		fmt.Sprintf("%d microseconds", span.Microseconds()))
	if err != nil {
		return fmt.Errorf("have %s pass: %w", span, err)
	}
	b.world.Pass(model.Instant(span.Microseconds()))
	for _, f := range b.temporal.flows {
		if f.until != 0 {
			f.until -= model.Instant(span.Microseconds())
		}
	}
	return nil
}
