-- A document system on the store: documents with a title and a content, all versions of
-- them, a cache of the latest one, diffs that are made later, and search.  Each part here
-- has the name of a promise of such a system.  test/t/091_documents.pl makes the same
-- promises with Redis and BullMQ, through the API of examples/documents.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_documents;
CREATE DATABASE dms_documents TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_documents
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/documents.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT dms.configure_resource('docs', 'documents', '{"history": true, "diff": "bullmq", "generatedId": "$.documentUuid", "title": "$.title",
	"content": "$.content", "search": ["$.title"], "searchIndex": "documents_title_search_idx"}') IS NOT NULL AS configured;
\set file :top /examples/documents/views.sql
\set ECHO none
\i :file
\set ECHO all
\pset null (null)
\set VERBOSITY terse
CREATE FUNCTION put(id uuid, title text, content text, if_match bigint DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT outcome || ' ' || etag FROM dms.update_document(id, json_build_object('title', title, 'content', content), if_match)
$$;

-- createDocument: the document, its first version and its metadata are there at once.
SET dms."user" = 'ada';
SELECT outcome, etag, document_uuid AS id FROM dms.upsert_document('docs', 'documents', '{"title": "First note", "content": "one\ntwo"}') \gset
SELECT :'outcome' AS outcome, :etag AS etag;
SELECT title, created_by, current_version_id = :'id' || '@1' AS points_to_1, created_at = (SELECT CreatedAt FROM dms.Document) AS same_time
FROM docs.documents WHERE id = :'id';

-- updateDocument: a version more.  Who says which version he has read does not overwrite
-- another one.  A change of the title alone is a version, too.
SET dms."user" = 'eve';
SELECT put(:'id', 'First note', E'one\n2', 1);
SELECT put(:'id', 'First note', 'lost', 1);
SELECT put(:'id', 'A title', E'one\n2');
SELECT put(:'id', 'A title', E'one\n2') AS same;

-- getDocument, getVersion, listVersions.
SELECT dms.get_document(:'id') ->> 'content' AS latest, dms.get_document(:'id', version => 1) ->> 'content' AS first,
	dms.get_document(:'id', version => 9) AS never;
SELECT version, version_id = :'id' || '@' || version AS named, kind, created_by, is_current FROM dms.list_versions(:'id');
SELECT id = :'id' || '@' || version_number AS named, document_id = :'id' AS of_document, version_number, content,
	created_at = (SELECT v.created_at FROM dms.list_versions(:'id') AS v WHERE v.version = version_number) AS same_time
FROM docs.versions ORDER BY version_number;

-- current_version_id always points to the latest version: it is computed, so nothing can
-- leave it behind, and nothing can set it.
SELECT current_version_id = :'id' || '@3' AS points_to_3 FROM docs.documents;
UPDATE docs.documents SET current_version_id = 'x';

-- Versions are append-only: nobody updates or deletes one, not even the owner of the store.
UPDATE dms.DocumentVersion SET Content = '{}' WHERE VersionNumber = 1;
DELETE FROM dms.DocumentVersion;
TRUNCATE dms.DocumentVersion;
DELETE FROM docs.versions;
CREATE ROLE regress_documents_admin;
SELECT dms.grant_access('regress_documents_admin', 'admin');
SET ROLE regress_documents_admin;
UPDATE dms.DocumentVersion SET Content = '{}';
INSERT INTO dms.DocumentVersion SELECT * FROM dms.DocumentVersion;
RESET ROLE;
-- There is one version of each number.
\d dms.DocumentVersion

-- The write flow: begin, lock the row, take the next number, insert the version, move the
-- pointer, commit.  A program may take the lock itself, before the store does.
BEGIN;
SELECT current_version_id = :'id' || '@3' AS points_to_3 FROM docs.documents WHERE id = :'id' FOR UPDATE;
SELECT put(:'id', 'A title', 'locked');
SELECT current_version_id = :'id' || '@4' AS points_to_4, (SELECT max(version_number) FROM docs.versions) AS newest FROM docs.documents;
COMMIT;
-- A transaction leaves all of it, or nothing: no document, version or job.
BEGIN;
SELECT put(:'id', 'Never', 'never');
SELECT outcome FROM dms.upsert_document('docs', 'documents', '{"title": "Never", "content": ""}');
SELECT count(*) AS jobs, (SELECT count(*) FROM dms.DocumentVersion) AS versions FROM dms.Job;
ROLLBACK;
SELECT count(*) AS jobs, (SELECT count(*) FROM dms.DocumentVersion) AS versions, (SELECT count(*) FROM docs.documents) AS documents FROM dms.Job;
SELECT kind FROM dms.audit();

-- The value of doc:latest:{documentId} has five fields, of the latest version only.
SELECT string_agg(key, ' ' ORDER BY n) AS fields FROM json_object_keys(dms.latest_version(:'id')) WITH ORDINALITY AS k (key, n);
SELECT v ->> 'documentId' = :'id' AS id, v ->> 'title' AS title, v -> 'version' AS version, v ->> 'content' AS content,
	(v ->> 'updatedAt')::timestamptz = (SELECT date_trunc('milliseconds', LastModifiedAt) FROM dms.Document) AS same_time
FROM dms.latest_version(:'id') AS v;

-- A job has three fields.  A worker fetches both versions, makes the diff and stores it.
-- Doing it twice is doing it once.
SELECT job_id, lease, payload FROM dms.claim_jobs('bullmq', 1) \gset
SELECT (SELECT string_agg(key, ' ' ORDER BY key) FROM jsonb_object_keys(:'payload') AS key) AS fields, :'payload'::jsonb ->> 'documentId' = :'id' AS document,
	:'payload'::jsonb ->> 'oldVersionId' = :'id' || '@1' AS old, :'payload'::jsonb ->> 'newVersionId' = :'id' || '@2' AS new;
SELECT dms.store_diff(:'id', 1, 2, d) AS stored, dms.store_diff(:'id', 1, 2, d) AS again, d AS diff FROM dms.diff_versions(:'id', 1, 2) AS d;
SELECT dms.complete_jobs(ARRAY[:job_id], :'lease') AS completed;
SELECT version, old_version, kind, diff -> 'patch' AS patch, diff_state FROM dms.change_log(:'id');

-- search: by the words of the title.
SELECT d ->> 'title' AS found FROM dms.search_documents('docs', 'documents', 'titles') AS d;
SELECT pg_get_indexdef('docs.documents_title_search_idx'::regclass);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM docs.documents
WHERE to_tsvector('english', title) @@ plainto_tsquery('english', 'search term');
RESET enable_seqscan;

-- The same by HTTP.
CREATE FUNCTION http(method text, path text, body json DEFAULT NULL, headers json DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', status, headers ->> 'ETag', left(regexp_replace(body::text, '[0-9a-f]{8}-[0-9a-f-]{27}', 'ID', 'g'), 60))
	FROM dms.handle_request(method, path, headers::jsonb, body::text)
$$;
SELECT http('POST', '/docs/documents', '{"title": "By HTTP", "content": "a"}') LIKE '201 "1"%' AS created;
SELECT id AS other FROM docs.documents WHERE title = 'By HTTP' \gset
SELECT http('PUT', '/docs/documents/' || :'other', json_build_object('id', :'other', 'title', 'By HTTP', 'content', 'b'), '{"If-Match": "\"1\""}') AS updated,
	left(http('PUT', '/docs/documents/' || :'other', json_build_object('id', :'other', 'title', 'By HTTP', 'content', 'c'), '{"If-Match": "\"1\""}'), 3) AS refused;
SELECT path, left(http('GET', replace(path, '{id}', :'other')), 8) AS answer FROM unnest(ARRAY['/docs/documents/{id}', '/docs/documents/{id}/versions/1',
	'/docs/documents/{id}/versions', '/docs/documents?q=by+http', '/docs/documents/{id}/versions/2/diff?from=1', '/docs/documents/{id}/changes']) AS path;

\c :home
SET client_min_messages = warning;
DROP DATABASE dms_documents;
DROP ROLE regress_documents_admin;
