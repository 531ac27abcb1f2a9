-- Documents for bench/read: psql variables "students" and "persons".
--
-- There are three kinds, of "students" documents each:
--
--   wide         students with four collections of two elements each, some 2 KB
--   narrow       students with two collections of two elements each
--   enrollment   enrollments with a collection of two elements, as in bench/run
--
-- One of each kind is written as a client would; the others are its rows over
-- again, with other keys, names, persons and so on.  So the tables are as large
-- as they would be, and loading takes minutes instead of hours.

CREATE SCHEMA bench;

SELECT count(dms.upsert_document('ed-fi', d || 'Descriptor', json_build_object(
	'namespace', 'uri://ed-fi.org/' || d || 'Descriptor', 'codeValue', 'Value ' || n, 'shortDescription', 'Value ' || n)))
FROM unnest('{Country, Sex, CitizenshipStatus, IdentificationDocumentUse, PersonalInformationVerification, OtherNameType,
	Visa, SourceSystem, StateAbbreviation, GradeLevel, EducationPlan, EducationOrganizationCategory}'::text[]) AS d, generate_series(1, 10) AS n;

SELECT count(dms.upsert_document('ed-fi', 'people', json_build_object('personId', 'p' || n,
	'sourceSystemDescriptor', 'uri://ed-fi.org/SourceSystemDescriptor#Value 1'))) FROM generate_series(1, :persons) AS n;

SELECT count(dms.upsert_document('ed-fi', 'schools', json_build_object('schoolId', n, 'nameOfInstitution', 'School ' || n,
	'educationOrganizationCategories', json_build_array(json_build_object('educationOrganizationCategoryDescriptor',
		'uri://ed-fi.org/EducationOrganizationCategoryDescriptor#Value 1')),
	'gradeLevels', json_build_array(json_build_object('gradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#Value 1')))))
FROM generate_series(1, 200) AS n;

CREATE TABLE bench.template (kind text PRIMARY KEY, resource text, digit text, document_id bigint);

INSERT INTO bench.template
SELECT 'wide', 'Student', '0', r.document_id FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "template", "firstName": "Ada", "middleName": "Augusta", "lastSurname": "Byron",
	"birthDate": "2010-12-10", "birthCity": "London", "multipleBirthStatus": false, "generationCodeSuffix": "Jr",
	"birthCountryDescriptor": "uri://ed-fi.org/CountryDescriptor#Value 1",
	"birthSexDescriptor": "uri://ed-fi.org/SexDescriptor#Value 1",
	"citizenshipStatusDescriptor": "uri://ed-fi.org/CitizenshipStatusDescriptor#Value 1",
	"personReference": {"personId": "p1", "sourceSystemDescriptor": "uri://ed-fi.org/SourceSystemDescriptor#Value 1"},
	"identificationDocuments": [
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 1",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 1",
		 "documentTitle": "Passport", "documentExpirationDate": "2030-01-01"},
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 2",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 2",
		 "issuerName": "Town hall"}],
	"personalIdentificationDocuments": [
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 3",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 3",
		 "documentTitle": "Certificate"},
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 4",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 4",
		 "issuerName": "Hospital"}],
	"otherNames": [
		{"otherNameTypeDescriptor": "uri://ed-fi.org/OtherNameTypeDescriptor#Value 1", "firstName": "Ada", "lastSurname": "Lovelace"},
		{"otherNameTypeDescriptor": "uri://ed-fi.org/OtherNameTypeDescriptor#Value 2", "firstName": "A.", "lastSurname": "King"}],
	"visas": [{"visaDescriptor": "uri://ed-fi.org/VisaDescriptor#Value 1"}, {"visaDescriptor": "uri://ed-fi.org/VisaDescriptor#Value 2"}]
	}') AS r;

INSERT INTO bench.template
SELECT 'narrow', 'Student', '1', r.document_id FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "narrow template", "firstName": "Ada", "lastSurname": "Byron", "birthDate": "2010-12-10",
	"birthSexDescriptor": "uri://ed-fi.org/SexDescriptor#Value 1",
	"citizenshipStatusDescriptor": "uri://ed-fi.org/CitizenshipStatusDescriptor#Value 1",
	"personReference": {"personId": "p1", "sourceSystemDescriptor": "uri://ed-fi.org/SourceSystemDescriptor#Value 1"},
	"otherNames": [
		{"otherNameTypeDescriptor": "uri://ed-fi.org/OtherNameTypeDescriptor#Value 1", "firstName": "Ada", "lastSurname": "Lovelace"},
		{"otherNameTypeDescriptor": "uri://ed-fi.org/OtherNameTypeDescriptor#Value 2", "firstName": "A.", "lastSurname": "King"}],
	"visas": [{"visaDescriptor": "uri://ed-fi.org/VisaDescriptor#Value 1"}, {"visaDescriptor": "uri://ed-fi.org/VisaDescriptor#Value 2"}]
	}') AS r;

INSERT INTO bench.template
SELECT 'enrollment', 'StudentSchoolAssociation', '2', r.document_id
FROM dms.upsert_document('ed-fi', 'studentSchoolAssociations', '{
	"studentReference": {"studentUniqueId": "template"}, "schoolReference": {"schoolId": 1}, "entryDate": "2000-01-01",
	"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Value 1", "exitWithdrawDate": "2000-06-30",
	"fullTimeEquivalency": 0.875, "primarySchool": true,
	"educationPlans": [{"educationPlanDescriptor": "uri://ed-fi.org/EducationPlanDescriptor#Value 1"},
		{"educationPlanDescriptor": "uri://ed-fi.org/EducationPlanDescriptor#Value 2"}]
	}') AS r;

-- The new documents, from 1 on so that scripts can name them.  The numbers of a
-- kind follow each other.
CREATE TABLE bench.copy AS
SELECT t.kind, t.resource, t.document_id AS template, n,
	(SELECT max(document_id) FROM bench.template) + t.digit::int * :students + n AS document_id,
	('00000000-0000-7000-800' || t.digit || '-' || lpad(to_hex(n), 12, '0'))::uuid AS uuid,
	left(t.kind, 1) || n AS key, p.DocumentId AS person, c.DocumentId AS citizenship,
	(SELECT max(document_id) FROM bench.template) + n AS student, s.DocumentId AS school, s.SchoolId AS school_id
FROM bench.template AS t, generate_series(1, :students) AS n
JOIN edfi.Person AS p ON p.PersonId = 'p' || (1 + n % :persons)
JOIN dms.Descriptor AS c ON c.Uri = 'uri://ed-fi.org/CitizenshipStatusDescriptor#Value ' || (1 + n % 10)
JOIN edfi.School AS s ON s.SchoolId = 1 + n % 200
ORDER BY t.digit, n;

INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
SELECT s.document_id, s.uuid, d.ProjectName, d.ResourceName, d.ResourceVersion
FROM bench.copy AS s JOIN dms.Document AS d ON d.DocumentId = s.template ORDER BY s.document_id;
INSERT INTO dms.IdentityLock (DocumentId) SELECT document_id FROM bench.copy ORDER BY document_id;
INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)
SELECT CASE resource WHEN 'Student' THEN dms.referential_id('Ed-Fi', 'Student', ARRAY['$.studentUniqueId'], ARRAY[key])
	ELSE dms.referential_id('Ed-Fi', 'StudentSchoolAssociation',
		ARRAY['$.entryDate', '$.schoolReference.schoolId', '$.studentReference.studentUniqueId'],
		ARRAY['2000-01-01', school_id::text, 'w' || n]) END,
	document_id, 'Ed-Fi', resource
FROM bench.copy;
SELECT setval('dms.document_documentid_seq', (SELECT max(document_id) FROM bench.copy));

-- The rows of all tables; what is unique or is to be searched for differs.
DO $$
DECLARE
	t record;
BEGIN
	FOR t IN
		SELECT m.kind, m.document_id, format('%I.%I', x ->> 'schema', x ->> 'name') AS name, c.columns, c.selected
		FROM bench.template AS m JOIN dms.ResourceModel ON ResourceName = m.resource AND ProjectName = 'Ed-Fi',
			json_array_elements(Model -> 'tables') WITH ORDINALITY AS x (x, p),
			LATERAL (SELECT string_agg(quote_ident(k ->> 'name'), ', ' ORDER BY o) AS columns,
				string_agg(CASE WHEN o = 1 THEN 's.document_id'
					WHEN k ->> 'name' = 'studentuniqueid' THEN 's.key'
					WHEN k ->> 'name' = 'lastsurname' AND x -> 'parent' IS NULL AND m.kind = 'wide' THEN '''Surname '' || s.n % 5000'
					WHEN k ->> 'name' = 'person_documentid' THEN 's.person'
					WHEN k ->> 'name' = 'citizenshipstatusdescriptor_descriptorid' AND m.kind = 'wide' THEN 's.citizenship'
					WHEN k ->> 'name' = 'student_documentid' AND x -> 'parent' IS NULL THEN 's.student'
					WHEN k ->> 'name' = 'school_documentid' AND x -> 'parent' IS NULL THEN 's.school'
					ELSE 't.' || quote_ident(k ->> 'name') END, ', ' ORDER BY o) AS selected
				FROM json_array_elements(x -> 'columns') WITH ORDINALITY AS k (k, o)) AS c
		ORDER BY m.digit, p
	LOOP
		EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM bench.copy AS s, %s AS t WHERE t.%s = %s AND s.kind = %L ORDER BY s.n',
			t.name, t.columns, t.selected, t.name, split_part(t.columns, ',', 1), t.document_id, t.kind);
	END LOOP;
END $$;

INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
SELECT s.document_id, CASE k.EdgeSourceKey WHEN 'Ed-Fi.Student:docref:$.personReference' THEN s.person
	WHEN 'Ed-Fi.StudentSchoolAssociation:docref:$.studentReference' THEN s.student
	WHEN 'Ed-Fi.StudentSchoolAssociation:docref:$.schoolReference' THEN s.school
	WHEN 'Ed-Fi.Student:desc:$.citizenshipStatusDescriptor' THEN
		CASE s.kind WHEN 'wide' THEN s.citizenship ELSE e.ChildDocumentId END
	ELSE e.ChildDocumentId END,
	e.EdgeSourceId, e.IsIdentityComponent
FROM bench.copy AS s JOIN dms.ReferenceEdge AS e ON e.ParentDocumentId = s.template
JOIN dms.EdgeSource AS k USING (EdgeSourceId)
ORDER BY s.document_id;


-- The baseline: the same documents, stored as they are read.
CREATE TABLE bench.stored (document_id bigint PRIMARY KEY, id uuid NOT NULL UNIQUE, body jsonb NOT NULL);
INSERT INTO bench.stored
SELECT d.DocumentId, d.DocumentUuid, q::jsonb
FROM unnest('{students, studentSchoolAssociations}'::text[]) WITH ORDINALITY AS r (resource, p),
	dms.query_documents('ed-fi', r.resource, page_limit => 2000000000) AS q
JOIN dms.Document AS d ON d.DocumentUuid = (q ->> 'id')::uuid
ORDER BY r.p, d.DocumentId;

VACUUM ANALYZE;
