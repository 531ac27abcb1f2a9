-- A session that has cached everything notices changes.  One session runs the whole script.
-- expect: [renamed] ERROR:  55000: the schema of the extension is called "dmsx"
-- expect: [replaced x3] ERROR:  55000: the schema of the extension is called "dmsx"
-- expect: [back] ^updated$
-- expect: [table] ERROR:  55000: table "dms.identitylock" belongs to role "mallory", and not to the store's owner "dbo"
-- expect: [schema] ERROR:  55000: schema "cascade" belongs to role "mallory", which does not have the rights of the store's owner
-- expect: [member] ^updated$
-- expect: [no member] ERROR:  55000: schema "cascade" belongs to role "mallory", which does not have the rights of the store's owner
-- expect: [superuser] ^updated$
-- expect: [no superuser] ERROR:  55000: schema "cascade" belongs to role "mallory", which does not have the rights of the store's owner
-- expect: [role renamed] ^updated$
-- expect: [extension created anew] ^updated$
-- expect: [no extension] ERROR:  3F000|ERROR:  42883
-- expect: [rolled back] ^updated$
\ir lib/store.sql
\c - postgres
\set attempt 'SET SESSION AUTHORIZATION writer; SELECT outcome FROM dms.upsert_document(''Cascade'', ''School'', json_build_object(''schoolId'', 1, ''name'', left(clock_timestamp()::text, 26))); RESET SESSION AUTHORIZATION;'
:attempt
\echo =renamed=
SET SESSION AUTHORIZATION dbo;
ALTER SCHEMA dms RENAME TO dmsx;
RESET SESSION AUTHORIZATION;
SELECT outcome FROM dmsx.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "Two"}');
\echo =replaced=
SET SESSION AUTHORIZATION dbo;
CREATE SCHEMA dms;
CREATE TABLE dms.document AS SELECT * FROM dmsx.document;
RESET SESSION AUTHORIZATION;
SELECT outcome FROM dmsx.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "Two"}');
SELECT dmsx.get_document(dmsx.uuid_v7());
SELECT (dmsx.handle_request('DELETE', '/cascade/schools/' || dmsx.uuid_v7())).status;
\echo =back=
DROP SCHEMA dms CASCADE;
ALTER SCHEMA dmsx RENAME TO dms;
:attempt
\echo =table=
ALTER TABLE dms.identitylock OWNER TO mallory;
:attempt
RESET SESSION AUTHORIZATION;
ALTER TABLE dms.identitylock OWNER TO dbo;
\echo =schema=
ALTER SCHEMA cascade OWNER TO mallory;
GRANT ALL ON SCHEMA cascade TO dbo;
:attempt
RESET SESSION AUTHORIZATION;
\echo =member=
GRANT dbo TO mallory;
:attempt
\echo =no member=
REVOKE dbo FROM mallory;
:attempt
RESET SESSION AUTHORIZATION;
\echo =superuser=
ALTER ROLE mallory SUPERUSER;
:attempt
\echo =no superuser=
ALTER ROLE mallory NOSUPERUSER;
:attempt
RESET SESSION AUTHORIZATION;
ALTER SCHEMA cascade OWNER TO dbo;
\echo =role renamed=
ALTER ROLE dbo RENAME TO somebody_else;
:attempt
ALTER ROLE somebody_else RENAME TO dbo;
\echo =no extension=
DROP EXTENSION dms;
:attempt
RESET SESSION AUTHORIZATION;
\echo =extension created anew=
CREATE EXTENSION dms;
SELECT dms.grant_access('writer', 'writer');
:attempt
\echo =rolled back=
BEGIN;
ALTER TABLE cascade.school OWNER TO mallory;
ROLLBACK;
:attempt
