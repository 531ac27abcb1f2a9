-- The role that owns the extension and the store, and has a level, has a name that would end a quoted
-- text.
-- expect: odd names may, too
-- expect: inserted
\set odd 'o''dd"$$; SELECT ''pwned as me'' --'
CREATE ROLE :"odd" LOGIN;
GRANT CREATE ON DATABASE :"DBNAME" TO :"odd";
SET SESSION AUTHORIZATION :"odd";
CREATE EXTENSION dms;
SELECT 'odd names may, too' FROM pg_proc WHERE proname = 'deploy_schema' AND has_function_privilege(oid, 'EXECUTE WITH GRANT OPTION');
SET client_min_messages = warning;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
RESET client_min_messages;
SELECT dms.grant_access(:'odd', 'admin'), dms.grant_access('writer', 'writer');
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
DROP EXTENSION dms;
DROP OWNED BY :"odd" CASCADE;
DROP ROLE :"odd";
