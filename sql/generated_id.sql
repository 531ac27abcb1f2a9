-- Documents without a natural key: the store makes their identity, which is their id.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_generated_id;
CREATE DATABASE dms_generated_id TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_generated_id
SET client_min_messages = warning;
CREATE EXTENSION dms;
\set VERBOSITY terse
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/documents.json
\set schema `cat :'file'`
\set file :top /examples/schemas/system.json
\set system `cat :'file'`
SELECT dms.deploy_schema(VARIADIC ARRAY[:'schema'::json, replace(:'system', '"isExtensionProject": false', '"isExtensionProject": true')::json]) IS NOT NULL AS deployed;
\pset null (null)

-- Without the option a document needs an identity, and its id is another one.
SELECT dms.upsert_document('docs', 'documents', '{"title": "A", "content": "a"}');
SELECT document_uuid <> '11111111-1111-7111-8111-111111111111' AS other_id
FROM dms.upsert_document('docs', 'documents', '{"documentUuid": "11111111-1111-7111-8111-111111111111", "title": "A", "content": "a"}');
-- Such documents must be gone before.
\set VERBOSITY default
SELECT dms.configure_resource('docs', 'documents', '{"generatedId": "$.documentUuid", "title": "$.heading"}');
\set VERBOSITY terse
SELECT count(dms.delete_document(DocumentUuid)) AS deleted FROM dms.Document;
SELECT dms.configure_resource('docs', 'documents', '{"generatedId": "$.documentUuid", "history": true}');

-- The id is that of the document, and ascends with time.
SELECT outcome, document_uuid AS first FROM dms.upsert_document('docs', 'documents', '{"title": "A", "content": "a"}') \gset
SELECT :'outcome' AS outcome, dms.get_document(:'first') ->> 'documentUuid' = :'first' AS is_its_id;
SELECT document_uuid AS second, document_uuid > :'first' AS later FROM dms.upsert_document('docs', 'documents', '{"documentUuid": null, "title": "A", "content": "a"}') \gset
SELECT :'later' AS later, count(*) AS documents FROM docs.document;
SELECT dms.resolve('docs', 'documents', json_build_object('documentUuid', :'first')::text) = :'first' AS resolves;
-- Clients may choose it.  It is brought to one form.
SELECT outcome, document_uuid FROM dms.upsert_document('docs', 'documents', '{"documentUuid": "ABCDEF00-0000-4000-8000-00000000000A", "title": "B", "content": "b"}');
SELECT dms.get_document('abcdef00-0000-4000-8000-00000000000a') ->> 'documentUuid' AS stored;
SELECT outcome, etag FROM dms.upsert_document('docs', 'documents', '{"documentUuid": "abcdef00-0000-4000-8000-00000000000A", "title": "B", "content": "b"}');
SELECT outcome, etag FROM dms.upsert_document('docs', 'documents', '{"documentUuid": "abcdef00-0000-4000-8000-00000000000a", "title": "B2", "content": "b"}');
SELECT outcome FROM dms.upsert_document('docs', 'documents', '{"documentUuid": "00000000-0000-0000-0000-000000000000", "title": "Nil", "content": ""}');
SELECT dms.get_document('00000000-0000-0000-0000-000000000000') ->> 'title' AS nil;

-- What is no UUID is refused, with its place.
\set VERBOSITY default
SELECT dms.upsert_document('docs', 'documents', '{"documentUuid": "abcdef00-0000-4000-8000-00000000000-", "title": "B", "content": "b"}');
SELECT dms.upsert_document('docs', 'documents', '{"documentUuid": 7, "title": "", "content": "b"}');
\set VERBOSITY terse
SELECT dms.upsert_document('docs', 'documents', '{"documentUuid": "", "title": "B", "content": "b"}');
SELECT dms.upsert_document('docs', 'documents', '{"id": "abcdef00-0000-4000-8000-00000000000a", "title": "B", "content": "b"}');

-- An update need not say it, and cannot change it.
SELECT outcome, etag FROM dms.update_document('abcdef00-0000-4000-8000-00000000000a', '{"title": "B3", "content": "b"}');
SELECT outcome, etag FROM dms.update_document('abcdef00-0000-4000-8000-00000000000a', '{"documentUuid": "ABCDEF00-0000-4000-8000-00000000000A", "title": "B3", "content": "b"}');
SELECT dms.update_document('abcdef00-0000-4000-8000-00000000000a', json_build_object('documentUuid', :'first', 'title', 'B', 'content', 'b')::text);
SELECT dms.update_document('abcdef00-0000-4000-8000-00000000000a', '{"documentUuid": "x", "title": "B", "content": "b"}');
SELECT outcome, etag FROM dms.update_documents(ARRAY['abcdef00-0000-4000-8000-00000000000a', :'first']::uuid[],
	ARRAY['{"title": "B4", "content": "b"}', '{"title": "A2", "content": "a"}']::json[]);
SELECT status, headers ->> 'Location' AS location, headers ->> 'ETag' AS etag FROM dms.handle_request('POST', '/docs/documents', '{}',
	'{"title": "By HTTP", "content": "c"}') \gset
SELECT :status AS status, :'etag' AS etag, body ->> 'title' AS title, :'location' = '/docs/documents/' || (body ->> 'documentUuid') AS at_its_id
FROM dms.handle_request('GET', :'location');

-- An id that was used before goes on where it was: its etags never fall.
SELECT dms.delete_document('abcdef00-0000-4000-8000-00000000000a');
SELECT outcome, etag FROM dms.upsert_document('docs', 'documents', '{"documentUuid": "abcdef00-0000-4000-8000-00000000000a", "title": "Again", "content": "b"}');
SELECT version, kind, is_current FROM dms.list_versions('abcdef00-0000-4000-8000-00000000000a', 3);
SELECT dms.delete_document('abcdef00-0000-4000-8000-00000000000a');
SELECT outcome, etag FROM dms.restore_document('abcdef00-0000-4000-8000-00000000000a', 1);
SELECT dms.get_document('abcdef00-0000-4000-8000-00000000000a') ->> 'title' AS restored;

-- An id that a document of another resource has is taken.
SELECT dms.configure_resource('system', 'users', '{"generatedId": "$.userId"}');
SELECT dms.upsert_document('system', 'users', json_build_object('userId', :'first', 'name', 'U')::text);
SELECT status, body ->> 'type' AS type, replace(body ->> 'errors', :'first', 'FIRST') AS errors FROM dms.handle_request('POST', '/system/users', '{}', json_build_object('userId', :'first', 'name', 'U'));
SELECT outcome FROM dms.upsert_document('system', 'users', '{"name": "U"}');

-- Which identities cannot be generated.
SELECT dms.configure_resource('docs', 'documents', '{"generatedId": "$.title"}');
SELECT dms.configure_resource('docs', 'documents', '{"generatedId": "$.content"}');
SELECT dms.configure_resource('system', 'jobs', '{"generatedId": "$.name"}');

-- The audit finds an id that was changed by hand.
SELECT kind FROM dms.audit();
BEGIN;
UPDATE docs.document SET documentuuid = upper(documentuuid) WHERE title = 'A2';
SELECT kind, document_uuid = :'first' AS of_the_first, expected = :'first' AS expected, found = upper(:'first') AS found FROM dms.audit() WHERE kind = 'generated_id';
SELECT kind FROM dms.audit('docs', 'documents', :'second') WHERE kind = 'generated_id';
ROLLBACK;
-- Options that the owner has changed by hand have no effect where they do not fit.
BEGIN;
UPDATE dms.ResourceType SET Options = '{"generatedId": "$.content", "search": ["$.x"], "title": 7, "content": ["$.title"]}' WHERE ResourceType = 'Docs.Document';
UPDATE dms.Store SET Generation = Generation + 1;
SELECT kind, expected, found FROM dms.audit() WHERE kind LIKE 'option%';
SELECT dms.upsert_document('docs', 'documents', '{"title": "A", "content": "a"}');
SELECT dms.latest_version(:'first') ->> 'title' AS title;
ROLLBACK;

\c :home
DROP DATABASE dms_generated_id;
