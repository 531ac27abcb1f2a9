-- Querying documents by the number of their last change.
SET client_min_messages = warning;
\set home :DBNAME
CREATE DATABASE dms_query_changes TEMPLATE template0 ENCODING 'UTF8';
\c dms_query_changes
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
\pset null (null)
\set VERBOSITY terse
-- Each call is a transaction, and has a number of its own.
CREATE FUNCTION put(id text, name text) RETURNS bigint LANGUAGE sql AS $$
	SELECT dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', id, 'firstName', name, 'lastSurname', 'King', 'birthDate', '2014-02-03'));
	SELECT dms.current_change_version();
$$;
CREATE FUNCTION ids(filters jsonb, page_limit int, page_offset bigint, low bigint, high bigint) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT string_agg(d ->> 'studentUniqueId', ' ' ORDER BY n)
	FROM dms.query_documents('ed-fi', 'students', filters, page_limit, page_offset, NULL, low, high) WITH ORDINALITY AS q (d, n)
$$;
SELECT put('1', 'Ada') AS one \gset
SELECT put('2', 'Bob') AS two \gset
SELECT put('3', 'Ada') AS three \gset
SELECT put('4', 'Ada') AS four \gset
SELECT put('2', 'Bobby') AS five \gset

-- Bounds are inclusive.  With an upper bound documents are in the order of their
-- changes, and without one in that of their creation.
SELECT ids('{}', 25, 0, 0, NULL) AS everything, ids('{}', 25, 0, :three, NULL) AS from_three, ids('{}', 25, 0, NULL, :four) AS up_to_four,
	ids('{}', 25, 0, :one, :five) AS by_change, ids('{}', 25, 0, :two, :two) AS superseded, ids('{}', 25, 0, :five + 1, NULL) AS later;
SELECT ids('{}', 2, 0, 0, :five) AS page, ids('{}', 2, 2, 0, :five) AS next, ids('{}', 2, 4, 0, :five) AS last,
	ids('{}', 1, 1, :two, NULL) AS second, ids('{}', 0, 0, 0, :five) AS none;
SELECT ids('{"firstName": "Ada"}', 25, 0, :two, :five) AS filtered, ids('{"firstName": ["Ada", "Bobby"]}', 25, 0, :two, NULL) AS any_of,
	ids('{"firstName": "Bob"}', 25, 0, 0, :five) AS old_name;
SELECT dms.count_documents('ed-fi', 'students', min_change_version => :three), dms.count_documents('ed-fi', 'students', max_change_version => :three),
	dms.count_documents('ed-fi', 'students', '{"firstName": "Ada"}', :two, :five), dms.count_documents('ed-fi', 'students', '{"firstName": "Ada"}'::json, :two, :five),
	dms.count_documents('ed-fi', 'students', '{"firstName": "Ada"}'::text, :two, :five);
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{}'::text, 25, 0, NULL, :three, :five);
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{}'::json, min_change_version => :three);

-- Filters of a field that is at several places, and of a descriptor; descriptors themselves.
SELECT status FROM (VALUES ('gradeLevelDescriptors', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}'),
	('schools', '{"schoolId": 1, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://g#10"}]}'),
	('studentSchoolAssociations', '{"entryDate": "2024-08-01", "entryGradeLevelDescriptor": "uri://g#10", "schoolReference": {"schoolId": 1}, "studentReference": {"studentUniqueId": "1"}}'),
	('studentSchoolAssociations', '{"entryDate": "2024-08-01", "entryGradeLevelDescriptor": "uri://g#10", "schoolReference": {"schoolId": 1}, "studentReference": {"studentUniqueId": "2"}}')) AS b (endpoint, body),
	dms.handle_request('POST', '/ed-fi/' || endpoint, '{}', body);
SELECT d #>> '{studentReference,studentUniqueId}' AS student
FROM dms.query_documents('ed-fi', 'studentSchoolAssociations', '{"schoolId": 1, "entryGradeLevelDescriptor": "uri://G#10"}', 25, 0, NULL, :five, 4611686018427387904) AS d;
SELECT dms.count_documents('ed-fi', 'studentSchoolAssociations', '{"schoolId": 1}', :five, 4611686018427387904) AS enrolled,
	dms.count_documents('ed-fi', 'gradeLevelDescriptors', '{"codeValue": "10"}', :five) AS grades, dms.count_documents('ed-fi', 'schools', '{}', 1, :five) AS schools;

-- All documents that one transaction changes have one number.
BEGIN;
SELECT put('1', 'Augusta') AS first \gset
SELECT put('4', 'Augusta') AS second \gset
COMMIT;
SELECT :first = :second AS same, ids('{}', 25, 0, :first, :first), ids('{}', 1, 1, :first, :first) AS second;

-- What is refused.
SELECT dms.count_documents('ed-fi', 'students', '{}', -1);
SELECT dms.count_documents('ed-fi', 'students', '{}', NULL, -1);
SELECT dms.count_documents('ed-fi', 'students', '{}', 2, 1);
SELECT dms.query_documents('ed-fi', 'students', after => (SELECT DocumentUuid FROM dms.Document LIMIT 1), max_change_version => 1);
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', after => (SELECT DocumentUuid FROM dms.Document ORDER BY DocumentId LIMIT 1), min_change_version => :two);

-- A page of a range is read along the index of the journal, whatever else has changed.
SELECT count(dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 'many' || n, 'firstName', 'N', 'lastSurname', 'N', 'birthDate', '2014-02-03')))
FROM generate_series(1, 500) AS n;
ANALYZE dms.Document, dms.DocumentChange, edfi.Student;
CREATE FUNCTION scanned(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables);
BEGIN
	EXECUTE statement;
	RETURN (SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables) - before;
END $$;
SELECT scanned(format('SELECT count(*) FROM dms.query_documents(''ed-fi'', ''students'', ''{}'', 10, 0, NULL, %s, 4611686018427387904)', :first)) < 100 AS few;

-- Documents that have changed again are where their last change is, on each page.
SELECT count(dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 'many' || n, 'firstName', 'O', 'lastSurname', 'N', 'birthDate', '2014-02-03')))
FROM generate_series(1, 450) AS n;
SELECT count(put('many' || n % 5 + 1, 'P' || n)) FROM generate_series(1, 20) AS n;
DO $$
BEGIN
	FOR n IN 1..40 LOOP
		PERFORM put('many' || 7 - n % 7, 'Q' || n);
		COMMIT;
	END LOOP;
END $$;
DELETE FROM dms.Document WHERE DocumentId IN (SELECT DocumentId FROM edfi.Student WHERE StudentUniqueId IN ('many6', 'many460'));
CREATE FUNCTION joined(page_limit int, page_offset bigint, low bigint, high bigint) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT string_agg(id, ' ' ORDER BY version, document)
	FROM (SELECT s.StudentUniqueId, j.ChangeVersion, j.DocumentId FROM dms.DocumentChange AS j
		JOIN dms.Document AS d USING (DocumentId, Etag) JOIN edfi.Student AS s USING (DocumentId)
		WHERE j.ChangeVersion BETWEEN low AND high
		ORDER BY j.ChangeVersion, j.DocumentId LIMIT page_limit OFFSET page_offset) AS page (id, version, document)
$$;
SELECT count(*) AS pages, count(*) FILTER (WHERE ids('{}', l, o, low, high) IS NOT DISTINCT FROM joined(l, o, low, high)) AS same
FROM unnest('{1,2,7,50,1000}'::int[]) AS l, unnest('{0,1,2,6,49,50,53,470,503,504}'::bigint[]) AS o,
	(VALUES (0, 4611686018427387904), (:three, dms.current_change_version() - 20), (:four, :five)) AS r (low, high);
SELECT page_limit, (SELECT string_agg(document ->> 'studentUniqueId', ' ' ORDER BY n) = joined(page_limit, 0, :two, 4611686018427387904)
	FROM dms.changed_documents('ed-fi', 'students', :two, 4611686018427387904, page_limit) WITH ORDINALITY AS c (version, id, uuid, etag, document, n)) AS same
FROM unnest('{1,2,7,50,1000}'::int[]) AS page_limit;
SELECT count(*) AS documents, bool_and(j.Etag IS NOT NULL AND d.Etag = c.etag AND d.DocumentUuid = c.document_uuid) AS right
FROM dms.changed_documents('ed-fi', 'students', page_limit => 1000) AS c JOIN dms.Document AS d ON d.DocumentId = c.document_id
LEFT JOIN dms.DocumentChange AS j ON (j.ChangeVersion, j.DocumentId, j.Etag) = (c.change_version, c.document_id, c.etag);

-- Without numbers there is no answer.
SELECT dms.set_change_tracking(false);
SELECT dms.count_documents('ed-fi', 'students', '{}', 0);
SELECT count(*) > 500 AS everything FROM dms.query_documents('ed-fi', 'students', page_limit => 1000);
SELECT dms.set_change_tracking(true);
SELECT dms.count_documents('ed-fi', 'students', '{}', 0) > 500 AS everything;

-- Readers need no more rights than for other queries.
CREATE ROLE regress_query_changes;
SELECT dms.grant_access('regress_query_changes', 'reader');
SET ROLE regress_query_changes;
SELECT dms.count_documents('ed-fi', 'students', '{"studentUniqueId": "1"}', 1) AS one, count(*) AS ten
FROM dms.query_documents('ed-fi', 'students', '{}', 10, 0, NULL, 1, 4611686018427387904);
RESET ROLE;
ALTER TABLE edfi.Student ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON edfi.Student USING (StudentUniqueId IN ('1', '3'));
SET ROLE regress_query_changes;
SELECT dms.count_documents('ed-fi', 'students', '{}', 1) AS visible, ids('{}', 10, 0, 1, 4611686018427387904);
RESET ROLE;
DROP OWNED BY regress_query_changes;
\c :home
DROP DATABASE dms_query_changes;
DROP ROLE regress_query_changes;
