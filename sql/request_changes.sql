-- Requests of those who follow the changes of a store: change queries.
SET client_min_messages = warning;
\set home :DBNAME
CREATE DATABASE dms_request_changes TEMPLATE template0 ENCODING 'UTF8';
\c dms_request_changes
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

\pset null (null)
\pset format unaligned
\pset tuples_only on
-- Ids, times and numbers differ from run to run.
CREATE FUNCTION plain(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT regexp_replace(regexp_replace(regexp_replace(value, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '{id}', 'g'),
		'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', '{time}', 'g'), '("(changeVersion|newestChangeVersion)": ?)\d+', '\1{n}', 'g')
$$;
CREATE FUNCTION request(method text, path text, body text DEFAULT NULL, headers jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE sql AS $$
	SELECT plain(concat_ws(E'\n', status || ' ' || headers, body))
	FROM dms.handle_request($1, $2, '{"correlationid": "c1"}' || $4, $3)
$$;
-- The key values of a list, in its order.
CREATE FUNCTION keys(path text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' -> ', i -> 'keyValues', i -> 'oldKeyValues', i -> 'newKeyValues'), ' ' ORDER BY n), 'none')
	FROM json_array_elements((dms.handle_request('GET', path)).body) WITH ORDINALITY AS l (i, n)
$$;
CREATE FUNCTION newest() RETURNS bigint LANGUAGE sql AS $$
	SELECT ((dms.handle_request('GET', '/changeQueries/v1/availableChangeVersions')).body ->> 'newestChangeVersion')::bigint
$$;
CREATE FUNCTION student(id text, name text DEFAULT 'Ada') RETURNS text LANGUAGE sql AS $$
	SELECT status || ' ' || coalesce(headers ->> 'ETag', '')
	FROM dms.handle_request('POST', '/ed-fi/students', '{}', json_build_object('studentUniqueId', id, 'firstName', name, 'lastSurname', 'King', 'birthDate', '2014-02-03')::text)
$$;
CREATE FUNCTION id(resource text, condition text) RETURNS uuid LANGUAGE plpgsql STABLE AS $$
DECLARE
	found uuid;
BEGIN
	EXECUTE format('SELECT d.DocumentUuid FROM dms.Document AS d JOIN %s AS r USING (DocumentId) WHERE %s', resource, condition) INTO found;
	RETURN found;
END $$;

--
-- How far clients can read
--

SELECT request('GET', '/changeQueries/v1/availableChangeVersions');
SELECT request('GET', '/CHANGEQUERIES/V1/availablechangeversions/?whatever=1&limit=x', NULL, '{"Use-Snapshot": "true"}');
SELECT request('POST', '/changeQueries/v1/availableChangeVersions', '{}');
SELECT status, body ->> 'detail' FROM unnest('{/changeQueries,/changeQueries/v1,/changeQueries/v2/availableChangeVersions,/changeQueries/v1/availableChangeVersions/1}'::text[]) AS p,
	dms.handle_request('GET', p);

-- The newest number is above that of every document that is there, and rises with each change.
SELECT newest() AS start \gset
SELECT student('1'), student('2');
SELECT newest() AS both \gset
SELECT student('3');
SELECT newest() AS three \gset
SELECT :start < :both AND :both < :three AS rises, newest() = :three AS "stays without a change";
SELECT request('GET', '/ed-fi/students?minChangeVersion=' || :three);
SELECT json_array_length(body) FROM dms.handle_request('GET', '/ed-fi/students?maxChangeVersion=' || :three);

--
-- Documents that have changed: collections within a range
--

CREATE FUNCTION students(query text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', status, headers ->> 'Total-Count', (SELECT string_agg(d ->> 'studentUniqueId', ' ' ORDER BY n) FROM json_array_elements(body) WITH ORDINALITY AS l (d, n)))
	FROM dms.handle_request('GET', '/ed-fi/students?' || query)
$$;
SELECT student('1', 'Augusta');
SELECT newest() AS four \gset
-- Bounds are included.  With an upper bound, documents are in the order of their changes.
SELECT q, students(replace(replace(replace(q, '<both>', :'both'), '<three>', :'three'), '<four>', :'four'))
FROM unnest('{minChangeVersion=0,minChangeVersion=<both>,maxChangeVersion=<both>,maxChangeVersion=<four>,minChangeVersion=<both>&maxChangeVersion=<four>,MINCHANGEVERSION=<three>&totalCount=true,
	minChangeVersion=0&maxChangeVersion=<four>&limit=2&totalCount=true,minChangeVersion=0&maxChangeVersion=<four>&limit=2&offset=2,minChangeVersion=0&maxChangeVersion=<four>&firstName=Ada}'::text[]) AS q;
-- What was committed a moment ago is there at once if there is no upper bound.
BEGIN;
SELECT student('4');
SELECT students('minChangeVersion=' || :four + 1);
ROLLBACK;
SELECT students('minChangeVersion=' || :four + 1);
-- An empty bound is none.
SELECT students('minChangeVersion=&maxChangeVersion=%20&totalCount=true');

-- Faults of paging are answered alone, then those of bounds, then their order.
SELECT q, status, headers ->> 'Content-Type' AS type, body ->> 'type', body -> 'validationErrors', body -> 'errors'
FROM unnest('{limit=501&offset=-1&totalCount=x&minChangeVersion=x,minChangeVersion=-1&maxChangeVersion=1.5,minChangeVersion=9223372036854775808,minChangeVersion=2&maxChangeVersion=1,minChangeVersion=x&maxChangeVersion=1,minChangeVersion=1&minChangeVersion=1}'::text[]) AS q,
	dms.handle_request('GET', '/ed-fi/students?' || q);
SELECT resource, status, body -> 'errors' FROM unnest('{students/deletes,students/keyChanges}'::text[]) AS resource,
	dms.handle_request('GET', '/ed-fi/' || resource || '?minChangeVersion=2&maxChangeVersion=1');

--
-- Deletes
--

SELECT request('GET', '/ed-fi/students/deletes');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/students/' || id('edfi.Student', 'StudentUniqueId = ''2'''));
SELECT newest() AS deleted \gset
SELECT request('GET', '/ed-fi/students/deletes');
SELECT request('GET', '/Ed-Fi/STUDENTS/Deletes/?totalCount=true&limit=0', NULL, '{"Use-Snapshot": "true"}');
-- The newest number is that of a delete that came last.
SELECT keys('/ed-fi/students/deletes?minChangeVersion=' || :deleted || '&maxChangeVersion=' || :deleted);
SELECT keys('/ed-fi/students/deletes?maxChangeVersion=' || :deleted - 1), keys('/ed-fi/students/deletes?minChangeVersion=' || :deleted + 1);
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/students/' || id('edfi.Student', 'StudentUniqueId = ''1'''));
SELECT keys('/ed-fi/students/deletes'), keys('/ed-fi/students/deletes?limit=1'), keys('/ed-fi/students/deletes?limit=1&offset=1'), keys('/ed-fi/students/deletes?offset=2');
SELECT headers ->> 'Total-Count' FROM dms.handle_request('GET', '/ed-fi/students/deletes?limit=1&totalCount=true');
SELECT headers ? 'Total-Count' FROM dms.handle_request('GET', '/ed-fi/students/deletes?totalCount=false');
-- A document that has the identity again hides the delete.
SELECT student('2');
SELECT keys('/ed-fi/students/deletes');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/students/' || id('edfi.Student', 'StudentUniqueId = ''2'''));
SELECT keys('/ed-fi/students/deletes');
-- A delete that is rolled back was none; those of plain SQL count.
BEGIN;
SELECT dms.delete_document(id('edfi.Student', 'StudentUniqueId = ''3'''));
ROLLBACK;
SELECT keys('/ed-fi/students/deletes?minChangeVersion=' || :deleted + 1);
DELETE FROM dms.Document WHERE DocumentUuid = id('edfi.Student', 'StudentUniqueId = ''3''');
SELECT keys('/ed-fi/students/deletes?minChangeVersion=' || :deleted + 1);

-- Values are those of documents: numbers, dates, descriptors in the case in which they are stored.
SELECT status FROM (VALUES ('gradeLevelDescriptors', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Tenth Grade", "shortDescription": "10"}'),
	('schools', '{"schoolId": 1, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade"}]}'),
	('schools', '{"schoolId": 2, "nameOfInstitution": "T", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade"}]}'),
	('students', '{"studentUniqueId": "1", "firstName": "Ada", "lastSurname": "King", "birthDate": "2014-02-03"}'),
	('classPeriods', '{"classPeriodName": "first", "schoolReference": {"schoolId": 1}}'),
	('classPeriods', '{"classPeriodName": "second", "schoolReference": {"schoolId": 1}}'),
	('studentSchoolAssociations', '{"entryDate": "2024-08-01", "entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade", "schoolReference": {"schoolId": 1}, "studentReference": {"studentUniqueId": "1"}}')) AS b (endpoint, body),
	dms.handle_request('POST', '/ed-fi/' || endpoint, '{}', body);
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/studentSchoolAssociations/' || id('edfi.StudentSchoolAssociation', 'true'));
SELECT keys('/ed-fi/studentSchoolAssociations/deletes');

-- The id is the one of the address of the document.
SELECT headers ->> 'Location' AS location FROM dms.handle_request('POST', '/ed-fi/schools', '{}',
	'{"schoolId": 3, "nameOfInstitution": "U", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade"}]}') \gset
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/schools/' || id('edfi.School', 'SchoolId = 3'));
SELECT i -> 'keyValues', right(:'location', 36) = i ->> 'id' AS same FROM json_array_elements((dms.handle_request('GET', '/ed-fi/schools/deletes')).body) AS i;

--
-- Changed keys
--

CREATE FUNCTION rename_period(old_name text, new_name text) RETURNS int LANGUAGE sql AS $$
	SELECT r.status FROM (SELECT id('edfi.ClassPeriod', format('ClassPeriodName = %L', old_name)) AS id) AS d,
		dms.handle_request('PUT', '/ed-fi/classPeriods/' || d.id, '{}', json_build_object('id', d.id, 'classPeriodName', new_name, 'schoolReference', json_build_object('schoolId', 1))::text) AS r
$$;
SELECT request('GET', '/ed-fi/classPeriods/keyChanges');
SELECT rename_period('first', 'third');
SELECT newest() AS renamed \gset
SELECT request('GET', '/ed-fi/classPeriods/keyChanges?totalCount=true');
-- Several changes are one, from the first key to the last.
SELECT rename_period('third', 'fourth');
SELECT keys('/ed-fi/classPeriods/keyChanges');
SELECT keys('/ed-fi/classPeriods/KEYCHANGES?maxChangeVersion=' || :renamed), keys('/ed-fi/classPeriods/keyChanges?minChangeVersion=' || :renamed + 1);
SELECT rename_period('second', 'first');
SELECT keys('/ed-fi/classPeriods/keyChanges'), keys('/ed-fi/classPeriods/keyChanges?limit=1&offset=1');
SELECT headers ->> 'Total-Count' FROM dms.handle_request('GET', '/ed-fi/classPeriods/keyChanges?limit=1&totalCount=true');
-- There and back again is none.
SELECT rename_period('first', 'second');
SELECT keys('/ed-fi/classPeriods/keyChanges');
SELECT headers ->> 'Total-Count' FROM dms.handle_request('GET', '/ed-fi/classPeriods/keyChanges?totalCount=true');
-- A change that leaves the key is none.
SELECT student('1', 'Augusta'), keys('/ed-fi/students/keyChanges');
-- A delete whose key another document has got is hidden: shown, a client would delete that one.
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/classPeriods/' || id('edfi.ClassPeriod', 'ClassPeriodName = ''second'''));
SELECT keys('/ed-fi/classPeriods/deletes');
SELECT rename_period('fourth', 'second');
SELECT keys('/ed-fi/classPeriods/deletes'), keys('/ed-fi/classPeriods/keyChanges');
-- Descriptors, and types whose keys never change.
SELECT p, request('GET', p) FROM unnest('{/ed-fi/gradeLevelDescriptors/keyChanges,/ed-fi/students/keyChanges}'::text[]) AS p;
SELECT status FROM dms.handle_request('POST', '/ed-fi/gradeLevelDescriptors', '{}', '{"namespace": "uri://g", "codeValue": "Gone", "shortDescription": "x"}');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/gradeLevelDescriptors/' || id('dms.Descriptor', 'CodeValue = ''Gone'''));
SELECT keys('/ed-fi/gradeLevelDescriptors/deletes');
-- Recreated descriptors hide their deletes as all others do.
SELECT status FROM dms.handle_request('POST', '/ed-fi/gradeLevelDescriptors', '{}', '{"namespace": "URI://G", "codeValue": "gone", "shortDescription": "x"}');
SELECT keys('/ed-fi/gradeLevelDescriptors/deletes');

--
-- Paths and parameters
--

SELECT m, p, status, headers ->> 'Allow', body ->> 'type' FROM unnest('{POST,PUT,DELETE,PATCH}'::text[]) AS m, unnest('{deletes,keyChanges}'::text[]) AS p,
	dms.handle_request(m, '/ed-fi/students/' || p, '{}', '{}');
SELECT p, status, body ->> 'type' FROM unnest('{/ed-fi/nothing/deletes,/nothing/students/deletes,/ed-fi/students/deletes/1,/ed-fi/educationOrganizations/deletes,/ed-fi/students/keychange}'::text[]) AS p,
	dms.handle_request('GET', p);
SELECT p, q, status, headers ->> 'Content-Type' AS content, body ->> 'type' AS type, body -> 'errors'
FROM unnest('{deletes,keyChanges}'::text[]) AS p, unnest('{studentUniqueId=1&pageToken=2&id=3,limit=x&studentUniqueId=1,minChangeVersion=x,offset=-1&minChangeVersion=x,totalCount=1,limit=501,%zz}'::text[]) AS q,
	dms.handle_request('GET', '/ed-fi/students/' || p || '?' || q);
-- A resource and a project of these names would have these paths.
\set VERBOSITY terse
SELECT dms.deploy_schema(replace(:'school', '"projectEndpointName": "ed-fi"', '"projectEndpointName": "changeQueries"')::json);

--
-- Rights
--

CREATE ROLE regress_request_changes;
SELECT dms.grant_access('regress_request_changes', 'reader');
SET ROLE regress_request_changes;
SELECT newest() > 0, keys('/ed-fi/classPeriods/keyChanges'), students('minChangeVersion=' || :three);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION dms.deleted_documents FROM regress_request_changes;
SET ROLE regress_request_changes;
SELECT p, status, body -> 'errors' FROM unnest('{/ed-fi/students/deletes,/ed-fi/students/keyChanges}'::text[]) AS p, dms.handle_request('GET', p);
RESET ROLE;
-- No key of a document that a policy hides is told.
GRANT EXECUTE ON FUNCTION dms.deleted_documents TO regress_request_changes;
ALTER TABLE edfi.Student ENABLE ROW LEVEL SECURITY;
SET ROLE regress_request_changes;
SELECT p, status, headers ->> 'Total-Count', body FROM unnest('{/ed-fi/students/deletes,/ed-fi/students/keyChanges,/ed-fi/students}'::text[]) AS p, dms.handle_request('GET', p || '?totalCount=true&minChangeVersion=1');
RESET ROLE;
ALTER TABLE edfi.Student DISABLE ROW LEVEL SECURITY;
-- Nor by any function or request, if the document is there, has another key, or is gone.
SELECT next_cursor AS start FROM dms.read_changes(with_documents => false) WHERE kind = 'end' \gset
SELECT status FROM unnest('{secret one,secret gone,open}'::text[]) AS name, dms.handle_request('POST', '/ed-fi/classPeriods', '{}',
	json_build_object('classPeriodName', name, 'schoolReference', json_build_object('schoolId', 1))::text);
SELECT next_cursor AS middle FROM dms.read_changes(:'start', 10, false) WHERE kind = 'end' \gset
SELECT rename_period('secret one', 'secret two');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/classPeriods/' || id('edfi.ClassPeriod', 'ClassPeriodName = ''secret gone'''));
CREATE TABLE asked (n serial, name text, statement text);
INSERT INTO asked (name, statement) VALUES ('feed', 'dms.read_changes()'),
	('feed after a cursor', format('dms.read_changes(%L)', :'start')),
	('feed without documents', format('dms.read_changes(%L, with_documents => false)', :'middle')),
	('tables', 'dms.TrackedChange'),
	('changed documents', 'dms.changed_documents(''ed-fi'', ''classPeriods'')'),
	('changed documents, page', 'dms.changed_documents(''ed-fi'', ''classPeriods'', after_version => 1, after_document_id => 1)'),
	('deleted documents', 'dms.deleted_documents(''ed-fi'', ''classPeriods'')'),
	('changed keys', 'dms.changed_keys(''ed-fi'', ''classPeriods'')'),
	('query from a number', 'dms.query_documents(''ed-fi'', ''classPeriods'', min_change_version => 1)'),
	('query up to a number', 'dms.query_documents(''ed-fi'', ''classPeriods'', max_change_version => 4611686018427387904)'),
	('query with a filter', 'dms.query_documents(''ed-fi'', ''classPeriods'', ''{"schoolId": 1}'', 25, 0, NULL, 1, 4611686018427387904)');
INSERT INTO asked (name, statement) SELECT 'GET ' || path, format('dms.handle_request(''GET'', %L)', '/ed-fi/classPeriods' || path)
FROM unnest('{/deletes,/keyChanges,?minChangeVersion=1,?maxChangeVersion=4611686018427387904,?minChangeVersion=1&maxChangeVersion=4611686018427387904&schoolId=1,?totalCount=true}'::text[]) AS path;
CREATE FUNCTION names_it(asked text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text;
BEGIN
	EXECUTE format('SELECT string_agg(q::text, '' '') FROM %s AS q', asked) INTO told;
	RETURN coalesce(told LIKE '%secret%', false);
EXCEPTION WHEN insufficient_privilege THEN
	RETURN 'refused';
END $$;
CREATE FUNCTION counted() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', dms.count_documents('ed-fi', 'classPeriods', '{}', 1), dms.count_documents('ed-fi', 'classPeriods', '{}', NULL, 4611686018427387904),
		(SELECT sum(documents) FROM dms.document_digests('ed-fi', 'classPeriods')),
		(SELECT string_agg(headers ->> 'Total-Count', ' ' ORDER BY path) FROM unnest('{/deletes,/keyChanges,?minChangeVersion=1}'::text[]) AS path,
			dms.handle_request('GET', '/ed-fi/classPeriods' || path || CASE WHEN path LIKE '?%' THEN '&' ELSE '?' END || 'totalCount=true')))
$$;
CREATE TABLE open AS SELECT n, name, names_it(statement) AS to_all FROM asked;
SELECT counted();
GRANT SELECT ON asked, open TO regress_request_changes;
CREATE POLICY visible ON edfi.ClassPeriod USING (ClassPeriodName NOT LIKE 'secret%');
ALTER TABLE edfi.ClassPeriod ENABLE ROW LEVEL SECURITY;
SET ROLE regress_request_changes;
SELECT name, to_all, names_it(statement) AS to_a_reader FROM asked JOIN open USING (n, name) ORDER BY n;
SELECT counted();
RESET ROLE;
-- A policy on dms.Document hides them, too.
ALTER TABLE edfi.ClassPeriod DISABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON dms.Document USING (ResourceName <> 'ClassPeriod');
ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY;
SET ROLE regress_request_changes;
SELECT name, names_it(statement) AS to_a_reader FROM asked ORDER BY n;
SELECT counted();
RESET ROLE;
ALTER TABLE dms.Document DISABLE ROW LEVEL SECURITY;
DROP POLICY visible ON dms.Document;

--
-- Switched off, and purged
--

SELECT dms.set_change_tracking(false);
SELECT request('GET', '/changeQueries/v1/availableChangeVersions');
SELECT p, status, body ->> 'type', body ->> 'title' FROM unnest('{/ed-fi/students/deletes,/ed-fi/students/keyChanges,/ed-fi/students?minChangeVersion=1,/ed-fi/students?maxChangeVersion=1,/ed-fi/students?maxChangeVersion=,/ed-fi/students}'::text[]) AS p,
	dms.handle_request('GET', p);
SELECT dms.set_change_tracking(true);
SELECT keys('/ed-fi/students/deletes');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/students/' || id('edfi.Student', 'StudentUniqueId = ''1'''));
SELECT keys('/ed-fi/students/deletes');
SELECT dms.purge_tracked_changes('0 s') AS purged;
SELECT keys('/ed-fi/students/deletes');
SELECT (body ->> 'oldestChangeVersion')::bigint > :deleted AS oldest_rises FROM dms.handle_request('GET', '/changeQueries/v1/availableChangeVersions');
DROP OWNED BY regress_request_changes;
\c :home
DROP DATABASE dms_request_changes;
DROP ROLE regress_request_changes;
