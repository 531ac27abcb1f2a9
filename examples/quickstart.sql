-- The tour that ./quickstart gives.  Every statement can be repeated in psql.
\pset footer off
\set ECHO all

-- The extension is code only; a database owner may create it.
CREATE EXTENSION dms;

-- Every document has an identity: natural-key values that it is known by.
-- Its ReferentialId is made from the resource's names and those values, so
-- a program that knows the values can find the document in one lookup.
SELECT dms.referential_id('Ed-Fi', 'School',
                          paths => ARRAY['$.schoolId'],
                          vals => ARRAY['123']);

-- It is a UUIDv5: every program makes the same one from the same name.
SELECT dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'Ed-FiSchool$.schoolId=123');

-- Documents get UUIDs that sort by the time of their creation.
SELECT dms.uuid_v7() AS first, dms.uuid_v7() AS second;

-- Code-list values are equal in any case, in every language.
SELECT dms.lower_invariant('uri://ed-fi.org/GradeLevelDescriptor#ÉLÉMENTAIRE');

-- A schema file describes the documents.  This one is a small school, in the
-- shape of the Ed-Fi standard; psql reads it into a variable.
\set school `cat examples/schemas/school.json`
SELECT dms.deploy_schema(:'school');

-- The tables are ordinary tables: one for each kind of document, and one for
-- each collection in it.  They are yours; comments say what they hold.
SELECT c.oid::regclass AS "table", obj_description(c.oid) AS holds
FROM pg_class AS c
WHERE relnamespace = 'edfi'::regnamespace AND relkind = 'r'
ORDER BY 1;

-- An enrollment: each reference is one column, and its identity is a key.
\d edfi.StudentSchoolAssociation

-- Deploying the same again changes nothing, however the file is written.
SELECT dms.deploy_schema(:'school'::jsonb::json);

-- Code lists first: descriptors are documents like any other.
SELECT outcome, etag FROM dms.upsert_document('ed-fi', 'gradeLevelDescriptors',
	'{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth grade", "shortDescription": "Ninth grade"}');
SELECT outcome, etag FROM dms.upsert_document('ed-fi', 'termDescriptors',
	'{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Fall", "shortDescription": "Fall"}');

-- A school, a student, and the student's enrollment at the school.  References
-- repeat the values that the other document is known by.
SELECT outcome, etag FROM dms.upsert_document('ed-fi', 'schools', '{
	"schoolId": 123, "nameOfInstitution": "Grand Bend High School",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}]}');
SELECT outcome, etag FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "604822", "firstName": "Ada", "lastSurname": "Marsh", "birthDate": "2011-04-05"}');
SELECT outcome, etag, document_uuid AS enrollment FROM dms.upsert_document('ed-fi', 'studentSchoolAssociations', '{
	"entryDate": "2025-08-20", "schoolReference": {"schoolId": 123}, "studentReference": {"studentUniqueId": "604822"},
	"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}') \gset
\echo :outcome :enrollment

-- The same again changes nothing, and costs next to nothing.
SELECT outcome, etag FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "604822", "firstName": "Ada", "lastSurname": "Marsh", "birthDate": "4/5/2011"}');

-- A property that the schema does not have is dropped, as the standard asks.
-- While you develop a client, let the server tell you about misspelled ones.
SET dms.unknown_properties = notice;
SELECT outcome, etag FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "604822", "firstName": "Ada", "lastSurname": "Marsh", "birthDate": "2011-04-05",
	"midleName": "Joan"}');

-- The document, as a client reads it back ...
SELECT jsonb_pretty(dms.get_document(:'enrollment')::jsonb) AS document;

-- ... and its row, as plain SQL reads it.
SELECT a.EntryDate, s.LastSurname, c.NameOfInstitution, g.Uri
FROM edfi.StudentSchoolAssociation AS a
JOIN edfi.Student AS s ON s.DocumentId = a.Student_DocumentId
JOIN edfi.School AS c ON c.DocumentId = a.School_DocumentId
JOIN dms.Descriptor AS g ON g.DocumentId = a.EntryGradeLevelDescriptor_DescriptorId;

-- Two things that are refused; psql continues after the errors.
\set ON_ERROR_STOP off

-- A reference to a school that does not exist is refused, with its place.
SELECT outcome FROM dms.upsert_document('ed-fi', 'studentSchoolAssociations', '{
	"entryDate": "2025-08-20", "schoolReference": {"schoolId": 999}, "studentReference": {"studentUniqueId": "604822"},
	"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}');

-- A school that is referred to cannot be deleted; the error lists the resources
-- that refer to it.
SELECT dms.delete_document(DocumentUuid) FROM dms.Document WHERE ResourceName = 'School';

\set ON_ERROR_STOP on

-- A session, a course offering in it, a section of that, and a student in the
-- section: the identity of each contains the one before.
SELECT outcome FROM dms.upsert_document('ed-fi', 'schoolYearTypes',
	'{"schoolYear": 2026, "schoolYearDescription": "2025-2026", "currentSchoolYear": true}');
SELECT outcome FROM dms.upsert_document('ed-fi', 'courses', '{
	"courseCode": "ALG-1", "courseTitle": "Algebra I", "numberOfParts": 1,
	"educationOrganizationReference": {"educationOrganizationId": 123}}');
SELECT document_uuid AS session FROM dms.upsert_document('ed-fi', 'sessions', '{
	"sessionName": "Fall 2025", "schoolReference": {"schoolId": 123}, "schoolYearTypeReference": {"schoolYear": 2026},
	"termDescriptor": "uri://ed-fi.org/TermDescriptor#Fall", "beginDate": "2025-08-20", "endDate": "2025-12-19",
	"totalInstructionalDays": 82}') \gset
SELECT outcome FROM dms.upsert_document('ed-fi', 'courseOfferings', '{
	"localCourseCode": "ALG1", "courseReference": {"courseCode": "ALG-1", "educationOrganizationId": 123},
	"schoolReference": {"schoolId": 123},
	"sessionReference": {"schoolId": 123, "schoolYear": 2026, "sessionName": "Fall 2025"}}');
SELECT outcome FROM dms.upsert_document('ed-fi', 'sections', '{
	"sectionIdentifier": "ALG1-01", "courseOfferingReference":
	{"localCourseCode": "ALG1", "schoolId": 123, "schoolYear": 2026, "sessionName": "Fall 2025"}}');
SELECT document_uuid AS attendance FROM dms.upsert_document('ed-fi', 'studentSectionAssociations', '{
	"beginDate": "2025-08-20", "studentReference": {"studentUniqueId": "604822"}, "sectionReference":
	{"localCourseCode": "ALG1", "schoolId": 123, "schoolYear": 2026, "sessionName": "Fall 2025", "sectionIdentifier": "ALG1-01"}}') \gset

-- Keep every version of some documents.  Those that exist get their first one.
SELECT dms.configure_resource('ed-fi', r, '{"history": true}')
FROM unnest(ARRAY['students', 'studentSectionAssociations']) AS r;
CALL dms.baseline_history('ed-fi', 'students');
CALL dms.baseline_history('ed-fi', 'studentSectionAssociations');

-- Rename the session.  All documents whose identity contains it follow in the
-- same transaction: new identities, new etags.
SELECT outcome, etag FROM dms.update_document(:'session', '{
	"sessionName": "Autumn 2025", "schoolReference": {"schoolId": 123}, "schoolYearTypeReference": {"schoolYear": 2026},
	"termDescriptor": "uri://ed-fi.org/TermDescriptor#Fall", "beginDate": "2025-08-20", "endDate": "2025-12-19",
	"totalInstructionalDays": 82}');
SELECT ResourceName, Etag FROM dms.Document WHERE Etag > 1 ORDER BY DocumentId;
SELECT jsonb_pretty(dms.get_document(:'attendance')::jsonb) AS document;

-- Its version of before still has the old name.
SELECT version, kind, is_current, dms.get_document(:'attendance', version) -> 'sectionReference' ->> 'sessionName' AS session
FROM dms.list_versions(:'attendance');

-- Who changed what, and when?  A front says for whom it writes.
SET dms."user" = 'registrar';
SELECT document_uuid AS student FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "604822", "firstName": "Ada", "lastSurname": "Byron", "birthDate": "2011-04-05"}') \gset
RESET dms."user";
SELECT version, kind, created_at, created_by, dms.get_document(:'student', version) ->> 'lastSurname' AS surname
FROM dms.list_versions(:'student');

-- It was a mistake: restore what was there before, as a new version.
SELECT outcome, etag FROM dms.restore_document(:'student', 1);
SELECT version, kind, dms.get_document(:'student', version) ->> 'lastSurname' AS surname
FROM dms.list_versions(:'student');

-- Every document, as it is read, can also stand in a table.  A background worker fills it,
-- and follows each change.
SELECT dms.set_cache_mode('eventual');
SELECT dms.wait_until_projected();
SELECT ResourceName, count(*) AS documents, max(Etag) AS etag FROM dms.DocumentCache GROUP BY 1 ORDER BY 1;
SELECT mode, pending, failures, rebuild_done FROM dms.projection_status();

-- Nothing in the store contradicts anything else in it.
SELECT * FROM dms.audit();
