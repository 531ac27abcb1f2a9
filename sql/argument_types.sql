-- Bodies and filters may be text, json or jsonb, so that the natural call of every
-- driver works.  test/t/073_drivers.pl makes these calls from drivers.
\set home :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_argument_types;
CREATE DATABASE dms_argument_types TEMPLATE template0 ENCODING 'UTF8';
\c dms_argument_types
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
\set student '{"studentUniqueId": "1", "firstName": "Ada", "lastSurname": "King", "birthDate": "2014-02-03"}'

--
-- Writing
--

-- A literal without a type is text.
SELECT outcome, document_uuid AS id FROM dms.upsert_document('ed-fi', 'students', :'student') \gset
\echo :outcome
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', :'student'::text);
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', :'student'::varchar);
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', :'student'::json);
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', :'student'::jsonb);
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', document => :'student', if_match => 1);
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', document => :'student'::jsonb, if_match => 1);
SELECT outcome FROM dms.update_document(:'id', :'student');
SELECT outcome FROM dms.update_document(:'id', :'student'::json);
SELECT outcome FROM dms.update_document(:'id', :'student'::jsonb, 1);
-- Constants are evaluated once, and used for many calls.
SELECT count(*), min((dms.upsert_document('ed-fi', 'students', :'student'::jsonb)).outcome) FROM generate_series(1, 3);
SELECT (dms.upsert_document('ed-fi', 'students', jsonb_build_object('studentUniqueId', n::text, 'firstName', 'F', 'lastSurname', 'L', 'birthDate', '2014-02-03'))).outcome
FROM generate_series(2, 3) AS n;
-- A NULL has no type either.
\set VERBOSITY terse
SELECT dms.upsert_document('ed-fi', 'students', NULL);
SELECT dms.upsert_document('ed-fi', 'students', NULL::jsonb);
SELECT dms.update_document(:'id', NULL);
-- Duplicate keys are seen, except in jsonb, which has none.
SELECT dms.upsert_document('ed-fi', 'students', replace(:'student', '"birth', '"firstName": "Ada", "birth'));
SELECT dms.upsert_document('ed-fi', 'students', replace(:'student', '"birth', '"firstName": "Ada", "birth')::json);
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', replace(:'student', '"birth', '"firstName": "Ada", "birth')::jsonb);
-- Text that is not JSON is a problem of ours.
SELECT dms.upsert_document('ed-fi', 'students', '{"studentUniqueId":');
SELECT dms.upsert_document('ed-fi', 'students', '');
SELECT dms.upsert_document('ed-fi', 'students', '[]'::jsonb);
SELECT dms.upsert_document('ed-fi', 'students', 'null'::jsonb);
SELECT dms.upsert_document('ed-fi', 'students', 1);

--
-- Reading
--

SELECT count(*) FROM dms.query_documents('ed-fi', 'students');
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', page_limit => 2);
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{"firstName": "F"}');
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{"firstName": "F"}'::text, 1);
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{"firstName": ["F", "Ada"]}'::json, page_offset => 1);
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{"firstName": "F"}'::jsonb, 1, 1);
SELECT dms.count_documents('ed-fi', 'students'), dms.count_documents('ed-fi', 'students', '{"birthDate": "2014-02-03"}'),
	dms.count_documents('ed-fi', 'students', '{"birthDate": "2014-02-03"}'::json),
	dms.count_documents('ed-fi', 'students', '{"birthDate": "2014-02-03"}'::jsonb),
	dms.count_documents('ed-fi', 'students', '{}'::text);
SELECT dms.resolve('ed-fi', 'students', '{"studentUniqueId": "1"}') = :'id' AS untyped,
	dms.resolve('ed-fi', 'students', '{"studentUniqueId": "1"}'::text) = :'id' AS text,
	dms.resolve('ed-fi', 'students', '{"studentUniqueId": "1"}'::json) = :'id' AS json,
	dms.resolve('ed-fi', 'students', '{"studentUniqueId": "1"}'::jsonb) = :'id' AS jsonb,
	dms.resolve('ed-fi', 'students', NULL) AS nothing;
SELECT dms.query_documents('ed-fi', 'students', NULL);
SELECT dms.query_documents('ed-fi', 'students', '{"firstName": "F", "firstName": "G"}');
SELECT dms.count_documents('ed-fi', 'students', '{"firstName":');
SELECT dms.count_documents('ed-fi', 'students', '[]');
SELECT dms.count_documents('ed-fi', 'students', '[]'::jsonb);

--
-- Requests
--

SELECT status FROM dms.handle_request('GET', '/ed-fi/students');
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', '{}');
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', '{}'::json);
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', '{}'::jsonb);
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', NULL, NULL);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', body => :'student');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "1"}', :'student');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::text, :'student'::text);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "2"}'::json, :'student');
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "2"}'::json, :'student'::json);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "2"}', :'student'::json);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "2"}', :'student'::jsonb);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::jsonb, :'student'::jsonb);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::jsonb, :'student');
-- Headers come from the front, so what is no JSON there is its error.
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', '{');
\set VERBOSITY default

--
-- The procedure gives three columns, and everything but method and path has a
-- default.
--

CALL dms.process_request('GET', '/ed-fi/students?limit=0');
CALL dms.process_request('GET', '/ed-fi/students?limit=0', '{}');
CALL dms.process_request('POST', '/ed-fi/students', '{"If-Match": "1"}', :'student') \gset
\echo :status
CALL dms.process_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::json, :'student'::text) \gset
\echo :status
CALL dms.process_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::json, :'student'::json) \gset
\echo :status
CALL dms.process_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::jsonb, :'student'::jsonb) \gset
\echo :status
CALL dms.process_request('POST', '/ed-fi/students', '{"If-Match": "1"}'::jsonb, :'student') \gset
\echo :status
CALL dms.process_request('POST', path => '/ed-fi/students', request_body => :'student') \gset
\echo :status
CALL dms.process_request('GET', '/ed-fi/students?limit=0', NULL, NULL, NULL, NULL, NULL);
-- Where it cannot have a transaction of its own, it says what to do instead.
BEGIN;
CALL dms.process_request('GET', '/ed-fi/students?limit=0');
ROLLBACK;
BEGIN;
CALL dms.process_request('GET', '/ed-fi/students?limit=0', '{}'::json);
ROLLBACK;
CREATE FUNCTION in_function() RETURNS void LANGUAGE plpgsql AS $$
DECLARE s integer; h jsonb; b json;
BEGIN CALL dms.process_request('GET', '/ed-fi/students?limit=0', '{}'::jsonb, NULL::text, s, h, b); END $$;
SELECT in_function();
DO $$
DECLARE s integer; h jsonb; b json;
BEGIN
	CALL dms.process_request('GET', '/ed-fi/students?limit=0', '{}', NULL, s, h, b);
	RAISE WARNING 'in a block of code: % %', s, b;
END $$;

--
-- Prepared statements: parameters without a type, and with each
--

PREPARE untyped AS SELECT outcome FROM dms.upsert_document($1, $2, $3);
EXECUTE untyped('ed-fi', 'students', :'student');
PREPARE typed(text, text, json) AS SELECT outcome FROM dms.upsert_document($1, $2, $3);
EXECUTE typed('ed-fi', 'students', :'student');
PREPARE binary_typed(text, text, jsonb) AS SELECT outcome FROM dms.upsert_document($1, $2, $3);
EXECUTE binary_typed('ed-fi', 'students', :'student');
PREPARE request AS SELECT status FROM dms.handle_request($1, $2, $3, $4);
EXECUTE request('POST', '/ed-fi/students', '{"If-Match": "1"}', :'student');
PREPARE query AS SELECT count(*) FROM dms.query_documents($1, $2, $3);
EXECUTE query('ed-fi', 'students', '{"firstName": "F"}');
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name;

\c :home
DROP DATABASE dms_argument_types;
