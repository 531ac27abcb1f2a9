-- Every version of a document is kept, for resources that have the option "history".
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_history;
CREATE DATABASE dms_history TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_history
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/isolation.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\pset null (null)
\set VERBOSITY terse
CREATE FUNCTION put(document uuid, body json) RETURNS text LANGUAGE sql AS $$
	SELECT outcome || ' ' || etag FROM dms.update_document(document, body)
$$;
CREATE FUNCTION versions(document uuid) RETURNS TABLE (version bigint, kind text, created_by text, is_current boolean, content jsonb)
LANGUAGE sql AS $$
	SELECT version, kind, created_by, is_current, dms.get_document(document, version)::jsonb - 'id' - '_etag' - '_lastModifiedDate'
	FROM dms.list_versions(document) ORDER BY version
$$;

CREATE FUNCTION refused(document uuid, version bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.restore_document(document, version);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || replace(SQLERRM, document::text, '(id)');
END $$;

-- A document that was there before has no history.  The current version is read from
-- its tables; there are no others.
SELECT document_uuid AS early FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "Early", "title": "before"}') \gset
SELECT put(:'early', '{"sessionName": "Early", "title": "still before"}');
SELECT dms.get_document(:'early', version => 2)::text = dms.get_document(:'early')::text AS current, dms.get_document(:'early', version => 1) AS first;
SELECT count(*) AS versions FROM dms.list_versions(:'early');
SELECT dms.get_document(:'early', as_of => now()) AS as_of;

-- Switching it on creates a trigger that records deleted documents.  A plan shows it.
SELECT * FROM dms.plan_resource('isolation', 'sessions', '{"history": true}');
SELECT dms.configure_resource('isolation', 'sessions', '{"history": true}');
SELECT dms.configure_resource('isolation', 'offerings', '{"history": true}');
SELECT * FROM dms.plan_resource('isolation', 'offerings', '{"history": false}');
SELECT * FROM dms.plan_resource('isolation', 'schools', '{"history": true}');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'dms.Document'::regclass AND tgname = 'document_history';

-- Each write that changes something writes a version, whose number is the etag.  Who:
-- the user of the application, or the role that connected.
SELECT document_uuid AS session FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "S", "title": "one"}') \gset
SELECT document_uuid AS offering FROM dms.upsert_document('isolation', 'offerings', '{"code": "O", "sessionReference": {"sessionName": "S"}}') \gset
SELECT put(:'session', '{"sessionName": "S", "title": "one"}');
SET dms."user" = 'ada';
SELECT put(:'session', '{"sessionName": "S", "title": "two"}');
RESET dms."user";
SELECT outcome FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "S", "title": "three"}');
-- The document itself knows who created it, with or without a history, if the application
-- tells; nothing else changes that.
SET dms."user" = 'ada';
SELECT document_uuid AS school FROM dms.upsert_document('isolation', 'schools', '{"schoolId": 77}') \gset
SELECT document_uuid AS gone FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "gone"}') \gset
SET dms."user" = 'bob';
SELECT dms.delete_document(:'gone');
SELECT outcome FROM dms.restore_document(:'gone', 1);
RESET dms."user";
SELECT DocumentUuid = :'session' AS session, DocumentUuid = :'school' AS school, DocumentUuid = :'gone' AS restored, CreatedBy
FROM dms.Document WHERE DocumentUuid IN (:'session', :'school', :'gone') ORDER BY DocumentId;
SELECT dms.delete_document(:'school'), dms.delete_document(:'gone');
SELECT version, kind, replace(created_by, session_user, 'the session''s user') AS created_by, is_current, content FROM versions(:'session');

-- A refused write and one that is rolled back leave none.
SELECT dms.update_document(:'session', '{"sessionName": "S", "title": 7}');
SELECT dms.update_document(:'session', '{"sessionName": "S", "title": "never"}', if_match => 1);
BEGIN;
SELECT put(:'session', '{"sessionName": "S", "title": "rolled back"}');
ROLLBACK;
BEGIN;
SAVEPOINT before;
SELECT put(:'session', '{"sessionName": "S", "title": "rolled back"}');
ROLLBACK TO before;
COMMIT;
SELECT count(*) AS versions FROM dms.list_versions(:'session');

-- A change of identity reaches documents that refer to it: they get versions, too.
SELECT put(:'session', '{"sessionName": "T", "title": "three"}');
SELECT version, kind, is_current, content FROM versions(:'offering');
-- So do all documents of one call.
SELECT outcome, etag FROM dms.update_documents(ARRAY[:'session', :'offering']::uuid[], ARRAY[
	'{"sessionName": "S", "title": "four"}', '{"code": "O", "title": "both", "sessionReference": {"sessionName": "S"}}']::json[]);
SELECT 'session' AS which, version, kind, content FROM versions(:'session') WHERE version > 3
UNION ALL SELECT 'offering', version, kind, content FROM versions(:'offering') WHERE version > 1;

-- The text is that of the document, byte by byte.  Times are those of the document,
-- and never fall.
SELECT count(*) AS documents, bool_and(dms.get_document(d.DocumentUuid)::text = v.Content::text) AS same_text,
	bool_and(v.CreatedAt = d.LastModifiedAt) AS same_time
FROM dms.Document AS d JOIN dms.DocumentVersion AS v ON (v.DocumentUuid, v.VersionNumber) = (d.DocumentUuid, d.Etag);
SELECT count(*) AS earlier FROM dms.DocumentVersion AS v JOIN dms.DocumentVersion AS w
ON w.DocumentUuid = v.DocumentUuid AND w.VersionNumber > v.VersionNumber AND w.CreatedAt < v.CreatedAt;

-- As of a time: the last version up to then.
SELECT version, dms.get_document(:'session', as_of => created_at)::text = dms.get_document(:'session', version => version)::text AS exact,
	dms.get_document(:'session', as_of => created_at - interval '1 microsecond')::jsonb ->> '_etag' AS just_before
FROM dms.list_versions(:'session') ORDER BY version;
SELECT dms.get_document(:'session', as_of => 'infinity')::text = dms.get_document(:'session')::text AS at_the_end;

-- Lists are paged by the number before which they continue.
SELECT array_agg(version) FROM dms.list_versions(:'session', 2);
SELECT array_agg(version) FROM dms.list_versions(:'session', page_limit => 2, before => 4);
SELECT array_agg(version) FROM dms.list_versions(:'session', 0);
SELECT version, version_id = :'session' || '@' || version AS id, bytes = octet_length(dms.get_document(:'session', version)::text) AS bytes
FROM dms.list_versions(:'session', 2);
SELECT * FROM dms.list_versions(:'session', -1);
SELECT * FROM dms.list_versions(:'session', NULL);
SELECT * FROM dms.list_versions(NULL);
SELECT count(*) FROM dms.list_versions('00000000-0000-0000-0000-000000000000');
SELECT dms.get_document(:'session', version => 99) AS none, dms.get_document(:'session', version => -1) AS negative,
	dms.get_document('00000000-0000-0000-0000-000000000000', version => 1) AS nobody;

-- Restoring: the old text is a new version.
SELECT outcome, etag FROM dms.restore_document(:'session', 1);
SELECT version, kind, content FROM versions(:'session') WHERE version >= 5;
-- What is there already is unchanged.
SELECT outcome, etag FROM dms.restore_document(:'session', 1);
-- A name in the old text may not exist any more.
SELECT put(:'session', '{"sessionName": "U", "title": "one"}');
\set VERBOSITY default
SELECT outcome FROM dms.restore_document(:'offering', 1);
\set VERBOSITY terse
SELECT put(:'session', '{"sessionName": "S", "title": "one"}');
SELECT outcome, etag FROM dms.restore_document(:'offering', 1);
-- With if_match, only if the document has that etag.
SELECT outcome FROM dms.restore_document(:'offering', 2, if_match => 1);
SELECT dms.restore_document('00000000-0000-0000-0000-000000000000', 1);
SELECT dms.restore_document(NULL, 1);
SELECT dms.restore_document(:'offering', NULL);

-- A deleted document has a last version without text.  Its history stays.
SELECT dms.delete_document(:'offering');
SELECT max(version) AS last, dms.get_document(:'offering', max(version)) AS text, dms.get_document(:'offering') AS now,
	dms.get_document(:'offering', as_of => clock_timestamp()) AS as_of
FROM dms.list_versions(:'offering');
SELECT version, kind, is_current, content FROM versions(:'offering') WHERE version >= 6;
-- It comes back under its id, and numbers continue.
SELECT outcome, document_uuid = :'offering' AS same_id, etag FROM dms.restore_document(:'offering', 6);
SELECT version, kind, is_current, content FROM versions(:'offering') WHERE version >= 6;
SELECT dms.get_document(:'offering')::text = dms.get_document(:'offering', version => 8)::text AS same;
-- Unless another document has its identity by now, or somebody expects an etag.
SELECT dms.delete_document(:'offering');
SELECT dms.restore_document(:'offering', 6, if_match => 8);
SELECT outcome, document_uuid AS other FROM dms.upsert_document('isolation', 'offerings', '{"code": "O", "sessionReference": {"sessionName": "S"}}') \gset
\set VERBOSITY default
SELECT dms.restore_document(:'offering', 6);
\set VERBOSITY terse
SELECT dms.delete_document(:'other');
SELECT outcome, etag FROM dms.restore_document(:'offering', 6);
-- The record of a deletion has no text to restore.
SELECT refused(:'offering', 9), refused(:'offering', 99);
-- Within one transaction, too, times do not fall.
BEGIN;
SELECT dms.delete_document(:'offering');
SELECT outcome, etag FROM dms.restore_document(:'offering', 6);
SELECT dms.delete_document(:'offering');
SELECT outcome, etag FROM dms.restore_document(:'offering', 1);
COMMIT;
SELECT count(*) AS earlier FROM dms.DocumentVersion AS v JOIN dms.DocumentVersion AS w
ON w.DocumentUuid = v.DocumentUuid AND w.VersionNumber > v.VersionNumber AND w.CreatedAt < v.CreatedAt;
SELECT max(version) - min(version) + 1 = count(*) AS no_gaps FROM dms.list_versions(:'offering', 100);

-- Documents that are deleted by a statement of the owner are recorded, too.
SELECT document_uuid AS raw FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "Raw"}') \gset
DELETE FROM dms.Document WHERE DocumentUuid = :'raw';
SELECT version, kind FROM versions(:'raw');

-- Versions are final, for the owner of the table, too.
UPDATE dms.DocumentVersion SET Kind = 'x';
DELETE FROM dms.DocumentVersion;
TRUNCATE dms.DocumentVersion;
SET dms.purging = on;
UPDATE dms.DocumentVersion SET Kind = 'x';
TRUNCATE dms.DocumentVersion;
RESET dms.purging;

-- Documents that were there before get a first version.
SELECT count(*) AS versions FROM dms.list_versions(:'early');
CALL dms.baseline_history('isolation', 'sessions');
SELECT version, kind, is_current, content FROM versions(:'early');
CALL dms.baseline_history('isolation', 'sessions');
SELECT put(:'early', '{"sessionName": "Early", "title": "after"}');
SELECT version, kind FROM versions(:'early');
CALL dms.baseline_history('isolation', 'schools');
CALL dms.baseline_history('isolation', 'nothing');
CALL dms.baseline_history('isolation', NULL);
BEGIN;
CALL dms.baseline_history('isolation', 'sessions');
ROLLBACK;

-- Retention: a version stays while it is among the newest, or young.
SELECT dms.purge_history();
SELECT dms.configure_resource('isolation', 'sessions', '{"retainVersions": 3, "retainFor": "1 hour"}');
SELECT dms.purge_history();
SELECT dms.configure_resource('isolation', 'sessions', '{"retainFor": null}');
SELECT dms.purge_history(0), dms.purge_history(1), dms.purge_history(1);
SELECT array_agg(version ORDER BY version) FROM dms.list_versions(:'session');
SELECT dms.purge_history(), dms.purge_history();
SELECT array_agg(version ORDER BY version) FROM dms.list_versions(:'session');
SELECT array_agg(version ORDER BY version) FROM dms.list_versions(:'raw');
SELECT dms.get_document(:'session', as_of => '2000-01-01') AS before_it_begins;
-- By time: the current version stays, and a deleted document goes as a whole.
SELECT dms.configure_resource('isolation', 'sessions', '{"retainVersions": null, "retainFor": "1 microsecond"}');
SELECT dms.purge_history() > 0 AS purged;
SELECT array_agg(version ORDER BY version) FROM dms.list_versions(:'session');
SELECT count(*) AS versions FROM dms.list_versions(:'raw');
SELECT dms.purge_history(-1);
SELECT dms.purge_history(NULL);

-- Erasing: all but the current version, and all of a deleted document.
SELECT dms.erase_history(:'offering');
SELECT version, is_current FROM dms.list_versions(:'offering');
SELECT dms.delete_document(:'offering'), dms.erase_history(:'offering');
SELECT count(*) AS versions FROM dms.list_versions(:'offering');
SELECT refused(:'offering', 1);
SELECT dms.erase_history('00000000-0000-0000-0000-000000000000'), dms.erase_history(:'early');
SELECT dms.erase_history(NULL);

-- How much there is.
SELECT project, resource, versions, bytes > 0 AS bytes, oldest < now() AS oldest FROM dms.history_stats() ORDER BY 2;

-- Switching it off keeps what there is; the trigger goes with the last resource.
SELECT dms.configure_resource('isolation', 'offerings', '{"history": null}');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'dms.Document'::regclass AND tgname = 'document_history';
SELECT dms.configure_resource('isolation', 'sessions', '{"history": false}');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'dms.Document'::regclass AND tgname = 'document_history';
SELECT put(:'session', '{"sessionName": "S", "title": "not kept"}');
SELECT version, kind, is_current FROM versions(:'session');
SELECT dms.get_document(:'session', version => 9)::jsonb ->> 'title' AS current_one;
-- Switched on again, its history has a gap, for which there is no text.
SELECT put(:'session', '{"sessionName": "S", "title": "not kept either"}');
SELECT dms.configure_resource('isolation', 'sessions', '{"history": true}');
CALL dms.baseline_history('isolation', 'sessions');
SELECT put(:'session', '{"sessionName": "S", "title": "kept"}'), put(:'session', '{"sessionName": "S", "title": "kept, too"}');
SELECT version, kind, is_current FROM versions(:'session');
SELECT version, dms.get_document(:'session', as_of => created_at)::jsonb ->> '_etag' AS as_of FROM dms.list_versions(:'session');

-- The audit compares versions with documents, and with each other.  Each fault below is made
-- by the owner, found, and repaired as far as that is possible.
CREATE FUNCTION found() RETURNS TABLE (kind text, document boolean, expected text, found text) LANGUAGE sql AS $$
	SELECT kind, document_id IS NOT NULL, regexp_replace(expected, '^.*@', '(id)@'), found FROM dms.audit() ORDER BY kind COLLATE "C", found
$$;
SELECT * FROM dms.audit();
SELECT dms.configure_resource('isolation', 'sessions', '{"retainFor": null}');
-- An etag that was raised without a version.
BEGIN;
UPDATE dms.Document SET Etag = Etag + 1, LastModifiedAt = now() WHERE DocumentUuid = :'session';
SELECT * FROM found();
SELECT count(*) AS findings FROM dms.audit('isolation', 'sessions', :'session');
SELECT count(*) AS others FROM dms.audit('isolation', 'sessions', :'early');
SELECT * FROM dms.repair();
SELECT * FROM found();
SELECT version, kind, content FROM versions(:'session') ORDER BY version DESC LIMIT 1;
ROLLBACK;
-- A value that was changed without an etag: the version is not changed, the etag is raised.
BEGIN;
UPDATE isolation.Session SET Title = 'by hand' WHERE SessionName = 'S';
SELECT * FROM found();
SELECT * FROM dms.repair();
SELECT * FROM found();
SELECT version, kind, content FROM versions(:'session') ORDER BY version DESC LIMIT 2;
ROLLBACK;
-- Documents that are gone without a record.
BEGIN;
TRUNCATE dms.Document;
SELECT * FROM found();
SELECT * FROM dms.repair();
SELECT * FROM found();
ROLLBACK;
-- What cannot be repaired: versions that were deleted or changed, without the trigger.
BEGIN;
ALTER TABLE dms.DocumentVersion DISABLE TRIGGER documentversion_final;
DELETE FROM dms.DocumentVersion WHERE DocumentUuid = :'session' AND VersionNumber = 11;
UPDATE dms.DocumentVersion SET CreatedAt = now() + interval '1 day' WHERE DocumentUuid = :'session' AND VersionNumber = 8;
UPDATE dms.DocumentVersion SET Kind = 'other' WHERE DocumentUuid = :'early';
SELECT * FROM found();
SELECT * FROM dms.repair();
ROLLBACK;
\c :home
DROP DATABASE dms_history;
