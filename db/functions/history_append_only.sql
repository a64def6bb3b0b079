-- page_crawls is history: rows are never deleted, a closed one never changes, and
-- what an attempt is about is fixed when it is inserted.
CREATE OR REPLACE FUNCTION page_crawls_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP IN ('DELETE', 'TRUNCATE') THEN
        RAISE EXCEPTION 'page_crawls is append-only: % is not allowed', TG_OP
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.outcome IS NOT NULL THEN
        RAISE EXCEPTION 'page_crawls % is closed (%): a closed crawl never changes', OLD.id, OLD.outcome
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.id, NEW.page_id, NEW.run_id, NEW.domain, NEW.url, NEW.kind, NEW.prerequisite, NEW.previous_id)
        IS DISTINCT FROM
        (OLD.id, OLD.page_id, OLD.run_id, OLD.domain, OLD.url, OLD.kind, OLD.prerequisite, OLD.previous_id) THEN
        RAISE EXCEPTION
            'page_crawls %: id, page, run, domain, url, kind, prerequisite and previous_id never change', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER page_crawls_append_only BEFORE UPDATE OR DELETE ON page_crawls
FOR EACH ROW EXECUTE FUNCTION page_crawls_append_only();
CREATE OR REPLACE TRIGGER page_crawls_no_truncate BEFORE TRUNCATE ON page_crawls
FOR EACH STATEMENT EXECUTE FUNCTION page_crawls_append_only();

-- What robots.txt files have said is history too, and so is what crawls and links name by
-- their ids.
CREATE OR REPLACE FUNCTION history_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE OR REPLACE TRIGGER pages_kept BEFORE DELETE OR TRUNCATE ON pages
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER crawl_runs_kept BEFORE DELETE OR TRUNCATE ON crawl_runs
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER run_changes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON run_changes
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER robots_history_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON robots_history
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER robots_texts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON robots_texts
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE OR REPLACE TRIGGER robots_bodies_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON robots_bodies
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();

-- A person's decisions are kept: taking one back is a change of its row.
CREATE OR REPLACE FUNCTION domain_controls_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP IN ('DELETE', 'TRUNCATE') OR OLD.lifted_at IS NOT NULL THEN
        RAISE EXCEPTION 'domain_controls is append-only: % is not allowed', TG_OP
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER domain_controls_kept BEFORE UPDATE OR DELETE ON domain_controls
FOR EACH ROW EXECUTE FUNCTION domain_controls_kept();
CREATE OR REPLACE TRIGGER domain_controls_no_truncate BEFORE TRUNCATE ON domain_controls
FOR EACH STATEMENT EXECUTE FUNCTION domain_controls_kept();
