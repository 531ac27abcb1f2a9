-- Access is decided by EXECUTE. dms.grant_access() gives a role a level.
\set home :DBNAME
CREATE ROLE regress_owner;
CREATE ROLE regress_nobody;
CREATE ROLE regress_early;
CREATE ROLE regress_reader;
CREATE ROLE regress_writer;
CREATE ROLE regress_admin;
CREATE ROLE regress_other;
CREATE DATABASE regress_roles TEMPLATE template0 ENCODING 'UTF8' OWNER regress_owner;
\c regress_roles

-- The owner of the database is not superuser, and need not be.
SET SESSION AUTHORIZATION regress_owner;
CREATE EXTENSION dms;

-- A level that is granted before there is a store also applies to the tables
-- that deploys create.
SELECT dms.grant_access('regress_early', 'reader');
\getenv directory PG_ABS_SRCDIR
\set file :directory /test/schemas/sites.json
\set core `cat :'file'`
\set file :directory /test/schemas/sites-extra.json
\set extra `cat :'file'`

-- A deploy does not use a schema of another role: its owner could replace the
-- tables by others, whose triggers would run as the owner of the store.
RESET SESSION AUTHORIZATION;
CREATE SCHEMA sites AUTHORIZATION regress_other;
GRANT ALL ON SCHEMA sites TO regress_owner;
SET SESSION AUTHORIZATION regress_owner;
SELECT dms.deploy_schema(:'core', :'extra');
RESET SESSION AUTHORIZATION;
DROP SCHEMA sites;
-- The same holds for the schema of the extension, and in particular for
-- superusers.
SELECT dms.deploy_schema(:'core', :'extra');
-- And for existing functions: if the deploy replaced them, they would still
-- belong to their creator.
BEGIN;
ALTER SCHEMA dms OWNER TO CURRENT_USER;
GRANT ALL ON SCHEMA dms TO regress_other;
SET LOCAL ROLE regress_other;
CREATE FUNCTION dms.document_after_delete() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
RESET ROLE;
SELECT dms.deploy_schema(:'core', :'extra');
ROLLBACK;
SET SESSION AUTHORIZATION regress_owner;
SET client_min_messages = warning;
SELECT dms.deploy_schema(:'core', :'extra') IS NOT NULL AS deployed;
RESET client_min_messages;
SELECT dms.grant_access('regress_reader', 'reader'), dms.grant_access('regress_writer', 'writer'),
	dms.grant_access('regress_admin', 'admin');
SELECT * FROM dms.access_grants();

--
-- Every function and every table, by the catalogs
--

RESET SESSION AUTHORIZATION;
CREATE VIEW dms_function AS
SELECT p.oid::regprocedure AS signature, p.proname, p.oid, p.provolatile,
	array(SELECT l.level FROM dms.access_levels() AS l WHERE p.proname = ANY (l.functions)) AS levels
FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dms');
CREATE VIEW dms_table AS
SELECT c.oid::regclass AS name, c.relkind,
	CASE WHEN n.nspname <> 'dms' THEN '{reader}'
		ELSE array(SELECT l.level FROM dms.access_levels() AS l WHERE c.relname = ANY (l.tables)) END AS levels
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'S') AND n.nspname IN ('dms', 'sites', 'sitesextra');
CREATE TABLE role_level AS
SELECT * FROM (VALUES (0, 'regress_nobody', '{public}'::text[]), (1, 'regress_early', '{public, reader}'),
	(2, 'regress_reader', '{public, reader}'), (3, 'regress_writer', '{public, reader, writer}'),
	(4, 'regress_admin', '{public, reader, writer, admin}')) AS r (place, role, levels);

-- Each function and each table must be in exactly one level.
SELECT signature, levels FROM dms_function WHERE cardinality(levels) <> 1 ORDER BY 1;
SELECT name, levels FROM dms_table WHERE cardinality(levels) <> (relkind <> 'S')::integer ORDER BY 1;

-- Readers may not call functions that change something.  They may send
-- requests, which can then only read.
SELECT signature, levels FROM dms_function
WHERE provolatile = 'v' AND levels[1] IN ('public', 'reader') AND proname <> 'uuid_v7' ORDER BY 1;

-- Each role may call the functions of its level, and no others.
SELECT r.role, f.signature, has_function_privilege(r.role, f.oid, 'EXECUTE') AS may
FROM role_level AS r, dms_function AS f
WHERE has_function_privilege(r.role, f.oid, 'EXECUTE') <> (f.levels[1] = ANY (r.levels))
ORDER BY r.place, 2;
SELECT r.role, count(*) > 0 AS may_call_something FROM role_level AS r, dms_function AS f
WHERE has_function_privilege(r.role, f.oid, 'EXECUTE') AND f.levels <> '{public}' GROUP BY r.place, 1 ORDER BY r.place;

-- Each role may read the tables of its level, and has no other rights on them.
SELECT r.role, t.name, p.privilege
FROM role_level AS r, dms_table AS t,
	unnest('{SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER}'::text[]) AS p (privilege)
WHERE t.relkind <> 'S'
  AND has_table_privilege(r.role, t.name, p.privilege)
	<> (p.privilege = 'SELECT' AND t.levels[1] = ANY (r.levels))
ORDER BY r.place, 2, 3;
SELECT r.role, t.name FROM role_level AS r, dms_table AS t
WHERE t.relkind = 'S' AND has_sequence_privilege(r.role, t.name, 'SELECT, USAGE, UPDATE');
SELECT r.role, array(SELECT n.nspname FROM pg_namespace AS n
	WHERE n.nspname IN ('dms', 'dms_internal', 'sites', 'sitesextra') AND has_schema_privilege(r.role, n.oid, 'USAGE')
	ORDER BY 1) AS schemas,
	array(SELECT n.nspname FROM pg_namespace AS n
	WHERE n.nspname IN ('dms', 'dms_internal', 'sites', 'sitesextra') AND has_schema_privilege(r.role, n.oid, 'CREATE')) AS creates_in
FROM role_level AS r ORDER BY r.place;

-- All other functions in the schema of the store are trigger functions.
SELECT p.oid::regprocedure FROM pg_proc AS p
WHERE p.pronamespace IN ('dms'::regnamespace, 'dms_internal'::regnamespace) AND p.prorettype <> 'trigger'::regtype
  AND p.oid NOT IN (SELECT oid FROM dms_function);

--
-- The same, by calls
--

\set VERBOSITY terse
SET SESSION AUTHORIZATION regress_nobody;
SELECT dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'nobody');
SELECT * FROM sites.house;
RESET SESSION AUTHORIZATION;
GRANT USAGE ON SCHEMA dms TO regress_nobody;
SET SESSION AUTHORIZATION regress_nobody;
SELECT dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'nobody');
SELECT dms.instance_id();
SELECT dms.get_document('00000000-0000-0000-0000-000000000000');
SELECT dms.upsert_document('sites', 'houses', '{}');
SELECT dms.grant_access('regress_nobody', 'admin');

SET SESSION AUTHORIZATION regress_writer;
SELECT outcome, document_uuid FROM dms.upsert_document('sites', 'houses', '{"houseId": 1}') \gset
\echo :outcome
SELECT outcome FROM dms.update_document(:'document_uuid', '{"houseId": 1}');
SELECT outcome FROM dms.upsert_document('sites', 'visits', '{"placeReference": {"placeId": 1}, "day": "2025-01-31"}');
SELECT dms.delete_document(:'document_uuid');
INSERT INTO sites.house (documentid, houseid) VALUES (99, 99);
DELETE FROM dms.ReferenceEdge;
SELECT * FROM dms.IdentityLock;
SELECT * FROM dms.audit();
SELECT dms.deploy_schema(:'core', :'extra');

SET SESSION AUTHORIZATION regress_early;
SELECT dms.get_document(:'document_uuid') IS NOT NULL AS readable;
SELECT houseid FROM sites.house;
SELECT outcome FROM dms.upsert_document('sites', 'houses', '{"houseId": 2}');
SELECT dms.delete_document(:'document_uuid');
SET SESSION AUTHORIZATION regress_reader;
SELECT dms.get_document(:'document_uuid') IS NOT NULL AS readable;

-- An administrator acts for the owner, without being a member of that role.
SET SESSION AUTHORIZATION regress_admin;
SELECT dms.deploy_schema(:'core', :'extra') IS NOT NULL AS deployed;
SELECT count(*) FROM dms.audit();
SELECT dms.rebuild_edges();
SELECT dms.grant_access('regress_other', 'writer');
SELECT dms.grant_access('regress_owner', 'reader');
SELECT dms.grant_access('regress_owner', 'admin');
SELECT dms.grant_access('regress_unknown', 'reader');
SELECT dms.grant_access('regress_other', 'Writer');
DELETE FROM dms.ReferenceEdge;
SET ROLE regress_owner;

-- A role then has exactly its level, no more and no less.
SELECT * FROM dms.access_grants();
SELECT dms.grant_access('regress_other', 'reader');
SET SESSION AUTHORIZATION regress_other;
SELECT dms.get_document(:'document_uuid') IS NOT NULL AS readable;
SELECT outcome FROM dms.upsert_document('sites', 'houses', '{"houseId": 2}');
SET SESSION AUTHORIZATION regress_owner;
SELECT dms.grant_access('regress_other', 'none');
SELECT * FROM dms.access_grants();
SET SESSION AUTHORIZATION regress_other;
SELECT dms.get_document(:'document_uuid') IS NOT NULL AS readable;
SELECT * FROM sites.house;
RESET SESSION AUTHORIZATION;
DROP ROLE regress_other;

-- Row-level security applies to reads; writes do not depend on it.
SET SESSION AUTHORIZATION regress_owner;
ALTER TABLE sites.house ENABLE ROW LEVEL SECURITY;
ALTER TABLE sites.house FORCE ROW LEVEL SECURITY;
SET SESSION AUTHORIZATION regress_reader;
SELECT houseid FROM sites.house;
SET SESSION AUTHORIZATION regress_writer;
SELECT outcome FROM dms.upsert_document('sites', 'houses', '{"houseId": 1}');
SELECT outcome FROM dms.upsert_document('sites', 'houses', '{"houseId": 3}');
SET SESSION AUTHORIZATION regress_owner;
ALTER TABLE sites.house NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sites.house DISABLE ROW LEVEL SECURITY;

-- The owner's rights are used only if every core table belongs to the owner.
RESET SESSION AUTHORIZATION;
SELECT 'BEGIN', format('ALTER TABLE %s OWNER TO regress_nobody', oid::regclass),
	$$SELECT outcome FROM dms.upsert_document('sites', 'houses', '{"houseId": 4}')$$, 'ROLLBACK'
FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r' ORDER BY relname \gexec

\set VERBOSITY default
SELECT kind FROM dms.audit();
\c :home
DROP DATABASE regress_roles;
DROP ROLE regress_owner, regress_nobody, regress_early, regress_reader, regress_writer, regress_admin;
