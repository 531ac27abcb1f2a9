-- Requests: an HTTP front end passes them on, and sends the answers back.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_requests;
CREATE DATABASE dms_requests TEMPLATE template0 ENCODING 'UTF8';
\c dms_requests
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`

-- Without a store there is no answer, because that is not a mistake of the
-- client.
\set VERBOSITY terse
SELECT * FROM dms.handle_request('GET', '/ed-fi/students');
\set VERBOSITY default
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

\pset null (null)
\pset format unaligned
\pset tuples_only on
-- Ids and times differ from run to run.
CREATE FUNCTION plain(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT regexp_replace(regexp_replace(value, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '{id}', 'g'),
		'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', '{time}', 'g')
$$;
CREATE FUNCTION request(method text, path text, body text DEFAULT NULL, headers jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE sql AS $$
	SELECT plain(concat_ws(E'\n', status || ' ' || headers, body))
	FROM dms.handle_request($1, $2, '{"correlationid": "c1"}' || $4, $3)
$$;

--
-- Writing: created, found, changed, updated, deleted
--

SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "1", "firstName": "Ada", "lastSurname": "Byron", "birthDate": "2014-02-03"}');
SELECT DocumentUuid AS ada FROM dms.Document \gset
\set ada_path /ed-fi/students/ :ada
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "1", "firstName": "Ada", "lastSurname": "Byron", "birthDate": "2014-02-03"}');
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "1", "firstName": "Augusta", "lastSurname": "Byron", "birthDate": "2014-02-03"}');
SELECT request('PUT', :'ada_path', json_build_object('id', :'ada', 'studentUniqueId', '1', 'firstName', 'Ada', 'lastSurname', 'King', 'birthDate', '2014-02-03')::text);
SELECT request('GET', :'ada_path');
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "2", "firstName": "Bob", "lastSurname": "Hall", "birthDate": "2014-02-03"}');
SELECT DocumentUuid AS bob FROM dms.Document ORDER BY DocumentId DESC LIMIT 1 \gset
SELECT request('DELETE', '/ed-fi/students/' || :'bob');
SELECT (dms.handle_request('GET', '/ed-fi/students/' || :'bob')).*;

--
-- Paths: in any case, percent-encoded, with or without a slash at the end;
-- endpoint names only
--

SELECT status FROM dms.handle_request('GET', '/ED-FI/STUDENTS/' || upper(:'ada'));
SELECT status FROM dms.handle_request('get', '/%65d-fi/s%74udents/' || :'ada' || '/');
SELECT request('GET', '/ed-fi/Student');
SELECT status FROM dms.handle_request('GET', '/Ed-Fi/student/' || :'ada');
SELECT status FROM dms.handle_request('GET', '/ed-fi/educationOrganizations');
SELECT p, (dms.handle_request(m, p)).status, (dms.handle_request(m, p)).body ->> 'type' AS type
FROM unnest(ARRAY['', '/', '//', '/ed-fi', 'ed-fi/students', '/ed-fi//students', '/nothing/students', '/ed-fi/students/1/2',
	'/ed-fi/%zz', '/ed-fi/students%', '/ed-fi/%00', '/ed-fi/%ff', '/ed-fi/' || repeat('x', 300), '/ed-fi%2Fstudents']) AS p,
	unnest('{GET,POST}'::text[]) AS m ORDER BY m, p COLLATE "C";

-- The detail names the part that is wrong.
SELECT p, body ->> 'detail' FROM unnest(ARRAY['/', '/ed-fi', 'ed-fi/students', '/edfi/students', '/nothing/students', '/ed-fi/pupils',
	'/ed-fi/students/1/2', '/ed-fi/%zz', '/ed-fi/students/newest']) AS p, dms.handle_request('GET', p);

-- A document of another endpoint is not found.
SELECT status, body FROM dms.handle_request('GET', '/ed-fi/schools/' || :'ada');
SELECT request('DELETE', '/ed-fi/schools/' || :'ada');
SELECT request('PUT', '/ed-fi/courses/' || :'ada', json_build_object('id', :'ada', 'courseCode', 'c', 'courseTitle', 't', 'numberOfParts', 1, 'educationOrganizationReference', json_build_object('educationOrganizationId', 1))::text);

-- A method that the path does not have.
SELECT request('POST', :'ada_path', '{}');
SELECT request('PUT', '/ed-fi/students', '{}');
SELECT request('DELETE', '/ed-fi/students');
SELECT request('PATCH', :'ada_path', '{}');
SELECT m, (dms.handle_request(m, '/ed-fi/students')).status FROM unnest('{HEAD,OPTIONS,"",BREW}'::text[]) AS m;

-- An invalid id.
SELECT request('GET', '/ed-fi/students/1');
SELECT i, (dms.handle_request('DELETE', '/ed-fi/students/' || i)).status
FROM unnest('{x,"{01890000-0000-7000-8000-000000000000}",01890000000070008000000000000000}'::text[]) AS i;

-- GET of a missing document has no body; PUT and DELETE have one, whose detail
-- says it all.
\set missing 01890000-0000-7000-8000-000000000000
SELECT request('GET', '/ed-fi/students/' || :'missing');
SELECT request('DELETE', '/ed-fi/students/' || :'missing');
SELECT request('PUT', '/ed-fi/students/' || :'missing', json_build_object('id', :'missing', 'studentUniqueId', '9', 'firstName', 'N', 'lastSurname', 'N', 'birthDate', '2014-02-03')::text);

--
-- Bodies, in the order of the checks
--

SELECT request('POST', '/ed-fi/students', '{"studentUniqueId":', '{"Content-Type": "text/xml"}');
SELECT t, (dms.handle_request('POST', '/ed-fi/students', jsonb_build_object('content-type', t), '')).status
FROM unnest('{"application/json","Application/JSON; charset=utf-8","application/vnd.ed-fi.student+json",""," ","text/plain","application/jsonx","application/json, text/plain","json","application/"}'::text[]) AS t;
SELECT request('POST', '/ed-fi/students');
SELECT request('POST', '/ed-fi/students', E' \n');
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId":');
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "\u0000"}');
SELECT request('POST', '/ed-fi/students', repeat('[', 100000));
SELECT request('POST', '/ed-fi/students', repeat('{"a":', 1001) || '1' || repeat('}', 1001));
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "1", "studentUniqueId": "1"}');
SELECT request('POST', '/ed-fi/students', '{"ID": 1}');
SELECT request('POST', '/ed-fi/students', '{"studentUniqueId": "1", "birthDate": "yesterday"}');
SELECT request('PUT', :'ada_path', '{"studentUniqueId": "1"}');
SELECT request('PUT', :'ada_path', json_build_object('id', :'missing', 'studentUniqueId', '1', 'firstName', 'Ada', 'lastSurname', 'King', 'birthDate', '2014-02-03')::text);
SELECT request('PUT', :'ada_path', json_build_object('id', :'ada', 'studentUniqueId', '3', 'firstName', 'Ada', 'lastSurname', 'King', 'birthDate', '2014-02-03')::text);

-- 405, and a parameter of paging that is not valid, are plain JSON, because
-- existing clients expect it.  All other problems are application/problem+json.
SELECT m, p, status, headers ->> 'Content-Type' AS type
FROM (VALUES ('PATCH', '/ed-fi/students'), ('DELETE', '/ed-fi/students'), ('GET', '/ed-fi/students?limit=x'),
	('GET', '/ed-fi/students?offset=-1'), ('GET', '/ed-fi/students?totalCount=1'), ('GET', '/ed-fi/students?limit=501&firstName=%'),
	('GET', '/ed-fi/students?firstName=%'), ('GET', '/ed-fi/students?nothing=1'), ('GET', '/ed-fi/students?birthDate=x'),
	('GET', '/ed-fi/students/x'), ('GET', '/ed-fi/nothing'), ('POST', '/ed-fi/students')) AS r (m, p), dms.handle_request(m, p);

--
-- References, descriptors, identities
--

SELECT request('POST', '/ed-fi/gradeLevelDescriptors', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Tenth grade", "shortDescription": "10"}');
SELECT request('POST', '/ed-fi/schools', '{"schoolId": 1, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#None"}]}');
SELECT request('POST', '/ed-fi/schools', '{"schoolId": 1, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}]}');
SELECT request('POST', '/ed-fi/classPeriods', '{"classPeriodName": "first", "schoolReference": {"schoolId": 2}}');
SET dms.unresolved_reference_status = 400;
SELECT request('POST', '/ed-fi/classPeriods', '{"classPeriodName": "first", "schoolReference": {"schoolId": 2}}');
RESET dms.unresolved_reference_status;
SELECT request('POST', '/ed-fi/classPeriods', '{"classPeriodName": "first", "schoolReference": {"schoolId": 1}}');
SELECT DocumentUuid AS school FROM dms.Document WHERE ResourceName = 'School' \gset
SELECT request('DELETE', '/ed-fi/schools/' || :'school');
-- All that refer to it are listed, with their numbers; the members stay in one
-- order.
SELECT DocumentUuid AS grade FROM dms.Document WHERE ResourceName = 'GradeLevelDescriptor' \gset
SELECT status FROM dms.handle_request('POST', '/ed-fi/schools', '{}', '{"schoolId": 8, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}]}');
SELECT request('DELETE', '/ed-fi/gradeLevelDescriptors/' || :'grade');
SELECT DocumentUuid AS other FROM dms.Document ORDER BY DocumentId DESC LIMIT 1 \gset
SELECT status FROM dms.handle_request('POST', '/ed-fi/courses', '{}', '{"courseCode": "M", "courseTitle": "M", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 8}}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/classPeriods', '{}', '{"classPeriodName": "first", "schoolReference": {"schoolId": 8}}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/classPeriods', '{}', '{"classPeriodName": "second", "schoolReference": {"schoolId": 8}}');
SELECT body ->> 'detail', body -> 'errors', body -> 'dependents' FROM dms.handle_request('DELETE', '/ed-fi/schools/' || :'other');
SELECT count(dms.delete_document(r.referencingdocumentuuid)) FROM dms.referencing_documents(:'other') AS r;
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/schools/' || :'other');
-- A descriptor never changes its identity, also not as a document like others.
SELECT request('PUT', '/ed-fi/gradeLevelDescriptors/' || :'grade', json_build_object('id', :'grade', 'namespace', 'uri://ed-fi.org/GradeLevelDescriptor', 'codeValue', 'Ninth grade', 'shortDescription', '9')::text);
SELECT request('POST', '/ed-fi/classPeriods', '{"classPeriodName": "second", "schoolReference": {"schoolId": 1}}');
SELECT DocumentUuid AS second FROM dms.Document ORDER BY DocumentId DESC LIMIT 1 \gset
SELECT request('PUT', '/ed-fi/classPeriods/' || :'second', json_build_object('id', :'second', 'classPeriodName', 'first', 'schoolReference', json_build_object('schoolId', 1))::text);
SELECT request('PUT', '/ed-fi/classPeriods/' || :'second', json_build_object('id', :'second', 'classPeriodName', 'third', 'schoolReference', json_build_object('schoolId', 1))::text);
-- A change of identity that would leave contradictions, and one that would
-- reach too many documents.
SELECT status FROM dms.handle_request('POST', '/ed-fi/schools', '{}', '{"schoolId": 3, "nameOfInstitution": "T", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}]}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/termDescriptors', '{}', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Fall", "shortDescription": "Fall"}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/schoolYearTypes', '{}', '{"schoolYear": 2030, "schoolYearDescription": "2029-2030", "currentSchoolYear": true}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/courses', '{}', '{"courseCode": "M", "courseTitle": "M", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 1}}');
CREATE FUNCTION session(school integer, name text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('sessionName', name, 'schoolReference', jsonb_build_object('schoolId', school),
		'schoolYearTypeReference', jsonb_build_object('schoolYear', 2030), 'beginDate', '2029-08-01', 'endDate', '2029-12-20',
		'termDescriptor', 'uri://ed-fi.org/TermDescriptor#Fall', 'totalInstructionalDays', 80);
$$;
SELECT status FROM dms.handle_request('POST', '/ed-fi/sessions', '{}', session(1, 'fall')::text);
SELECT DocumentUuid AS session FROM dms.Document ORDER BY DocumentId DESC LIMIT 1 \gset
SELECT status FROM dms.handle_request('POST', '/ed-fi/courseOfferings', '{}', '{"localCourseCode": "abc", "schoolReference": {"schoolId": 1},
	"sessionReference": {"schoolId": 1, "schoolYear": 2030, "sessionName": "fall"}, "courseReference": {"courseCode": "M", "educationOrganizationId": 1}}');
SELECT request('PUT', '/ed-fi/sessions/' || :'session', (session(3, 'fall') || jsonb_build_object('id', :'session'))::text);
SET dms.max_cascade_size = 1;
SELECT request('PUT', '/ed-fi/sessions/' || :'session', (session(1, 'autumn') || jsonb_build_object('id', :'session'))::text);
RESET dms.max_cascade_size;
SELECT request('PUT', '/ed-fi/sessions/' || :'session', (session(1, 'autumn') || jsonb_build_object('id', :'session'))::text);

--
-- Conditional requests
--

\set body '{"studentUniqueId": "1", "firstName": "Ada", "lastSurname": "King", "birthDate": "2014-02-03"}'
SELECT request('POST', '/ed-fi/students', :'body', '{"If-Match": "\"2\""}');
SELECT e, (dms.handle_request('POST', '/ed-fi/students', jsonb_build_object('IF-MATCH', e), :'body')).status
FROM unnest(ARRAY['"3"', '3', '*', '"1", "3"', ' 3 ', 'W/"3"', '"x"', '"3', '"03"', '99999999999999999999', ',', '']) AS e;
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"if-match": 3}', :'body');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"if-match": ["\"2\"", "\"3\""]}', :'body');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"if-match": "2", "If-Match": "3"}', :'body');
SELECT request('POST', '/ed-fi/students', :'body', '{"If-None-Match": "*"}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-None-Match": "\"3\""}', :'body');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-None-Match": "\"2\""}', :'body');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-None-Match": "*"}', replace(:'body', '"1"', '"4"'));
-- A missing document matches no etag.
SELECT request('PUT', '/ed-fi/students/' || :'missing', json_build_object('id', :'missing', 'studentUniqueId', '9', 'firstName', 'N', 'lastSurname', 'N', 'birthDate', '2014-02-03')::text, '{"If-Match": "*"}');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/students/' || :'missing', '{"If-Match": "1"}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "*"}', replace(:'body', '"1"', '"5"'));
SELECT status FROM dms.handle_request('DELETE', :'ada_path', '{"If-Match": "\"2\""}');
SELECT status FROM dms.handle_request('DELETE', :'ada_path', '{"If-None-Match": "*"}');
SELECT request('GET', :'ada_path', NULL, '{"If-None-Match": "\"3\""}');
SELECT e, (dms.handle_request('GET', :'ada_path', jsonb_build_object('If-None-Match', e))).status
FROM unnest(ARRAY['*', 'W/"3"', '"1", "3"', '"2"']) AS e;

--
-- Queries
--

SELECT count(status) FROM generate_series(11, 19) AS n,
	dms.handle_request('POST', '/ed-fi/students', '{}', json_build_object('studentUniqueId', n::text, 'firstName', 'F' || n % 3,
		'lastSurname', 'Ørsted & Søn', 'birthDate', '2014-02-0' || n % 2 + 1, 'multipleBirthStatus', n % 2 = 0)::text);
CREATE FUNCTION query(query text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', status, headers ->> 'Total-Count',
		CASE status WHEN 200 THEN (SELECT coalesce(json_agg((d ->> 'studentUniqueId')::int)::text, 'none') FROM json_array_elements(body) AS d)
			ELSE (body ->> 'type') || ' ' || (body -> 'validationErrors')::text || (body -> 'errors')::text END)
	FROM dms.handle_request('GET', '/ed-fi/students' || query)
$$;
SELECT request('GET', '/ed-fi/students?studentUniqueId=1&totalCount=true');
SELECT request('GET', '/ed-fi/sessions?totalCount=true');
SELECT q, query(q) FROM unnest(ARRAY['', '?', '?&&', '?limit=2', '?LIMIT=2&Offset=3', '?limit=0', '?limit=500&offset=9999999', '?offset=9223372036854775807',
	'?limit=0&totalCount=TRUE', '?totalcount=false&limit=1', '?limit=2&totalCount=true&firstName=F1', '?firstName=F1&firstName=F2',
	'?firstName=F1&FIRSTNAME=F2', '?firstname=F1&multipleBirthStatus=TRUE', '?lastSurname=%C3%98rsted+%26+S%C3%B8n&limit=1',
	'?lastSurname=%c3%98rsted%20%26%20S%c3%b8n&limit=1', '?lastSurname=%27%20OR%201=1', '?birthDate=2014-02-01T10:00:00Z&limit=3',
	'?id=none', '?firstName', '?firstName=', '?birthDate=2014-02-03&limit=1&totalCount=true']) AS q;
SELECT q, query(q) FROM unnest(ARRAY['?limit=501', '?limit=-1', '?limit=', '?limit=x&offset=-1&totalCount=maybe', '?limit=1&limit=2',
	'?offset=9223372036854775808', '?nothing=1&Nobody=2', '?birthDate=soon&multipleBirthStatus=perhaps', '?=1', '?firstName=%', '?firstName=%zz',
	'?firstName=%00', '?firstName=%ff', '?%ff=1', '?limit=501&nothing=1']) AS q;
SELECT status, body ->> 'type' FROM dms.handle_request('GET', '/ed-fi/nothing?limit=x');
SELECT DISTINCT query('?id=' || :'ada');

--
-- Rights: a role that may call this may read; writing needs the right to call
-- the write function
--

CREATE ROLE regress_requests;
SELECT dms.grant_access('regress_requests', 'reader');
SET ROLE regress_requests;
SELECT status FROM dms.handle_request('GET', '/ed-fi/students?limit=1');
-- A role that may not read a table is told that, and nothing about SQL.
RESET ROLE;
REVOKE SELECT ON edfi.Student FROM regress_requests;
SET ROLE regress_requests;
SELECT status, body -> 'errors' FROM dms.handle_request('GET', '/ed-fi/students?limit=1');
SELECT status, body -> 'errors' FROM dms.handle_request('GET', :'ada_path');
RESET ROLE;
GRANT SELECT ON edfi.Student TO regress_requests;
SET ROLE regress_requests;
SELECT status, headers, body ->> 'type', body -> 'errors' FROM dms.handle_request('POST', '/ed-fi/students', '{}', :'body');
SELECT status FROM dms.handle_request('DELETE', :'ada_path');
RESET ROLE;
SELECT dms.grant_access('regress_requests', 'writer');
SET ROLE regress_requests;
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{}', :'body');
RESET ROLE;
SELECT dms.grant_access('regress_requests', 'none');
DROP ROLE regress_requests;

--
-- A failed request changes nothing, and the transaction goes on
--

BEGIN;
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{}', replace(:'body', '"1"', '"20"'));
SELECT status FROM dms.handle_request('POST', '/ed-fi/classPeriods', '{}', '{"classPeriodName": "x", "schoolReference": {"schoolId": 2}}');
SELECT status FROM dms.handle_request('DELETE', '/ed-fi/schools/' || :'school');
-- Its locks are released, too.
SELECT mode FROM pg_locks WHERE relation = 'edfi.classperiod'::regclass AND pid = pg_backend_pid();
COMMIT;
SELECT query('?studentUniqueId=20');

-- Messages of PostgreSQL are not sent to clients.
\set VERBOSITY sqlstate
SET default_transaction_read_only = on;
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{}', :'body');
SELECT status FROM dms.handle_request('GET', :'ada_path');
RESET default_transaction_read_only;
SET dms.lock_nowait = on;
SELECT dms.handle_request(NULL, '/ed-fi/students');
SELECT dms.handle_request('GET', NULL);
\set VERBOSITY default
RESET dms.lock_nowait;

--
-- The procedure
--

CALL dms.process_request('DELETE', :'ada_path', '{}', NULL);
CALL dms.process_request('GET', '/ed-fi/nothing', '{"correlationid": "c1"}', NULL);
BEGIN;
CALL dms.process_request('GET', :'ada_path', '{}', NULL);
ROLLBACK;
SELECT * FROM dms_internal.unavailable_response('{"CORRELATIONID": "c1"}');
-- Its transactions are READ COMMITTED, whatever the default is: so they cannot fail when they are committed.
CREATE FUNCTION tell_isolation() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE WARNING 'isolation level %', current_setting('transaction_isolation');
	RETURN NEW;
END $$;
CREATE TRIGGER tell_isolation BEFORE INSERT ON edfi.Student FOR EACH ROW EXECUTE FUNCTION tell_isolation();
SET default_transaction_isolation = serializable;
CALL dms.process_request('POST', '/ed-fi/students', '{}', :'body') \gset
\echo :status
RESET default_transaction_isolation;
DROP TRIGGER tell_isolation ON edfi.Student;

--
-- Correlation ids
--

SELECT body ->> 'correlationId' FROM dms.handle_request('GET', '/x', '{"CorrelationId": "a \"b\""}');
SELECT body ->> 'correlationId' FROM dms.handle_request('GET', '/x', '{"X-Correlation-ID": "c"}');
SELECT body ->> 'correlationId' FROM dms.handle_request('GET', '/x', '{"X-Correlation-ID": "c", "correlationid": "d"}');
SELECT plain(body ->> 'correlationId') FROM dms.handle_request('GET', '/x');
SELECT plain(body ->> 'correlationId') FROM dms.handle_request('GET', '/x', NULL);
SELECT request('GET', '/ed-fi/students', NULL, '[]');

--
-- Limits: what no server in front would let through is refused before it is read.
--

SELECT status, body ->> 'type', body -> 'errors' FROM dms.handle_request('GET', repeat('/', 8193));
SELECT status, body ->> 'type' FROM dms.handle_request('GET', '/ed-fi/students?' || repeat('a=1&', 16384));
SELECT status, body ->> 'type', body -> 'errors'
FROM dms.handle_request('GET', '/ed-fi/students', jsonb_build_object('If-None-Match', repeat('"1",', 5000)));
SELECT status, body ->> 'type'
FROM dms.handle_request('GET', '/ed-fi/students', jsonb_build_object('If-Match', jsonb_build_array(repeat('1', 9000), repeat('2', 9000))));
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', jsonb_build_object('X-Other', repeat('x', 100000)));
SELECT status FROM dms.handle_request('GET', '/ed-fi/' || repeat('s', 8185));
SELECT status FROM dms.handle_request('GET', '/ed-fi/students?limit=1&' || repeat('&', 65527));

--
-- A field that the schema maps into an optional reference also finds the documents
-- that have an equal value elsewhere: here enrollments without a calendar.
--

DROP DATABASE IF EXISTS dms_requests_equal;
CREATE DATABASE dms_requests_equal TEMPLATE template0 ENCODING 'UTF8';
\c dms_requests_equal
SET client_min_messages = warning;
CREATE EXTENSION dms;
\set file :top /test/schemas/equalities.json
\set equalities `cat :'file'`
SELECT dms.deploy_schema(:'equalities') IS NOT NULL AS deployed;
SELECT path, status FROM (VALUES
	('kindDescriptors', '{"namespace": "uri://x/KindDescriptor", "codeValue": "A", "shortDescription": "A"}'),
	('schools', '{"schoolId": 2}'), ('schools', '{"schoolId": 3}'), ('years', '{"year": 2025}'),
	('calendars', '{"code": "c", "kindDescriptor": "uri://x/KindDescriptor#A", "schoolReference": {"schoolId": 2}, "yearReference": {"year": 2025}}'),
	('enrollments', '{"enrollmentId": 1, "schoolReference": {"schoolId": 2}}'),
	('enrollments', '{"enrollmentId": 2, "schoolReference": {"schoolId": 2},
		"calendarReference": {"code": "c", "kindDescriptor": "uri://x/KindDescriptor#A", "schoolId": 2, "year": 2025}}'),
	('enrollments', '{"enrollmentId": 3, "schoolReference": {"schoolId": 3}, "yearReference": {"year": 2025}}')) v (path, body),
	dms.handle_request('POST', '/equalities/' || path, '{}', body);
SELECT q, status, headers ->> 'Total-Count' AS total, (SELECT string_agg(d ->> 'enrollmentId', ' ') FROM json_array_elements(body) AS d) AS found
FROM unnest(ARRAY['schoolId=2', 'SCHOOLID=3', 'schoolId=4', 'schoolId=2&schoolId=3', 'year=2025', 'year=2025&schoolId=3', 'year=2025&code=c',
	'year=2025&limit=1&offset=1', 'kindDescriptor=uri://x/kinddescriptor%23a']) AS q,
	dms.handle_request('GET', '/equalities/enrollments?totalCount=true&' || q);
SELECT status, body -> 'validationErrors' FROM dms.handle_request('GET', '/equalities/enrollments?schoolId=two');
\c dms_requests
DROP DATABASE dms_requests_equal;
