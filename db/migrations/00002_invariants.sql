-- +goose Up

-- page_crawls is history: rows are never deleted, a closed one never changes, and
-- what an attempt is about is fixed when it is inserted.
-- +goose StatementBegin
CREATE FUNCTION page_crawls_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP IN ('DELETE', 'TRUNCATE') THEN
        RAISE EXCEPTION 'page_crawls is append-only: % is not allowed', TG_OP
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.outcome IS NOT NULL THEN
        RAISE EXCEPTION 'page_crawls % is closed (%): a closed crawl never changes', OLD.id, OLD.outcome
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.id, NEW.page_id, NEW.run_id, NEW.domain, NEW.url, NEW.previous_id)
        IS DISTINCT FROM (OLD.id, OLD.page_id, OLD.run_id, OLD.domain, OLD.url, OLD.previous_id) THEN
        RAISE EXCEPTION 'page_crawls %: id, page, run, domain, url and previous_id never change', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER page_crawls_append_only BEFORE UPDATE OR DELETE ON page_crawls
FOR EACH ROW EXECUTE FUNCTION page_crawls_append_only();
CREATE TRIGGER page_crawls_no_truncate BEFORE TRUNCATE ON page_crawls
FOR EACH STATEMENT EXECUTE FUNCTION page_crawls_append_only();

-- The log of requests and of robots.txt is history too.
-- +goose StatementBegin
CREATE FUNCTION history_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is not allowed', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER requests_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON requests
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();
CREATE TRIGGER robots_history_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON robots_history
FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();

-- The domain state machine, whoever makes the change; every change counts up
-- the version. Leaving blocked takes a person (a new seed), and what is not
-- active cannot be exhausted.
-- +goose StatementBegin
CREATE FUNCTION domains_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (
        ('pending', 'active'), ('pending', 'blocked'), ('pending', 'unreachable'),
        ('active', 'pending'), ('active', 'exhausted'), ('active', 'blocked'), ('active', 'unreachable'),
        ('exhausted', 'pending'), ('exhausted', 'blocked'),
        ('blocked', 'pending'),
        ('unreachable', 'pending'), ('unreachable', 'blocked')
    ) THEN
        RAISE EXCEPTION 'domain %: status % cannot become %', OLD.domain, OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    NEW.version := OLD.version + 1;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER domains_transition BEFORE UPDATE ON domains
FOR EACH ROW EXECUTE FUNCTION domains_transition();

-- +goose Down
DROP TRIGGER domains_transition ON domains;
DROP TRIGGER robots_history_append_only ON robots_history;
DROP TRIGGER requests_append_only ON requests;
DROP TRIGGER page_crawls_no_truncate ON page_crawls;
DROP TRIGGER page_crawls_append_only ON page_crawls;
DROP FUNCTION domains_transition, history_append_only, page_crawls_append_only;
