-- Identities: what identifies a document can change where the schema allows it,
-- and nowhere else.
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

-- A class period may be renamed.
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
-- An identity that rests on a reference changes with the reference, and other
-- values may change along with it.
SELECT outcome, etag FROM dms.update_document(:'first', '{"classPeriodName": "First period", "schoolReference": {"schoolId": 2}}');
SELECT * FROM periods;
SELECT c.ResourceName, s.SchoolId, e.IsIdentityComponent FROM dms.ReferenceEdge e JOIN dms.Document p ON p.DocumentId = e.ParentDocumentId
	JOIN dms.Document c ON c.DocumentId = e.ChildDocumentId JOIN edfi.School s ON s.DocumentId = c.DocumentId
WHERE p.DocumentUuid = :'first';
-- The old identity is free again: an upsert of it is another document.
SELECT upsert('ClassPeriod', '{"classPeriodName": "1st", "schoolReference": {"schoolId": 1}, "officialAttendancePeriod": true}');
-- The same identity, spelled as before: nothing changes.
SELECT outcome, etag FROM dms.update_document(:'first', '{"classPeriodName": "First period", "schoolReference": {"schoolId": "2"}}');

-- One that another document has is taken.
SELECT outcome FROM dms.update_document(:'first', '{"classPeriodName": "2nd", "schoolReference": {"schoolId": 1}}');
-- One that rests on a document that is not there cannot be.
SELECT outcome FROM dms.update_document(:'first', '{"classPeriodName": "2nd", "schoolReference": {"schoolId": 3}}');
-- An etag counts here too.
SELECT outcome FROM dms.update_document(:'first', '{"classPeriodName": "3rd", "schoolReference": {"schoolId": 1}}', 1);
SELECT * FROM periods;

-- Where the schema does not allow it, an identity stays.  That is known before
-- anything else is looked for.
SELECT DocumentUuid AS high FROM dms.Document JOIN edfi.School USING (DocumentId) WHERE SchoolId = 1 \gset
SELECT outcome FROM dms.update_document(:'high', '{"schoolId": 10, "nameOfInstitution": "High School",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}],
	"localEducationAgencyReference": {"localEducationAgencyId": 5}}');
-- But not before descriptors are.
\set VERBOSITY terse
SELECT outcome FROM dms.update_document(:'high', '{"schoolId": 10, "nameOfInstitution": "High School",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}]}');
-- A descriptor's namespace and code value never change; their case is no change.
SELECT DocumentUuid AS fall FROM dms.Document JOIN dms.Descriptor USING (DocumentId) WHERE CodeValue = 'Fall' \gset
SELECT outcome FROM dms.update_document(:'fall', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Autumn", "shortDescription": "Fall"}');
SELECT outcome FROM dms.update_document(:'fall', '{"namespace": "uri://ed-fi.org/termdescriptor", "codeValue": "FALL", "shortDescription": "Fall"}');
SELECT Uri FROM dms.Descriptor ORDER BY Uri;

-- An upsert cannot change an identity: it finds its document by it.
SELECT count(*) AS periods FROM edfi.ClassPeriod;
SELECT upsert('ClassPeriod', '{"classPeriodName": "First period", "schoolReference": {"schoolId": 1}}');
SELECT count(*) AS periods FROM edfi.ClassPeriod;

\c :database
DROP DATABASE dms_identity;
