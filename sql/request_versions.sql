-- Requests for versions of documents: lists, texts, the past, restoring.
SET client_min_messages = warning;
\set home :DBNAME
CREATE DATABASE dms_request_versions TEMPLATE template0 ENCODING 'UTF8';
\c dms_request_versions
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SELECT dms.configure_resource('ed-fi', 'students', '{"history": true}');

\pset null (null)
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION plain(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT regexp_replace(regexp_replace(value, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '{id}', 'g'),
		'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', '{time}', 'g')
$$;
CREATE FUNCTION request(method text, path text, body text DEFAULT NULL, headers jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE sql AS $$
	SELECT plain(concat_ws(E'\n', status || ' ' || headers, body))
	FROM dms.handle_request($1, $2, '{"correlationid": "c1"}' || $4, $3)
$$;
CREATE FUNCTION student(name text, id uuid DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT json_strip_nulls(json_build_object('id', id, 'studentUniqueId', '1', 'firstName', name, 'lastSurname', 'King', 'birthDate', '2014-02-03'))::text
$$;

SET dms."user" = 'registrar';
SELECT request('POST', '/ed-fi/students', student('Ada'));
SELECT DocumentUuid AS ada, '/ed-fi/students/' || DocumentUuid AS path FROM dms.Document \gset
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.USZ') AS early \gset
SELECT status FROM dms.handle_request('PUT', :'path', '{}', student('Augusta', :'ada'));
SELECT status FROM dms.handle_request('PUT', :'path', '{}', student('Augusta Ada', :'ada'));

--
-- Versions: newest first, a page at a time
--

SELECT request('GET', :'path' || '/versions');
SELECT request('GET', :'path' || '/versions?limit=1');
SELECT request('GET', :'path' || '/Versions/?LIMIT=1&before=3');
SELECT request('GET', :'path' || '/versions?before=1');
SELECT request('GET', :'path' || '/versions?limit=501&before=x');
SELECT request('GET', :'path' || '/versions?page=1&before=3&firstName=Ada');

-- The text of a version never changes, so a client that has it need not get it again.
SELECT request('GET', :'path' || '/versions/1');
SELECT request('GET', :'path' || '/versions/1', NULL, '{"If-None-Match": "\"1\""}');
SELECT request('GET', :'path' || '/versions/1', NULL, '{"If-None-Match": "\"3\""}');
SELECT body::text = dms.get_document(:'ada')::text AS current FROM dms.handle_request('GET', :'path' || '/versions/3');
SELECT n, status, body ->> 'type', body -> 'errors'
FROM unnest('{0,4,9223372036854775807,9223372036854775808,-1,x,1.0}'::text[]) AS n, dms.handle_request('GET', :'path' || '/versions/' || n);

--
-- The document as it was at a time, with the etag that it had then
--

SELECT t.time, request('GET', :'path' || '?asOf=' || t.value)
FROM (VALUES ('early', :'early'::text), ('late', '9999-12-31'), ('before it was there', '2001-01-01T00:00:00Z')) AS t (time, value);
-- A version is there from the time on that the list gives.
SELECT v ->> 'version' AS version, (dms.handle_request('GET', :'path' || '?asof=' || (v ->> 'createdAt'))).headers ->> 'ETag' AS etag
FROM json_array_elements((dms.handle_request('GET', :'path' || '/versions')).body) AS v;
SELECT request('GET', :'path' || '?asOf=9999-12-31', NULL, '{"If-None-Match": "\"3\""}');
SELECT t, status, body ->> 'type', body -> 'errors'
FROM unnest(ARRAY['', 'yesterday', '2014-02-30', '2014-02-03T25:00', 'infinity', '2014-02-03T10:00:00%2B01:00', '2014-02-03T10:00:00.1234567Z', '%zz']) AS t,
	dms.handle_request('GET', :'path' || '?asOf=' || t);
SELECT request('GET', :'path' || '?asOf=2014-02-03&asOf=2014-02-03');

--
-- Restoring writes the text of a version as a new one
--

SELECT request('POST', :'path' || '/versions/1/restore');
SELECT body ->> 'firstName' FROM dms.handle_request('GET', :'path');
SELECT request('POST', :'path' || '/versions/2/restore', NULL, '{"If-Match": "\"3\""}');
SELECT request('POST', :'path' || '/versions/2/restore', NULL, '{"If-Match": "\"4\""}');
-- With a key it is done once, however often it is sent.
SELECT request('POST', :'path' || '/versions/3/restore', NULL, '{"Idempotency-Key": "k1"}');
SELECT status FROM dms.handle_request('PUT', :'path', '{}', student('Ada', :'ada'));
SELECT request('POST', :'path' || '/versions/3/restore', NULL, '{"Idempotency-Key": "k1"}');
SELECT body ->> 'firstName' FROM dms.handle_request('GET', :'path');
SELECT request('POST', :'path' || '/versions/99/restore');
SELECT request('POST', :'path' || '/versions/x/restore');

--
-- What changed from one version to another
--

-- From the version before, or from any other one.  It is made now.
SELECT request('GET', :'path' || '/versions/2/diff');
SELECT request('GET', :'path' || '/versions/2/diff?from=1') = request('GET', :'path' || '/versions/2/diff') AS the_same;
SELECT request('GET', :'path' || '/versions/1/diff?from=3');
SELECT body::jsonb = dms.diff_versions(:'ada', 1, 3) AS as_the_function FROM dms.handle_request('GET', :'path' || '/versions/3/diff?from=1');
SELECT p, status, body ->> 'type', body -> 'errors'
FROM unnest('{1/diff,2/diff?from=0,2/diff?from=99,99/diff,0/diff,x/diff,2/diff?from=x,2/diff?from=-1,2/diff?from=1&from=1,2/diff?before=1}'::text[]) AS p,
	dms.handle_request('GET', :'path' || '/versions/' || p);
-- All changes, with the diffs that jobs have made.
SELECT request('GET', :'path' || '/changes?limit=2');
SELECT dms.configure_resource('ed-fi', 'students', '{"diff": true}');
SELECT status FROM dms.handle_request('PUT', :'path', '{}', student('Ada "Countess"', :'ada'));
SELECT request('GET', :'path' || '/changes?limit=1');
CALL dms.run_jobs();
SELECT request('GET', :'path' || '/changes?limit=1');
SELECT count(*), bool_and((c ->> 'version', c ->> 'kind', c ->> 'createdBy', c ->> 'diffState', c ->> 'oldVersion', (c ->> 'diff')::jsonb)
	IS NOT DISTINCT FROM (l.version::text, l.kind, l.created_by, l.diff_state, l.old_version::text, l.diff)) AS as_the_function
FROM dms.change_log(:'ada') AS l
JOIN json_array_elements((dms.handle_request('GET', :'path' || '/changes')).body) AS c ON (c ->> 'version')::bigint = l.version;
SELECT request('GET', :'path' || '/changes?before=1');
SELECT request('GET', :'path' || '/changes?limit=501&before=x');
SELECT request('GET', :'path' || '/changes?from=1');
SELECT dms.configure_resource('ed-fi', 'students', '{"diff": null}');
SELECT status FROM dms.handle_request('PUT', :'path', '{}', student('Ada', :'ada'));

-- A deleted document still has versions, and comes back under its id.
SELECT request('DELETE', :'path');
SELECT status FROM dms.handle_request('GET', :'path');
SELECT v ->> 'version', v ->> 'kind' FROM json_array_elements((dms.handle_request('GET', :'path' || '/versions?limit=2')).body) AS v;
SELECT v ->> 'version', v ->> 'kind' FROM json_array_elements((dms.handle_request('GET', :'path' || '/changes?limit=2')).body) AS v;
SELECT status FROM dms.handle_request('GET', :'path' || '/versions/2/diff');
SELECT request('GET', :'path' || '/versions/9');
SELECT status, headers ->> 'ETag', body ->> 'firstName' FROM dms.handle_request('GET', :'path' || '/versions/8');
SELECT status FROM dms.handle_request('GET', :'path' || '?asOf=9999-12-31');
SELECT request('POST', :'path' || '/versions/8/restore');
SELECT status, headers ->> 'ETag', body ->> 'firstName' FROM dms.handle_request('GET', :'path');

--
-- Paths, methods, other resources
--

SELECT m, p, status, headers ->> 'Allow', body ->> 'type'
FROM unnest('{GET,POST,PUT,DELETE,PATCH}'::text[]) AS m,
	unnest('{/versions,/versions/1,/versions/1/diff,/changes,/versions/1/restore,/versions/1/nothing,/versions/1/restore/now,/nothing}'::text[]) AS p,
	dms.handle_request(m, :'path' || p)
WHERE status IN (404, 405) ORDER BY p, m;
-- A document has its versions below its own resource only.
SELECT m, p, status, plain(body ->> 'detail')
FROM (VALUES ('GET', '/versions'), ('GET', '/versions/1'), ('GET', '/versions/2/diff'), ('GET', '/changes'), ('GET', '?asOf=9999-12-31'), ('POST', '/versions/1/restore')) AS r (m, p),
	dms.handle_request(m, '/ed-fi/schools/' || :'ada' || p);
SELECT request('GET', '/ed-fi/students/01890000-0000-7000-8000-000000000000/versions');
SELECT request('GET', '/ed-fi/students/x/versions');
-- A URN does as well as an id.
SELECT dms.urn(:'ada') AS urn \gset
SELECT status, headers ->> 'ETag' FROM dms.handle_request('GET', '/ed-fi/students/' || :'urn' || '/versions/2');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/students/' || :'urn');
SELECT status, json_array_length(body) FROM dms.handle_request('GET', '/ed-fi/students/' || :'urn' || '/versions');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students/' || :'urn' || '/versions/1/restore');

-- Without a history there is only the present.
SELECT status FROM dms.handle_request('POST', '/ed-fi/gradeLevelDescriptors', '{}', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}');
SELECT '/ed-fi/gradeLevelDescriptors/' || DocumentUuid AS grade FROM dms.Document WHERE ResourceName = 'GradeLevelDescriptor' \gset
SELECT request('GET', :'grade' || '/versions');
SELECT status FROM dms.handle_request('GET', :'grade' || '/versions/1');
SELECT p, status FROM unnest('{/changes,/versions/1/diff,/versions/1/diff?from=1}'::text[]) AS p, dms.handle_request('GET', :'grade' || p);
SELECT request('GET', :'grade' || '?asOf=9999-12-31');

--
-- Rights: those of the functions, and of the tables
--

CREATE ROLE regress_request_versions;
SELECT dms.grant_access('regress_request_versions', 'reader');
SET ROLE regress_request_versions;
SELECT status, body ->> 'errors' FROM unnest('{/versions,/versions/1,/versions/2/diff,/changes,?asOf=9999-12-31}'::text[]) AS p, dms.handle_request('GET', :'path' || p);
SELECT request('POST', :'path' || '/versions/1/restore');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION dms.list_versions FROM regress_request_versions;
REVOKE EXECUTE ON FUNCTION dms.diff_versions FROM regress_request_versions;
REVOKE EXECUTE ON FUNCTION dms.change_log FROM regress_request_versions;
REVOKE EXECUTE ON FUNCTION dms.get_document(uuid, timestamptz) FROM regress_request_versions;
SET ROLE regress_request_versions;
SELECT p, status, body ->> 'errors' FROM unnest('{/versions,/versions/1,/versions/2/diff,/changes,?asOf=9999-12-31}'::text[]) AS p, dms.handle_request('GET', :'path' || p);
RESET ROLE;
GRANT EXECUTE ON FUNCTION dms.diff_versions TO regress_request_versions;
GRANT EXECUTE ON FUNCTION dms.change_log TO regress_request_versions;
-- Only administrators may read versions of a resource of this level.
SELECT dms.configure_resource('ed-fi', 'students', '{"historyLevel": "admin"}');
SET ROLE regress_request_versions;
SELECT request('GET', :'path' || '/versions/1');
SELECT p, status FROM unnest('{/versions/2/diff,/changes}'::text[]) AS p, dms.handle_request('GET', :'path' || p);
RESET ROLE;
-- Who may not read the document may not read its versions.
SELECT dms.configure_resource('ed-fi', 'students', '{"historyLevel": null}');
ALTER TABLE edfi.Student ENABLE ROW LEVEL SECURITY;
SET ROLE regress_request_versions;
SELECT p, status, body FROM unnest('{"",/versions/1,/versions/2/diff,/changes}'::text[]) AS p, dms.handle_request('GET', :'path' || p);
RESET ROLE;
ALTER TABLE edfi.Student DISABLE ROW LEVEL SECURITY;
SELECT * FROM dms.audit();
DROP OWNED BY regress_request_versions;
\c :home
DROP DATABASE dms_request_versions;
DROP ROLE regress_request_versions;
