-- History is append-only: attempts, rows that attempts or links name, robots.txt files, decisions.
CREATE OR REPLACE FUNCTION history_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

-- A closed crawl only loses its archived response. The subject of an attempt never changes.
CREATE OR REPLACE FUNCTION page_crawls_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.outcome IS NOT NULL AND (NEW.archived IS NOT NULL OR to_jsonb(NEW) - 'archived' <> to_jsonb(OLD) - 'archived')
        OR (NEW.id, NEW.page_id, NEW.run_id, NEW.domain, NEW.url, NEW.kind, NEW.prerequisite, NEW.previous_id)
        IS DISTINCT FROM
        (OLD.id, OLD.page_id, OLD.run_id, OLD.domain, OLD.url, OLD.kind, OLD.prerequisite, OLD.previous_id)
    THEN
        RAISE EXCEPTION 'page_crawls is append-only: neither a closed attempt nor the page of an attempt may change'
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.feed_position := CASE WHEN OLD.outcome IS NOT NULL THEN OLD.feed_position
        WHEN NEW.outcome IS NOT NULL AND pg_current_xact_id() IS NOT NULL THEN nextval('page_crawls_feed_position') END;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER page_crawls_change BEFORE UPDATE ON page_crawls
FOR EACH ROW EXECUTE FUNCTION page_crawls_change();
CREATE OR REPLACE TRIGGER page_crawls_no_truncate BEFORE TRUNCATE ON page_crawls
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
-- Only AttemptsDeleteMoved deletes rows, which a file contains.
CREATE OR REPLACE TRIGGER page_crawls_moved BEFORE DELETE ON page_crawls FOR EACH ROW
WHEN (OLD.outcome IS NULL OR current_setting('mosey.allow_delete', true) IS DISTINCT FROM 'crawls') EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER workers_no_delete BEFORE DELETE OR TRUNCATE ON workers
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER pages_no_delete BEFORE DELETE OR TRUNCATE ON pages
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
-- This also keeps crawl_runs, because deleting a run deletes its changes, even without rows.
CREATE OR REPLACE TRIGGER run_changes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON run_changes
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
-- Only robots_forget deletes rows of robots_history, whose foreign keys keep robots_contents.
CREATE OR REPLACE TRIGGER robots_history_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON robots_history
FOR EACH STATEMENT WHEN (current_setting('mosey.allow_delete', true) IS DISTINCT FROM 'robots') EXECUTE FUNCTION history_append_only();

-- Lifting a decision updates its row.
CREATE OR REPLACE TRIGGER domain_controls_append_only BEFORE UPDATE ON domain_controls
FOR EACH ROW WHEN (OLD.lifted_at IS NOT NULL) EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER domain_controls_no_delete BEFORE DELETE OR TRUNCATE ON domain_controls
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
