-- Helper functions of the extension are in a schema of their own.  What they return is run as SQL with
-- the rights of the store's owner, so no role may replace them, not even the owner of the database, who
-- created the extension.
-- expect: [owner of the extension x3] ERROR:  42501: must be owner of schema dms_internal
-- expect: [owner of the extension x1] ERROR:  42501: permission denied for schema dms_internal
-- expect: [owner of the extension x3] ERROR:  42501: must be owner of function
-- expect: [a prepared schema x1] ERROR:  42P06: schema "dms_internal" already exists
-- expect: [a fake beside it x2] ^0$
-- expect: [a table of the name of a schema] ^0$
\c - dbo
SET client_min_messages = warning;
CREATE EXTENSION dms;
\echo =owner of the extension=
CREATE FUNCTION dms_internal.repair_statement(name) RETURNS text LANGUAGE sql AS 'SELECT ''ALTER ROLE dbo SUPERUSER''';
CREATE OR REPLACE FUNCTION dms_internal.repair_statement(kind text) RETURNS text LANGUAGE sql AS 'SELECT ''ALTER ROLE dbo SUPERUSER''';
ALTER SCHEMA dms_internal RENAME TO elsewhere;
ALTER SCHEMA dms_internal OWNER TO dbo;
DROP SCHEMA dms_internal CASCADE;
ALTER FUNCTION dms_internal.repair_statement(text) RENAME TO other;
ALTER FUNCTION dms_internal.core_ddl() SET search_path = public;
ALTER EXTENSION dms DROP FUNCTION dms_internal.core_ddl();
DROP FUNCTION dms_internal.core_ddl();

\echo =a prepared schema=
DROP EXTENSION dms;
CREATE SCHEMA dms_internal;
CREATE FUNCTION dms_internal.core_ddl() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; END $$;
CREATE EXTENSION dms;
\c - postgres
CREATE EXTENSION dms;

-- Objects of other roles in the same schema are not used.
\echo =a fake beside it=
\c - dbo
DROP SCHEMA dms_internal CASCADE;
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT dms.grant_access('writer', 'admin');
CREATE FUNCTION public.audit(text, text, uuid) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; END $$;
CREATE FUNCTION public.core_ddl() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; END $$;
GRANT ALL ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC;
\c - writer
SET search_path = public, pg_catalog;
SELECT count(*) FROM dms.audit();
SELECT * FROM dms.repair();
SELECT dms.rebuild_edges();
\echo =a table of the name of a schema=
CREATE TEMP TABLE dms (x int);
CREATE TEMP TABLE dms_internal (repair_statement text DEFAULT 'ALTER ROLE writer SUPERUSER');
SELECT count(*) FROM dms.audit();
SELECT * FROM dms.repair();
