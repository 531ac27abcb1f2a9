-- Following the store: the journal of changes, deletes and changed keys, and the feed.
SET client_min_messages = warning;
\set home :DBNAME
DROP DATABASE IF EXISTS dms_changes;
DROP ROLE IF EXISTS regress_changes_reader;
CREATE ROLE regress_changes_reader;
CREATE DATABASE dms_changes TEMPLATE template0 ENCODING 'UTF8';
\c dms_changes
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/isolation.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT dms.grant_access('regress_changes_reader', 'reader');
\pset null (null)
\pset format unaligned
\set VERBOSITY terse
CREATE FUNCTION post(resource text, body json) RETURNS text LANGUAGE sql AS $$
	SELECT outcome || ' ' || etag FROM dms.upsert_document('isolation', resource, body)
$$;
CREATE FUNCTION put(document uuid, body json) RETURNS text LANGUAGE sql AS $$
	SELECT outcome || ' ' || etag FROM dms.update_document(document, body)
$$;
CREATE FUNCTION id_of(resource text, identity json) RETURNS uuid LANGUAGE sql AS $$
	SELECT dms.resolve('isolation', resource, identity)
$$;

-- A follower keeps its cursor, and shows what it has read: names of documents, keys, and
-- no ids and numbers, which are others in each run.
CREATE TABLE followed (follower text PRIMARY KEY, place text);
CREATE FUNCTION follow(name text, n int DEFAULT 1000) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	read record;
BEGIN
	INSERT INTO followed VALUES (name, NULL) ON CONFLICT DO NOTHING;
	FOR read IN SELECT * FROM dms.read_changes((SELECT place FROM followed WHERE follower = name), n) LOOP
		RETURN NEXT concat_ws(' ', read.kind, read.resource, read.etag,
			(read.document::jsonb - 'id' - '_etag' - '_lastModifiedDate')::text, read.old_key, read.new_key);
		UPDATE followed SET place = read.next_cursor WHERE follower = name;
	END LOOP;
END $$;
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE, SQLERRM, CASE WHEN SQLSTATE LIKE 'ZD%' THEN detail::json ->> 'detail' END, hint);
END $$;

--
-- The journal
--

-- One row for each etag, all changes of a transaction with one number, and numbers grow.
SELECT post('sessions', '{"sessionName": "S"}');
SELECT post('sessions', '{"sessionName": "S", "title": "one"}');
SELECT post('sessions', '{"sessionName": "S", "title": "one"}');
BEGIN;
SELECT post('sessions', '{"sessionName": "S", "title": "two"}');
SELECT post('offerings', '{"code": "A", "sessionReference": {"sessionName": "S"}}');
COMMIT;
SELECT t.ResourceName, j.DocumentId, j.Etag, dense_rank() OVER (ORDER BY j.ChangeVersion) AS number,
	j.ChangeVersion % 2 AS is_odd
FROM dms.DocumentChange AS j JOIN dms.ResourceType AS t USING (ResourceTypeId) ORDER BY DocumentId, Etag;

-- A change that is rolled back leaves nothing.
BEGIN;
SELECT post('sessions', '{"sessionName": "S", "title": "three"}');
ROLLBACK;
BEGIN;
SAVEPOINT here;
SELECT post('sessions', '{"sessionName": "S", "title": "three"}');
ROLLBACK TO here;
COMMIT;
SELECT count(*) FROM dms.DocumentChange;

-- Only rows with the etag of a document are of use.
SELECT dms.compact_changes();
SELECT DocumentId, Etag FROM dms.DocumentChange ORDER BY 1, 2;
SELECT * FROM dms.audit();

-- SQL of one's own uses the number of its transaction.
BEGIN;
UPDATE dms.Document SET Etag = Etag + 1 WHERE DocumentId = 1;
SELECT kind FROM dms.audit();
INSERT INTO dms.DocumentChange SELECT t.ResourceTypeId, dms.current_change_version(), d.DocumentId, d.Etag
FROM dms.Document AS d JOIN dms.ResourceType AS t USING (ProjectName, ResourceName) WHERE d.DocumentId = 1;
SELECT kind FROM dms.audit();
ROLLBACK;

-- What an audit finds in the journal, and its repair.
BEGIN;
DELETE FROM dms.DocumentChange WHERE DocumentId = 1;
INSERT INTO dms.DocumentChange SELECT ResourceTypeId, ChangeVersion - 2, DocumentId, Etag FROM dms.DocumentChange WHERE DocumentId = 2;
INSERT INTO dms.DocumentChange SELECT ResourceTypeId, ChangeVersion + 1000000, DocumentId, Etag + 1 FROM dms.DocumentChange WHERE DocumentId = 2;
SELECT DISTINCT kind, document_id FROM dms.audit() ORDER BY 1, 2;
SELECT DISTINCT kind, document_id FROM dms.audit('isolation', 'offerings') ORDER BY 1, 2;
SELECT DISTINCT kind, document_id FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 1)) ORDER BY 1, 2;
SELECT * FROM dms.repair();
SELECT * FROM dms.audit();
ROLLBACK;

--
-- Deletes and changes of keys
--

-- A rename changes the keys of all documents that have it in theirs, and only those.
SELECT post('kindDescriptors', '{"namespace": "uri://isolation", "codeValue": "K", "shortDescription": "K"}');
SELECT put(id_of('sessions', '{"sessionName": "S"}'), '{"sessionName": "T", "title": "two"}');
SELECT t.ResourceName, c.Kind, c.Etag, c.OldKey, c.NewKey, c.OldReferentialId IS NOT NULL AS has_id,
	c.ChangeVersion % 2 AS is_odd, c.Etag = d.Etag AS fits
FROM dms.TrackedChange AS c JOIN dms.ResourceType AS t USING (ResourceTypeId) JOIN dms.Document AS d USING (DocumentId)
ORDER BY DocumentId;
SELECT key.old_key_values, key.new_key_values FROM dms.changed_keys('isolation', 'sessions') AS key;
SELECT key.old_key_values, key.new_key_values FROM dms.changed_keys('isolation', 'offerings') AS key;

-- There and back again is no change; two changes in a row are one.
SELECT put(id_of('sessions', '{"sessionName": "T"}'), '{"sessionName": "U"}');
SELECT key.old_key_values, key.new_key_values FROM dms.changed_keys('isolation', 'sessions') AS key;
SELECT put(id_of('sessions', '{"sessionName": "U"}'), '{"sessionName": "S"}');
SELECT count(*) FROM dms.changed_keys('isolation', 'sessions');

-- Deletes, by the function and by plain SQL, of several types at once.
SELECT dms.delete_document(id_of('kindDescriptors', '{"descriptor": "uri://isolation#K"}'));
DELETE FROM dms.Document WHERE DocumentId IN (SELECT DocumentId FROM dms.Document WHERE ResourceName IN ('Session', 'Offering'));
SELECT t.ResourceName, c.Etag, c.OldKey, c.NewKey, c.OldReferentialId IS NOT NULL AS has_id
FROM dms.TrackedChange AS c JOIN dms.ResourceType AS t USING (ResourceTypeId) WHERE Kind = 'D' ORDER BY DocumentId;
SELECT d.key_values FROM dms.deleted_documents('isolation', 'offerings') AS d;

-- A document that exists again is not deleted.
SELECT post('sessions', '{"sessionName": "S"}');
SELECT count(*) FROM dms.deleted_documents('isolation', 'sessions');

-- Subclasses have two ReferentialIds.
SELECT post('schools', '{"schoolId": 1}');
SELECT dms.delete_document(id_of('schools', '{"schoolId": 1}'));
SELECT c.OldKey, c.OldReferentialId <> c.OldAliasId AS has_alias
FROM dms.TrackedChange AS c JOIN dms.ResourceType AS t USING (ResourceTypeId) WHERE t.ResourceName = 'School';

--
-- Windows
--

SELECT newest AS before FROM dms.available_change_versions() \gset
SELECT post('sessions', '{"sessionName": "W1"}');
SELECT post('sessions', '{"sessionName": "W2"}');
SELECT newest AS middle FROM dms.available_change_versions() \gset
SELECT post('sessions', '{"sessionName": "W1", "title": "later"}');
SELECT newest AS after FROM dms.available_change_versions() \gset
SELECT :before < :middle AS grows, :middle < :after AS grows_again;
-- A document is where its last change is.
SELECT c.document ->> 'sessionName' AS name FROM dms.changed_documents('isolation', 'sessions', :before + 1, :middle) AS c;
SELECT c.document ->> 'sessionName' AS name FROM dms.changed_documents('isolation', 'sessions', :before + 1, :after) AS c;
SELECT c.document ->> 'sessionName' AS name FROM dms.changed_documents('isolation', 'sessions', :middle + 1) AS c;
-- Pages.
SELECT c.change_version, c.document_id FROM dms.changed_documents('isolation', 'sessions', :before + 1, page_limit => 1) AS c \gset page_
SELECT c.document ->> 'sessionName' AS name
FROM dms.changed_documents('isolation', 'sessions', :before + 1, after_version => :page_change_version, after_document_id => :page_document_id) AS c;
SELECT count(*) FROM dms.deleted_documents('isolation', 'offerings', page_limit => 1, page_offset => 1);
-- A document that takes the key of a deleted one hides the delete from then on, not
-- from windows before, whose clients may never hear that it had that key.
SELECT post('sessions', '{"sessionName": "Taken"}');
SELECT dms.delete_document(id_of('sessions', '{"sessionName": "Taken"}'));
SELECT newest AS gone FROM dms.available_change_versions() \gset
SELECT put(id_of('sessions', '{"sessionName": "W2"}'), '{"sessionName": "Taken"}');
SELECT count(*) FILTER (WHERE w = :gone) AS before, count(*) FILTER (WHERE w <> :gone) AS then
FROM dms.available_change_versions(), unnest(ARRAY[:gone, newest]) AS w, dms.deleted_documents('isolation', 'sessions', :after + 1, w);
SELECT put(id_of('sessions', '{"sessionName": "Taken"}'), '{"sessionName": "W2"}');
SELECT key_values FROM dms.deleted_documents('isolation', 'sessions', :after + 1);
SELECT newest AS after FROM dms.available_change_versions() \gset
-- A change that is not committed is not among the newest.
BEGIN;
SELECT post('sessions', '{"sessionName": "W3"}');
SELECT newest >= :after AS not_lower, dms.current_change_version() > newest AS own_is_newer FROM dms.available_change_versions();
SELECT count(*) FROM dms.changed_documents('isolation', 'sessions', :after + 1);
ROLLBACK;
SELECT oldest FROM dms.available_change_versions();
SELECT count(*) AS blockers FROM dms.change_blockers() AS b WHERE b.database <> current_database();

--
-- The feed
--

-- Without a cursor: all documents, those that are referred to first.
SELECT * FROM follow('a');
SELECT * FROM follow('a');
SELECT post('offerings', '{"code": "A", "sessionReference": {"sessionName": "S"}}');
SELECT * FROM follow('a');
-- A rename: keys first, then all that reads otherwise.
SELECT put(id_of('sessions', '{"sessionName": "S"}'), '{"sessionName": "R"}');
SELECT * FROM follow('a');
-- Deletes last, those that refer to others first.
DELETE FROM dms.Document WHERE DocumentId IN (SELECT DocumentId FROM isolation.offering UNION SELECT DocumentId FROM isolation.session WHERE SessionName = 'R');
SELECT * FROM follow('a');
-- Row by row.
SELECT * FROM follow('b', 1);
SELECT * FROM follow('b', 1);
SELECT * FROM follow('b', 1);
-- What changes in the middle of a pass is in the next one.
SELECT post('sessions', '{"sessionName": "W1", "title": "again"}');
SELECT post('sessions', '{"sessionName": "W2", "title": "again"}');
SELECT * FROM follow('a', 1);
SELECT post('sessions', '{"sessionName": "W1", "title": "and again"}');
SELECT * FROM follow('a', 1);
SELECT * FROM follow('a', 1);
SELECT * FROM follow('a', 1);
-- Changes of the own transaction are delivered once it has committed.
BEGIN;
SELECT post('sessions', '{"sessionName": "W2", "title": "mine"}');
SELECT * FROM follow('c');
COMMIT;
SELECT * FROM follow('c');
-- Without documents.
SELECT kind, resource, etag, document IS NULL AS empty FROM dms.read_changes(with_documents => false) WHERE kind <> 'end';

-- Bad arguments.
SELECT told($$SELECT * FROM dms.read_changes('x')$$);
SELECT told($$SELECT * FROM dms.read_changes('1.0.0.1.0.5:4:')$$);
SELECT told($$SELECT * FROM dms.read_changes('1.0.0.1.0.1:2:')$$);
SELECT told($$SELECT * FROM dms.read_changes('1.0.0.1.0.1:9:3,2')$$);
SELECT told($$SELECT dms.read_changes(place || '.1') FROM followed WHERE follower = 'a'$$);
SELECT told($$SELECT * FROM dms.read_changes(NULL, 0)$$);
SELECT told($$SELECT * FROM dms.read_changes(NULL, 1, NULL)$$);
SELECT told($$SELECT * FROM dms.changed_documents('isolation', NULL)$$);
SELECT told($$SELECT * FROM dms.changed_documents('isolation', 'organizations')$$);
SELECT told($$SELECT * FROM dms.changed_documents('isolation', 'sessions', after_version => 1)$$);
SELECT told($$SELECT * FROM dms.deleted_documents('isolation', 'sessions', page_offset => -1)$$);
SELECT told($$SELECT * FROM dms.deleted_documents('isolation', 'sessions', page_limit => -1)$$);
SELECT told($$SELECT dms.skip_change_versions(0)$$);
SELECT told($$SELECT dms.skip_change_versions(9223372036854775807)$$);

--
-- Rights
--

SELECT post('sessions', '{"sessionName": "Hidden"}');
SELECT post('offerings', '{"code": "H", "sessionReference": {"sessionName": "Hidden"}}');
SELECT put(id_of('sessions', '{"sessionName": "Hidden"}'), '{"sessionName": "Hidden too"}');
SELECT newest AS then FROM dms.available_change_versions() \gset
SELECT place AS mark FROM followed WHERE follower = 'c' \gset
DELETE FROM dms.Document WHERE DocumentId IN (SELECT DocumentId FROM isolation.offering);
-- A reader may read keys,
SET ROLE regress_changes_reader;
SELECT count(*) FROM dms.TrackedChange;
SELECT kind, resource, old_key FROM dms.read_changes(:'mark') WHERE kind IN ('key', 'delete');
SELECT key_values FROM dms.deleted_documents('isolation', 'offerings', :then);
SELECT old_key_values FROM dms.changed_keys('isolation', 'sessions') AS k WHERE new_key_values ->> 'sessionName' LIKE 'Hidden%';
RESET ROLE;
-- unless a policy may hide one of the documents that they are of, or come from.
ALTER TABLE isolation.session ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON isolation.session USING (SessionName NOT LIKE 'Hidden%');
SET ROLE regress_changes_reader;
SELECT kind, resource, old_key, new_key FROM dms.read_changes(:'mark') WHERE kind IN ('key', 'delete');
SELECT document ->> 'sessionName' AS name FROM dms.read_changes() WHERE resource = 'Session';
SELECT count(*) FROM dms.read_changes(with_documents => false) WHERE resource = 'Session';
SELECT count(*) FROM dms.changed_documents('isolation', 'sessions');
SELECT count(*) FROM dms.deleted_documents('isolation', 'offerings');
SELECT count(*) FROM dms.changed_keys('isolation', 'sessions');
SELECT told('SELECT dms.compact_changes()');
SELECT told('SELECT dms.current_change_version()');
SELECT told('SELECT dms.purge_tracked_changes(interval ''0'')');
RESET ROLE;
DROP POLICY visible ON isolation.session;
ALTER TABLE isolation.session DISABLE ROW LEVEL SECURITY;

--
-- What is forgotten, and who must begin anew
--

SELECT count(*) > 0 AS read FROM follow('late');
SELECT post('sessions', '{"sessionName": "P"}');
SELECT dms.delete_document(id_of('sessions', '{"sessionName": "P"}'));
SELECT dms.purge_tracked_changes(interval '1 hour');
SELECT dms.purge_tracked_changes(interval '0') > 0 AS purged;
SELECT oldest > 0 AS some_are_gone, newest >= oldest AS newer FROM dms.available_change_versions();
SELECT told($$SELECT follow('late')$$);
UPDATE followed SET place = NULL;
SELECT count(*) > 0 AS read FROM follow('late');
SELECT * FROM follow('late');

-- TRUNCATE deletes without records.
TRUNCATE dms.Document;
SELECT told($$SELECT follow('late')$$);
UPDATE followed SET place = NULL;
SELECT * FROM follow('late');
SELECT post('sessions', '{"sessionName": "New"}');
SELECT * FROM follow('late');

-- Numbers jump, and nobody misses one.
SELECT newest AS before FROM dms.available_change_versions() \gset
SELECT dms.skip_change_versions(1000) >= :before + 1000 AS jumped;
SELECT newest >= :before + 1000 AS jumped FROM dms.available_change_versions();
SELECT told($$SELECT follow('late')$$);
UPDATE followed SET place = NULL;
SELECT * FROM follow('late');
SELECT post('sessions', '{"sessionName": "Newer"}');
SELECT document ->> 'sessionName' AS name FROM dms.changed_documents('isolation', 'sessions', :before + 1001);
SELECT * FROM follow('late');
SELECT * FROM dms.audit();

-- A copy on another server has no numbers until it is written to.
UPDATE dms.Store SET ChangeSystem = 1, Generation = Generation + 1;
\c
SET client_min_messages = warning;
SELECT newest FROM dms.available_change_versions();
SELECT told('SELECT * FROM dms.read_changes()');
SELECT told('TRUNCATE dms.Document');
SELECT told('DELETE FROM dms.Document');
SELECT * FROM dms.audit();
SELECT max(ChangeVersion) AS highest FROM dms.DocumentChange \gset
SELECT post('sessions', '{"sessionName": "Here"}');
SELECT count(*) AS above FROM dms.DocumentChange WHERE ChangeVersion > :highest;
SELECT newest > :highest AS newer FROM dms.available_change_versions();
SELECT told($$SELECT follow('late')$$);
SELECT * FROM dms.audit();

--
-- Off, and on again
--

SELECT dms.set_change_tracking(false);
SELECT post('sessions', '{"sessionName": "Off"}');
SELECT dms.delete_document(id_of('sessions', '{"sessionName": "Here"}'));
SELECT (SELECT count(*) FROM dms.DocumentChange) AS changes, (SELECT count(*) FROM dms.TrackedChange) AS tracked;
SELECT told('SELECT * FROM dms.read_changes()');
SELECT told('SELECT * FROM dms.available_change_versions()');
SELECT told($$SELECT * FROM dms.deleted_documents('isolation', 'sessions')$$);
SELECT told('SELECT dms.current_change_version()');
SELECT * FROM dms.audit();
SELECT dms.set_change_tracking(false);
SELECT dms.set_change_tracking(true);
SELECT told('SELECT dms.set_change_tracking(NULL)');
SELECT * FROM dms.audit();
SELECT told($$SELECT follow('late')$$);
UPDATE followed SET place = NULL;
SELECT * FROM follow('late');
SELECT dms.delete_document(id_of('sessions', '{"sessionName": "Off"}'));
SELECT * FROM follow('late');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'dms.Document'::regclass ORDER BY tgname;

\c :home
DROP DATABASE dms_changes;
DROP ROLE regress_changes_reader;
