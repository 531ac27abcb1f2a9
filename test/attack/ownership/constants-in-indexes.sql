-- The planner evaluates constant parts of index expressions, and so does opening the index to write.  A
-- function that is wrongly marked IMMUTABLE changes settings of the caller's session, or leaves a
-- temporary view there.
-- expect: [settings] ^inserted$
-- expect: [settings] ^updated$
-- expect: [settings x3] ^safe "\$user", public$
-- expect: [temporary] ERROR:  42501: cannot create temporary table within security-restricted operation
-- expect: [deferred] ERROR:  55000: function evil.set\(pg_catalog.text\) behind table "public.visit" would run at the end of the transaction
\ir ../lib/store.sql
SELECT documentuuid AS id FROM dms.document \gset
CREATE SCHEMA evil;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN pg_catalog.now(); END $$;
CREATE FUNCTION evil.set(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN PERFORM set_config('search_path', 'evil, pg_catalog', false); RETURN 1; END $$;
CREATE INDEX ON dms.referenceedge ((childdocumentid + evil.set('x')));
CREATE INDEX ON dms.referentialidentity ((documentid + evil.set('x')));
CREATE INDEX ON dms.document ((documentid + evil.set('x')));
CREATE INDEX ON cascade.school ((documentid + evil.set('x')));
CREATE INDEX ON dms.idempotencykeys ((statuscode + evil.set('x')));
\echo =settings=
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Too"}');
\c - postgres
SELECT dms.recompute_identities(ARRAY[1, 2]);
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
\c - postgres
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');

\echo =temporary=
\c - dbo
CREATE FUNCTION evil.leave() RETURNS void LANGUAGE plpgsql AS
	$$ BEGIN EXECUTE 'CREATE TEMP VIEW accounts AS SELECT evil.now()'; EXECUTE 'GRANT ALL ON pg_temp.accounts TO PUBLIC'; END $$;
CREATE OR REPLACE FUNCTION evil.set(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN IF to_regclass('pg_temp.accounts') IS NULL THEN PERFORM evil.leave(); END IF; RETURN 1; END $$;
\c - postgres
CREATE TABLE public.accounts (n integer);
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 4, "name": "Two"}');
SELECT * FROM accounts;

-- The check of a deferred foreign key is planned at the end of the transaction.
\echo =deferred=
\c - dbo
DROP INDEX cascade.school_expr_idx, dms.document_expr_idx, dms.referenceedge_expr_idx, dms.referentialidentity_expr_idx;
CREATE OR REPLACE FUNCTION evil.set(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN PERFORM set_config('search_path', 'evil, pg_catalog', false); RETURN 1; END $$;
CREATE TABLE public.visit (school bigint REFERENCES cascade.school DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX ON public.visit ((school + evil.set('x')));
\c - postgres
SELECT dms.delete_document(:'id');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
