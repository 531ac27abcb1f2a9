-- Only superusers can change settings that protect the store, and only its administrators the options of
-- the store.  A writer or the owner of the database can change neither, in any way.
-- expect: [writer x5] ERROR:  42501: permission denied to set parameter "dms\.
-- expect: [writer x1] ERROR:  42501: permission denied for function configure_store
-- expect: [writer x2] ERROR:  42501: permission denied for table store
-- expect: [before the library is loaded x1] WARNING:  42501: permission denied to set parameter "dms.max_cascade_size"
-- expect: [before the library is loaded x1] ^0 off 1d 1min$
-- expect: [for later sessions x4] ERROR:  42501: permission denied to set parameter "dms\.
-- expect: [owner of the database x2] ERROR:  42501: permission denied for schema dms
-- expect: [what holds] ERROR:  54000
-- never: ^renamed$
CREATE EXTENSION dms;
SET client_min_messages = warning;
ALTER SCHEMA dms OWNER TO dep;
GRANT CREATE ON DATABASE :"DBNAME" TO dep;
SELECT dms.grant_access('dep', 'admin');
SET ROLE dep;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT dms.grant_access('writer', 'writer');
SELECT dms.configure_store('{"maxCascadeSize": 1}') IS NOT NULL AS limited;
RESET ROLE;
\c - dep
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "One"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"sessionName": "S1", "schoolReference": {"schoolId": 1}}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"sessionName": "S2", "schoolReference": {"schoolId": 1}}');
SELECT dms.resolve('Cascade', 'School', '{"schoolId": 1}') AS school \gset

\echo =writer=
\c - writer
SELECT dms.count_documents('Cascade', 'School');
SET dms.max_cascade_size = 0;
SET dms.verify_edges = off;
SET dms.idempotency_ttl = '10000d';
SELECT set_config('dms.idempotency_lease', '1', false);
SET dms.direct_access = off;
SELECT dms.configure_store('{"maxCascadeSize": 0}');
UPDATE dms.Store SET MaxCascadeSize = NULL;
SELECT Generation FROM dms.Store FOR UPDATE;

-- A value that was set before the library is loaded is checked, too.
\echo =before the library is loaded=
\c - writer
SET dms.max_cascade_size = 1000;
SELECT dms.count_documents('Cascade', 'School');
SELECT concat_ws(' ', current_setting('dms.max_cascade_size'), current_setting('dms.verify_edges'),
	current_setting('dms.idempotency_ttl'), current_setting('dms.idempotency_lease'));

\echo =for later sessions=
ALTER ROLE writer SET dms.max_cascade_size = 0;
ALTER ROLE writer SET dms.verify_edges = off;
\c - dbo
ALTER DATABASE :"DBNAME" SET dms.max_cascade_size = 0;
ALTER DATABASE :"DBNAME" SET dms.idempotency_lease = 1;

\echo =owner of the database=
SELECT dms.configure_store('{"maxCascadeSize": 0}');
UPDATE dms.Store SET MaxCascadeSize = NULL;

\echo =what holds=
\c - writer
SELECT 'renamed' FROM dms.update_document(:'school', json_build_object('id', :'school', 'schoolId', 2, 'name', 'Two'));
