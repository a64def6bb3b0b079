-- Rights. The user that migrates owns the schema. Workers use it as mosey_worker, which cannot
-- drop a trigger, or delete or truncate history. Read-only commands use it as mosey_reader, which
-- changes nothing. If the owner may not create roles, both keep the rights of their login.
DO $$
DECLARE
    v_role text;
    v_function record;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['mosey_worker', 'mosey_reader'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration was first
                WHEN insufficient_privilege THEN
                    RAISE NOTICE 'this user may not create the role %: Mosey uses the rights it logs in with', v_role;
                    CONTINUE;
            END;
        END IF;
        BEGIN
            EXECUTE format('GRANT %I TO %I', v_role, current_user);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE NOTICE 'this user may not use the role %: Mosey uses the rights it logs in with', v_role;
        END;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), v_role);
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM %I', current_schema(), v_role);
        EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA %I FROM %I', current_schema(), v_role);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I', current_schema(), v_role);
    END LOOP;

    -- A login may not make tables here, or call functions that were not granted to it. In a stable
    -- function Postgres refuses changes.
    BEGIN
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE NOTICE 'the schema % belongs to another user: who may make tables in it is left as it is', current_schema();
    END;
    FOR v_function IN
        SELECT p.oid::regprocedure AS signature, p.provolatile <> 'v' AS reads
        FROM pg_proc AS p
        WHERE p.pronamespace = current_schema()::regnamespace AND pg_has_role(p.proowner, 'USAGE') AND p.prokind = 'f'
            AND NOT EXISTS (SELECT 1 FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')
            AND EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'mosey_worker')
            AND EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'mosey_reader')
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC, mosey_reader', v_function.signature);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mosey_worker', v_function.signature);
        IF v_function.reads THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mosey_reader', v_function.signature);
        END IF;
    END LOOP;

    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'mosey_worker') THEN
        EXECUTE format('GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA %I TO mosey_worker', current_schema());
        EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO mosey_worker', current_schema());
        REVOKE INSERT, UPDATE ON installation, goose_db_version FROM mosey_worker;
        REVOKE UPDATE ON robots_history FROM mosey_worker;
        GRANT DELETE ON staged_seeds, page_keywords, index_segments, index_chunks, domain_ranks,
            page_ranks, list_entries, seed_files, registered_domains, run_registered_domains, page_links, provenance,
            image_contents, run_outcomes, run_outcomes_new, revisits, robots, robots_history, robots_contents TO mosey_worker;
    END IF;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'mosey_reader') THEN
        -- Readers do not see staged data: seeds, and the paths of their files.
        REVOKE SELECT ON staged_seeds, seed_files FROM mosey_reader;
    END IF;
END
$$;
