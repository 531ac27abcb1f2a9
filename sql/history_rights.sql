-- Who may not read a document may not read its versions.  For each function: without
-- EXECUTE, without SELECT on a table of the resource, and with row-level security.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_history_rights;
CREATE DATABASE dms_history_rights TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_history_rights
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/cascade.json
\set schema `cat :'file'`
\set VERBOSITY terse
CREATE ROLE regress_history_owner;
CREATE ROLE regress_history_reader;
CREATE ROLE regress_history_writer;
CREATE ROLE regress_history_admin;
CREATE ROLE regress_history_nobody;
GRANT CREATE ON DATABASE dms_history_rights TO regress_history_owner;
ALTER SCHEMA dms OWNER TO regress_history_owner;
SELECT dms.grant_access('regress_history_owner', 'admin');
SET ROLE regress_history_owner;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
RESET ROLE;
SELECT dms.grant_access('regress_history_reader', 'reader');
SELECT dms.grant_access('regress_history_writer', 'writer');
SELECT dms.grant_access('regress_history_admin', 'admin');
GRANT USAGE ON SCHEMA dms TO regress_history_nobody;
\pset null (null)

SELECT count(dms.configure_resource('Cascade', resource, '{"history": true}')) FROM unnest(ARRAY['School', 'Session', 'Note']) AS resource;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "East"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Fall"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Offering', '{"localCode": "A", "schoolReference": {"schoolId": 10}, "sessionReference": {"schoolId": 10, "sessionName": "Fall"}}');

-- Notes 1 and 2 exist, note 3 was deleted.  Each had an offering, in a table of its own, in
-- its first version only.
CREATE FUNCTION note(n int) RETURNS uuid LANGUAGE sql AS $$
	SELECT document_uuid FROM dms.upsert_document('Cascade', 'Note', json_build_object('noteId', n, 'schoolReference', json_build_object('schoolId', 10),
		'offerings', json_build_array(json_build_object('offeringReference', json_build_object('localCode', 'A', 'schoolId', 10, 'sessionName', 'Fall')))))
$$;
CREATE TABLE kept AS SELECT n, note(n) AS id FROM generate_series(1, 3) AS n;
GRANT SELECT ON kept TO PUBLIC;
SELECT count(dms.update_document(id, json_build_object('noteId', n))) FROM kept;
SELECT dms.delete_document(id) FROM kept WHERE n = 3;

-- What the current role gets from each function: the note, its first version, and that of
-- now; the number of its versions; what changed, and how often; what a cache keeps; and the
-- resources of the statistics.
CREATE FUNCTION answer(call text, id uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE call INTO result USING id;
	RETURN COALESCE(result, '-');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE VIEW answers AS
SELECT n,
	answer($$SELECT CASE WHEN dms.get_document($1) IS NOT NULL THEN 'text' END$$, id) AS current,
	answer($$SELECT CASE WHEN dms.get_document($1, version => 1)::text LIKE '%offering%' THEN 'all of it' ELSE dms.get_document($1, version => 1)::text END$$, id) AS first,
	answer($$SELECT CASE WHEN dms.get_document($1, as_of => clock_timestamp()) IS NOT NULL THEN 'text' END$$, id) AS as_of,
	answer($$SELECT count(*) FROM dms.list_versions($1)$$, id) AS listed,
	answer($$SELECT CASE WHEN dms.diff_versions($1, 1, 2)::text LIKE '%offering%' THEN 'all of it' ELSE dms.diff_versions($1, 1, 2)::text END$$, id) AS diff,
	answer($$SELECT count(*) FROM dms.change_log($1)$$, id) AS log,
	answer($$SELECT CASE WHEN dms.latest_version($1) IS NOT NULL THEN 'text' END$$, id) AS latest,
	answer($$SELECT string_agg(resource, ' ' ORDER BY resource) FROM dms.history_stats()$$, id) AS stats,
	answer($$SELECT count(*) FROM dms.DocumentVersion WHERE DocumentUuid = $1$$, id) AS raw
FROM kept ORDER BY n;
GRANT SELECT ON answers TO PUBLIC;
GRANT EXECUTE ON FUNCTION answer TO PUBLIC;
ALTER VIEW answers SET (security_invoker = true);

-- Readers read versions, those of deleted documents included, but not the table itself.
-- Administrators read all, and a role without a level nothing.
SET ROLE regress_history_reader;
SELECT * FROM answers;
SET ROLE regress_history_admin;
SELECT * FROM answers;
SET ROLE regress_history_nobody;
SELECT * FROM answers;
RESET ROLE;

-- Without SELECT on any of the tables that a document is read from, its versions cannot
-- be read: the root, a collection, a table with the identity of a reference.
BEGIN;
REVOKE SELECT ON cascade.note FROM regress_history_reader;
SET ROLE regress_history_reader;
SELECT * FROM answers;
ROLLBACK;
SELECT format('%I.%I', t ->> 'schema', t ->> 'name') AS collection
FROM dms.ResourceModel, json_array_elements(Model -> 'tables') AS t WHERE ResourceName = 'Note' OFFSET 1 LIMIT 1 \gset
BEGIN;
REVOKE SELECT ON :collection FROM regress_history_reader;
SET ROLE regress_history_reader;
SELECT * FROM answers;
ROLLBACK;
BEGIN;
REVOKE SELECT ON cascade.offering FROM regress_history_reader;
SET ROLE regress_history_reader;
SELECT * FROM answers;
ROLLBACK;

-- A policy on the root hides versions together with the document.  Of a deleted one there
-- is no row to look at.
BEGIN;
ALTER TABLE cascade.note ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON cascade.note TO regress_history_reader USING (noteid = 1);
SET ROLE regress_history_reader;
SELECT * FROM answers;
SET ROLE regress_history_admin;
SELECT * FROM answers;
ROLLBACK;
-- A policy on dms.Document does the same.
BEGIN;
ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON dms.Document TO regress_history_reader USING (DocumentUuid = (SELECT id FROM kept WHERE n = 1));
SET ROLE regress_history_reader;
SELECT * FROM answers;
ROLLBACK;
-- Where a policy hides rows of a collection, a version would show them.
BEGIN;
ALTER TABLE :collection ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON :collection TO regress_history_reader USING (false);
SET ROLE regress_history_reader;
SELECT * FROM answers;
ROLLBACK;
-- Policies that are forced bind the owner of the tables, too.
BEGIN;
ALTER TABLE cascade.note ENABLE ROW LEVEL SECURITY;
ALTER TABLE cascade.note FORCE ROW LEVEL SECURITY;
SET ROLE regress_history_owner;
SELECT * FROM answers;
ROLLBACK;

-- An administrator whom a policy keeps from versions is asked like a reader.
BEGIN;
ALTER TABLE dms.DocumentVersion ENABLE ROW LEVEL SECURITY;
ALTER TABLE cascade.note ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON cascade.note USING (noteid = 1);
SET ROLE regress_history_admin;
SELECT * FROM answers;
ROLLBACK;

-- Versions can be for administrators only.  Then only they restore them, because what is
-- restored can be read by all readers.
SELECT dms.configure_resource('Cascade', 'Note', '{"historyLevel": "admin"}');
SET ROLE regress_history_reader;
SELECT * FROM answers;
SET ROLE regress_history_writer;
SELECT n, answer('SELECT outcome FROM dms.restore_document($1, 1)', id) AS restore FROM kept ORDER BY n;
SET ROLE regress_history_admin;
SELECT * FROM answers;
BEGIN;
SELECT n, answer('SELECT outcome FROM dms.restore_document($1, 1)', id) AS restore FROM kept ORDER BY n;
ROLLBACK;
RESET ROLE;
SELECT dms.configure_resource('Cascade', 'Note', '{"historyLevel": null}');

-- Restoring is writing; purging, erasing and beginning a history are for administrators.
-- None of them needs a right on a table.
CREATE VIEW changes AS
SELECT answer($$SELECT outcome FROM dms.restore_document($1, 1)$$, id) AS restore,
	answer($$SELECT dms.purge_history()$$, id) AS purge, answer($$SELECT dms.erase_history($1)$$, id) AS erase,
	answer($$SELECT written FROM dms_internal.write_baseline('Cascade', 'Note', 0, false)$$, id) AS baseline,
	answer($$SELECT dms.configure_resource('Cascade', 'Note', '{}')$$, id) AS configure,
	answer($$SELECT count(*) FROM dms.plan_resource('Cascade', 'Note', '{"history": false}')$$, id) AS plan,
	answer($$DELETE FROM dms.DocumentVersion RETURNING 'deleted'$$, id) AS raw
FROM kept WHERE n = 1;
GRANT SELECT ON changes TO PUBLIC;
ALTER VIEW changes SET (security_invoker = true);
BEGIN;
SET LOCAL ROLE regress_history_reader;
SELECT * FROM changes;
ROLLBACK;
BEGIN;
SET LOCAL ROLE regress_history_writer;
SELECT * FROM changes;
ROLLBACK;
BEGIN;
SET LOCAL ROLE regress_history_admin;
SELECT * FROM changes;
ROLLBACK;
SET ROLE regress_history_admin;
CALL dms.baseline_history('Cascade', 'Note');
SET ROLE regress_history_writer;
CALL dms.baseline_history('Cascade', 'Note');
-- Nobody but a superuser says that versions may be deleted.
SET dms.purging = on;
SET ROLE regress_history_owner;
SET dms.purging = on;
DELETE FROM dms.DocumentVersion;
RESET ROLE;
-- Nor before the library is loaded, when a setting of this name is anybody's.
\c
SET ROLE regress_history_owner;
SET dms.purging = on;
DELETE FROM dms.DocumentVersion;
RESET ROLE;

\c :home
DROP DATABASE dms_history_rights;
DROP ROLE regress_history_owner, regress_history_reader, regress_history_writer, regress_history_admin, regress_history_nobody;
