-- Rights. The user that migrates owns the schema; workers use it as mosey_worker, which
-- cannot drop a trigger, nor delete or truncate history. Where the owner may not
-- create roles, workers go on with the owner's rights.
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'mosey_worker') THEN
        BEGIN
            CREATE ROLE mosey_worker NOLOGIN;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration was first
            WHEN insufficient_privilege THEN
                RAISE NOTICE 'this user may not create the role mosey_worker: workers use the rights they log in with';
                RETURN;
        END;
    END IF;
    BEGIN
        EXECUTE format('GRANT mosey_worker TO %I', current_user);
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE NOTICE 'this user may not use the role mosey_worker: workers use the rights they log in with';
    END;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO mosey_worker', current_schema());
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM mosey_worker', current_schema());
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA %I TO mosey_worker', current_schema());
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO mosey_worker', current_schema());
    REVOKE INSERT, UPDATE ON schema_compatibility, goose_db_version, database_identity FROM mosey_worker;
    REVOKE UPDATE ON robots_texts, robots_bodies, robots_history FROM mosey_worker;
    GRANT DELETE ON staged_seeds, page_keywords, keywords_waiting, index_segments, index_merges, index_chunks, domain_ranks,
        page_ranks, list_entries, seed_files, registered_domains, run_registered, page_links, provenance,
        run_outcomes, run_outcomes_new TO mosey_worker;
END
$$;
