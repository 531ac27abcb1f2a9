-- Identities: the values that identify a document can change if the schema
-- allows it.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_identity;
CREATE DATABASE dms_identity TEMPLATE template0 ENCODING 'UTF8';
\c dms_identity
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

CREATE FUNCTION upsert(resource text, document json) RETURNS text LANGUAGE sql AS $$
	SELECT outcome FROM dms.upsert_document('Ed-Fi', resource, document)
$$;
SELECT upsert('GradeLevelDescriptor', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth grade", "shortDescription": "9"}'),
	upsert('TermDescriptor', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Fall", "shortDescription": "Fall"}'),
	upsert('SchoolYearType', '{"schoolYear": 2025, "currentSchoolYear": true, "schoolYearDescription": "2024-25"}'),
	upsert('School', '{"schoolId": 1, "nameOfInstitution": "High School", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}]}'),
	upsert('School', '{"schoolId": 2, "nameOfInstitution": "Middle School", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}]}');

-- The schema allows a class period to be renamed.
SELECT upsert('ClassPeriod', '{"classPeriodName": "1st", "schoolReference": {"schoolId": 1}, "officialAttendancePeriod": true}');
SELECT upsert('ClassPeriod', '{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}');
SELECT d.DocumentUuid AS first FROM dms.Document d JOIN edfi.ClassPeriod p USING (DocumentId) WHERE ClassPeriodName = '1st' \gset
CREATE VIEW periods AS
SELECT p.ClassPeriodName, s.SchoolId, p.OfficialAttendancePeriod, d.Etag,
	i.ReferentialId = dms.referential_id('Ed-Fi', 'ClassPeriod', ARRAY['$.classPeriodName', '$.schoolReference.schoolId'],
		ARRAY[p.ClassPeriodName, s.SchoolId::text]) AS is_found
FROM edfi.ClassPeriod p JOIN edfi.School s ON s.DocumentId = p.School_DocumentId
	JOIN dms.Document d ON d.DocumentId = p.DocumentId JOIN dms.ReferentialIdentity i ON i.DocumentId = p.DocumentId
ORDER BY 1, 2;

-- By its id, with a new identity in the body; the id stays.
SELECT outcome, document_uuid = :'first' AS same_id, etag
FROM dms.update_document(:'first', '{"classPeriodName": "First period", "schoolReference": {"schoolId": 1}, "officialAttendancePeriod": true}');
SELECT * FROM periods;
-- If a reference is part of the identity, changing the reference changes the
-- identity, and other values may change with it.
SELECT outcome, etag FROM dms.update_document(:'first', '{"classPeriodName": "First period", "schoolReference": {"schoolId": 2}}');
SELECT * FROM periods;
SELECT c.ResourceName, s.SchoolId, e.IsIdentityComponent FROM dms.ReferenceEdge e JOIN dms.Document p ON p.DocumentId = e.ParentDocumentId
	JOIN dms.Document c ON c.DocumentId = e.ChildDocumentId JOIN edfi.School s ON s.DocumentId = c.DocumentId
WHERE p.DocumentUuid = :'first';
-- The old identity is free again: an upsert of it inserts another document.
SELECT upsert('ClassPeriod', '{"classPeriodName": "1st", "schoolReference": {"schoolId": 1}, "officialAttendancePeriod": true}');
-- The same identity in another spelling: nothing changes.
SELECT outcome, etag FROM dms.update_document(:'first', '{"classPeriodName": "First period", "schoolReference": {"schoolId": "2"}}');

-- An identity that another document has is taken.
SELECT outcome FROM dms.update_document(:'first', '{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}');
-- A program finds the violated constraint in the fields of the error, whatever
-- the message says, also if the error reports a state that only a race or raw
-- SQL can cause.
CREATE FUNCTION violates(statement text) RETURNS TABLE (code text, schema_name text, table_name text, constraint_name text, message text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, schema_name = SCHEMA_NAME, table_name = TABLE_NAME,
		constraint_name = CONSTRAINT_NAME, message = MESSAGE_TEXT;
	RETURN NEXT;
END $$;
SELECT * FROM violates(format('SELECT dms.update_document(%L, %L)', :'first', '{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}'));
SELECT * FROM violates(format('SELECT dms.update_documents(ARRAY[%L]::uuid[], ARRAY[%L]::json[])', :'first',
	'{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}'));
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM edfi.School WHERE SchoolId = 2;
SET LOCAL session_replication_role = origin;
SELECT * FROM violates($$SELECT upsert('ClassPeriod', '{"classPeriodName": "4th", "schoolReference": {"schoolId": 2}}')$$);
ROLLBACK;
BEGIN;
DELETE FROM dms.ReferenceEdge;
SELECT v.* FROM dms.Document JOIN edfi.School USING (DocumentId),
	violates(format('SELECT dms.delete_document(%L)', DocumentUuid)) AS v WHERE SchoolId = 1;
ROLLBACK;
-- An identity that depends on a document which does not exist is refused.
SELECT outcome FROM dms.update_document(:'first', '{"classPeriodName": "2nd", "schoolReference": {"schoolId": 3}}');
-- The etag is checked here, too.
SELECT outcome FROM dms.update_document(:'first', '{"classPeriodName": "3rd", "schoolReference": {"schoolId": 1}}', 1);
SELECT * FROM periods;

-- If the schema does not allow it, the identity cannot change.  That is checked
-- before other references are resolved.
SELECT DocumentUuid AS high FROM dms.Document JOIN edfi.School USING (DocumentId) WHERE SchoolId = 1 \gset
SELECT outcome FROM dms.update_document(:'high', '{"schoolId": 10, "nameOfInstitution": "High School",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}],
	"localEducationAgencyReference": {"localEducationAgencyId": 5}}');
-- But after descriptors are.
\set VERBOSITY terse
SELECT outcome FROM dms.update_document(:'high', '{"schoolId": 10, "nameOfInstitution": "High School",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}]}');
-- A descriptor's namespace and code value never change; another case is no
-- change.
SELECT DocumentUuid AS fall FROM dms.Document JOIN dms.Descriptor USING (DocumentId) WHERE CodeValue = 'Fall' \gset
SELECT outcome FROM dms.update_document(:'fall', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Autumn", "shortDescription": "Fall"}');
SELECT outcome FROM dms.update_document(:'fall', '{"namespace": "uri://ed-fi.org/termdescriptor", "codeValue": "FALL", "shortDescription": "Fall"}');
SELECT Uri FROM dms.Descriptor ORDER BY Uri;

-- An upsert cannot change an identity, because it finds its document by it.
SELECT count(*) AS periods FROM edfi.ClassPeriod;
SELECT upsert('ClassPeriod', '{"classPeriodName": "First period", "schoolReference": {"schoolId": 1}}');
SELECT count(*) AS periods FROM edfi.ClassPeriod;

--
-- Several documents at once: all or none.
--
SELECT upsert('Course', '{"courseCode": "ALG", "courseTitle": "Algebra", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 1}}'),
	upsert('Session', '{"sessionName": "Fall", "schoolReference": {"schoolId": 1}, "schoolYearTypeReference": {"schoolYear": 2025},
		"termDescriptor": "uri://ed-fi.org/TermDescriptor#Fall", "beginDate": "2024-08-20", "endDate": "2024-12-20", "totalInstructionalDays": 80}'),
	upsert('CourseOffering', '{"localCourseCode": "A1", "courseReference": {"courseCode": "ALG", "educationOrganizationId": 1},
		"schoolReference": {"schoolId": 1}, "sessionReference": {"schoolId": 1, "schoolYear": 2025, "sessionName": "Fall"}}');
SELECT DocumentUuid AS second FROM dms.Document JOIN edfi.ClassPeriod USING (DocumentId) WHERE ClassPeriodName = '2nd' \gset
SELECT DocumentUuid AS session FROM dms.Document WHERE ResourceName = 'Session' \gset
SELECT DocumentUuid AS offering FROM dms.Document WHERE ResourceName = 'CourseOffering' \gset

-- Two documents swap their identities.
SELECT outcome, document_uuid = :'first' AS is_first, etag FROM dms.update_documents(ARRAY[:'first', :'second']::uuid[], ARRAY[
	'{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}',
	'{"classPeriodName": "First period", "schoolReference": {"schoolId": 2}}']::json[]);
SELECT * FROM periods;
-- Documents that need no change are unchanged.
SELECT outcome, etag FROM dms.update_documents(ARRAY[:'first', :'second']::uuid[], ARRAY[
	'{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}',
	'{"classPeriodName": "First period", "schoolReference": {"schoolId": 2}}']::json[]);
-- No two documents can get the same identity, none may be listed twice, and an
-- error names the document that it is about; nothing of the call is kept.
SELECT outcome FROM dms.update_documents(ARRAY[:'first', :'second']::uuid[], ARRAY[
	'{"classPeriodName": "3rd", "schoolReference": {"schoolId": 1}}',
	'{"classPeriodName": "3rd", "schoolReference": {"schoolId": 1}}']::json[]);
SELECT outcome FROM dms.update_documents(ARRAY[:'first', :'first']::uuid[], ARRAY['{}', '{}']::json[]);
\set VERBOSITY default
\set SHOW_CONTEXT always
SELECT outcome FROM dms.update_documents(ARRAY[:'first', :'second']::uuid[], ARRAY[
	'{"classPeriodName": "3rd", "schoolReference": {"schoolId": 1}}', '{"classPeriodName": "4th"}']::json[]);
\set SHOW_CONTEXT errors
\set VERBOSITY terse
SELECT outcome FROM dms.update_documents(ARRAY[:'first']::uuid[], ARRAY['{}', '{}']::json[]);
SELECT outcome FROM dms.update_documents(NULL, ARRAY['{}']::json[]);
SELECT outcome FROM dms.update_documents(ARRAY[:'first']::uuid[], NULL);
SELECT * FROM periods;

-- A session is renamed together with an offering in it, whose body has the new
-- name of the session.  The identity of offerings cannot be changed, but it
-- follows that of the session.
SELECT outcome, etag FROM dms.update_documents(ARRAY[:'offering', :'session']::uuid[], ARRAY[
	'{"localCourseCode": "A1", "localCourseTitle": "Algebra I", "courseReference": {"courseCode": "ALG", "educationOrganizationId": 1},
		"schoolReference": {"schoolId": 1}, "sessionReference": {"schoolId": 1, "schoolYear": 2025, "sessionName": "Autumn"}}',
	'{"sessionName": "Autumn", "schoolReference": {"schoolId": 1}, "schoolYearTypeReference": {"schoolYear": 2025},
		"termDescriptor": "uri://ed-fi.org/TermDescriptor#Fall", "beginDate": "2024-08-20", "endDate": "2024-12-20", "totalInstructionalDays": 80}'
	]::json[]);
-- Under its old name the session does not exist any more.
SELECT outcome FROM dms.update_documents(ARRAY[:'offering', :'session']::uuid[], ARRAY[
	'{"localCourseCode": "A1", "courseReference": {"courseCode": "ALG", "educationOrganizationId": 1},
		"schoolReference": {"schoolId": 1}, "sessionReference": {"schoolId": 1, "schoolYear": 2025, "sessionName": "Autumn"}}',
	'{"sessionName": "Fall", "schoolReference": {"schoolId": 1}, "schoolYearTypeReference": {"schoolYear": 2025},
		"termDescriptor": "uri://ed-fi.org/TermDescriptor#Fall", "beginDate": "2024-08-20", "endDate": "2024-12-20", "totalInstructionalDays": 80}'
	]::json[]);
-- And the offering's own key values cannot change.
SELECT outcome FROM dms.update_documents(ARRAY[:'offering']::uuid[], ARRAY[
	'{"localCourseCode": "A2", "courseReference": {"courseCode": "ALG", "educationOrganizationId": 1},
		"schoolReference": {"schoolId": 1}, "sessionReference": {"schoolId": 1, "schoolYear": 2025, "sessionName": "Autumn"}}']::json[]);
SELECT * FROM dms.audit();

\c :database
DROP DATABASE dms_identity;
