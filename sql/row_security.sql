-- Row-level security: policies of the store's owner bind what a role reads through the
-- functions, and nothing that it writes.
SET client_min_messages = warning;
\set home :DBNAME
DROP DATABASE IF EXISTS dms_row_security;
DROP ROLE IF EXISTS regress_rows_owner, regress_rows_reader, regress_rows_writer;
CREATE ROLE regress_rows_owner;
CREATE ROLE regress_rows_reader;
CREATE ROLE regress_rows_writer;
CREATE DATABASE dms_row_security OWNER regress_rows_owner TEMPLATE template0 ENCODING 'UTF8';
\c dms_row_security
SET client_min_messages = warning;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SET SESSION AUTHORIZATION regress_rows_owner;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SELECT dms.grant_access('regress_rows_reader', 'reader');
SELECT dms.grant_access('regress_rows_writer', 'writer');
\pset format unaligned
\pset tuples_only on

SELECT dms.upsert_document('ed-fi', 'gradeLevelDescriptors', json_build_object('namespace', 'uri://g', 'codeValue', code, 'shortDescription', code)) IS NOT NULL
FROM unnest(ARRAY['9', '10']) AS code;
SELECT outcome FROM dms.upsert_document('ed-fi', 'schools', '{"schoolId": 1, "nameOfInstitution": "North", "gradeLevels": [{"gradeLevelDescriptor": "uri://g#9"}]}');
SELECT count(dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 's' || n,
	'firstName', 'F' || n, 'lastSurname', 'Same', 'birthDate', '2014-01-0' || n)))
FROM generate_series(1, 6) AS n;
SELECT outcome FROM dms.upsert_document('ed-fi', 'studentSchoolAssociations', '{"entryDate": "2025-08-20", "schoolReference": {"schoolId": 1}, "studentReference": {"studentUniqueId": "s2"}, "entryGradeLevelDescriptor": "uri://g#9"}');
SELECT dms.resolve('ed-fi', 'students', '{"studentUniqueId": "s2"}') AS hidden \gset
SELECT dms.resolve('ed-fi', 'studentSchoolAssociations', '{"schoolId": 1, "studentUniqueId": "s2", "entryDate": "2025-08-20"}') AS enrollment \gset

-- What a role can read: a document, pages of it, counts.
CREATE FUNCTION page(filters jsonb DEFAULT '{}', size int DEFAULT 25, skip bigint DEFAULT 0) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(d ->> 'studentUniqueId', ' '), 'none') || ' of ' || dms.count_documents('ed-fi', 'students', $1)
	FROM dms.query_documents('ed-fi', 'students', $1, $2, $3) AS d
$$;
CREATE FUNCTION total(query text) RETURNS text LANGUAGE sql AS $$
	SELECT json_array_length(body) || ' of ' || (headers ->> 'Total-Count')
	FROM dms.handle_request('GET', '/ed-fi/students?totalCount=true&' || query)
$$;

--
-- A policy on dms.Document: a hidden document is in no page, and in no count
--

ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY;
CREATE POLICY every_second ON dms.Document FOR SELECT TO regress_rows_reader, regress_rows_writer
USING (DocumentId % 2 = 0);
SET SESSION AUTHORIZATION regress_rows_reader;
SELECT page();
SELECT page(size => 2), page(size => 2, skip => 2);
SELECT page('{"lastSurname": "Same"}', size => 2);
SELECT page('{"lastSurname": "Other"}');
SELECT total('limit=2'), total('lastSurname=Same&limit=1&offset=1');
SELECT count(*), dms.count_documents('ed-fi', 'gradeLevelDescriptors') FROM dms.query_documents('ed-fi', 'gradeLevelDescriptors');
-- The owner sees everything, unless the policy is forced upon it.
SET SESSION AUTHORIZATION regress_rows_owner;
SELECT page(), page(size => 2);
DROP POLICY every_second ON dms.Document;
-- A table with row-level security and without policies hides everything.
SET SESSION AUTHORIZATION regress_rows_reader;
SELECT page();
SET SESSION AUTHORIZATION regress_rows_owner;
ALTER TABLE dms.Document DISABLE ROW LEVEL SECURITY;

--
-- A policy on the table of a resource
--

ALTER TABLE edfi.Student ENABLE ROW LEVEL SECURITY;
CREATE POLICY no_second ON edfi.Student FOR SELECT TO regress_rows_reader, regress_rows_writer USING (StudentUniqueId <> 's2');
SET SESSION AUTHORIZATION regress_rows_reader;
SELECT page(), page(size => 2), total('limit=1');
SELECT dms.get_document(:'hidden') IS NULL AS hidden, dms.get_document(:'enrollment') -> 'studentReference' IS NULL AS reference_left_out;

-- It does not hide that there is such a document: identities are not rows of it.
SELECT dms.resolve('ed-fi', 'students', '{"studentUniqueId": "s2"}') = :'hidden' AS resolved;
SELECT count(*) AS enrollments FROM dms.query_documents('ed-fi', 'studentSchoolAssociations', '{"studentUniqueId": "s2"}');

-- Writers are bound by no policy: their statements run as the owner of the store, which
-- sees and changes hidden rows, and can refer to them.
SET SESSION AUTHORIZATION regress_rows_writer;
SELECT dms.get_document(:'hidden') IS NULL AS hidden;
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s2", "firstName": "Changed", "lastSurname": "Same", "birthDate": "2014-01-02"}');
SELECT outcome FROM dms.upsert_document('ed-fi', 'studentSchoolAssociations', '{"entryDate": "2026-08-20", "schoolReference": {"schoolId": 1}, "studentReference": {"studentUniqueId": "s2"}, "entryGradeLevelDescriptor": "uri://g#9"}');

-- Not even by one that is forced upon the owner, for that would tear rows from documents.
SET SESSION AUTHORIZATION regress_rows_owner;
CREATE POLICY nothing ON edfi.Student TO PUBLIC USING (false) WITH CHECK (false);
ALTER TABLE edfi.Student FORCE ROW LEVEL SECURITY;
SET SESSION AUTHORIZATION regress_rows_writer;
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s2", "firstName": "Again", "lastSurname": "Same", "birthDate": "2014-01-02"}');
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s7", "firstName": "New", "lastSurname": "Same", "birthDate": "2014-01-02"}');
SET SESSION AUTHORIZATION regress_rows_owner;
DROP POLICY nothing ON edfi.Student;
DROP POLICY no_second ON edfi.Student;
ALTER TABLE edfi.Student NO FORCE ROW LEVEL SECURITY;
ALTER TABLE edfi.Student DISABLE ROW LEVEL SECURITY;

-- What binds writers is a trigger: it sees the role that is connected, and the user for
-- whom it acts.
CREATE SCHEMA rules;
CREATE FUNCTION rules.own_students() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NEW.StudentUniqueId = 's2' AND session_user <> 'regress_rows_owner' THEN
		RAISE EXCEPTION 'student % is not for %', NEW.StudentUniqueId, session_user USING ERRCODE = 'insufficient_privilege';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER own_students BEFORE INSERT OR UPDATE ON edfi.Student FOR EACH ROW EXECUTE FUNCTION rules.own_students();
SET SESSION AUTHORIZATION regress_rows_writer;
\set VERBOSITY terse
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s2", "firstName": "Third", "lastSurname": "Same", "birthDate": "2014-01-02"}');
\set VERBOSITY default
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s3", "firstName": "Third", "lastSurname": "Same", "birthDate": "2014-01-02"}');
SET SESSION AUTHORIZATION regress_rows_owner;
DROP TRIGGER own_students ON edfi.Student;

--
-- A request for what the role may not read is answered, and its statement is not shown
--

REVOKE SELECT ON edfi.Student FROM regress_rows_reader;
SET SESSION AUTHORIZATION regress_rows_reader;
SELECT status, headers, body - 'correlationId' FROM (SELECT status, headers, body::jsonb FROM dms.handle_request('GET', '/ed-fi/students')) AS answer;
SELECT status, body ->> 'errors' FROM dms.handle_request('GET', '/ed-fi/students/' || :'hidden');
SELECT status FROM dms.handle_request('GET', '/ed-fi/schools');
SET SESSION AUTHORIZATION regress_rows_owner;
GRANT SELECT ON edfi.Student TO regress_rows_reader;

SELECT count(*) AS findings FROM dms.audit();

\c :home
DROP DATABASE dms_row_security;
DROP ROLE regress_rows_owner, regress_rows_reader, regress_rows_writer;
