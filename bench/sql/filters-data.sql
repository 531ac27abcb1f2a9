-- Enrollments for bench/filters: psql variable "enrollments".
--
-- One enrollment is written as a client would; the others are its row over again,
-- with other students, schools and years.  Every second one has a calendar.

SELECT count(dms.upsert_document('ed-fi', d || 'Descriptor', json_build_object(
	'namespace', 'uri://ed-fi.org/' || d || 'Descriptor', 'codeValue', 'Value 1', 'shortDescription', 'Value 1')))
FROM unnest('{GradeLevel, EducationOrganizationCategory, CalendarType}'::text[]) AS d;

SELECT count(dms.upsert_document('ed-fi', 'schools', json_build_object('schoolId', n, 'nameOfInstitution', 'School ' || n,
	'educationOrganizationCategories', json_build_array(json_build_object('educationOrganizationCategoryDescriptor',
		'uri://ed-fi.org/EducationOrganizationCategoryDescriptor#Value 1')),
	'gradeLevels', json_build_array(json_build_object('gradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#Value 1')))))
FROM generate_series(1, 200) AS n;
SELECT count(dms.upsert_document('ed-fi', 'schoolYearTypes', json_build_object('schoolYear', 2020 + n,
	'schoolYearDescription', (2020 + n)::text, 'currentSchoolYear', false))) FROM generate_series(1, 5) AS n;
SELECT count(dms.upsert_document('ed-fi', 'calendars', json_build_object('calendarCode', 'c',
	'calendarTypeDescriptor', 'uri://ed-fi.org/CalendarTypeDescriptor#Value 1',
	'schoolReference', json_build_object('schoolId', s), 'schoolYearTypeReference', json_build_object('schoolYear', 2020 + y))))
FROM generate_series(1, 200) AS s, generate_series(1, 5) AS y;
SELECT document_id AS student FROM dms.upsert_document('ed-fi', 'students',
	'{"studentUniqueId": "s", "firstName": "Ada", "lastSurname": "Byron", "birthDate": "2010-12-10"}') \gset
SELECT document_id AS template FROM dms.upsert_document('ed-fi', 'studentSchoolAssociations', '{
	"studentReference": {"studentUniqueId": "s"}, "schoolReference": {"schoolId": 1}, "entryDate": "1999-01-01",
	"schoolYearTypeReference": {"schoolYear": 2021},
	"calendarReference": {"calendarCode": "c", "schoolId": 1, "schoolYear": 2021},
	"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Value 1"}') \gset

CREATE SCHEMA bench;
CREATE TABLE bench.copy AS
SELECT n, :template + n AS document_id, s.DocumentId AS school, y.DocumentId AS year,
	CASE WHEN n % 2 = 0 THEN c.DocumentId END AS calendar
FROM generate_series(1, :enrollments) AS n
JOIN edfi.School AS s ON s.SchoolId = 1 + n % 200
JOIN edfi.SchoolYearType AS y ON y.SchoolYear = 2021 + n / 200 % 5
JOIN edfi.Calendar AS c ON c.School_DocumentId = s.DocumentId AND c.SchoolYearType_DocumentId = y.DocumentId;

INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
SELECT c.document_id, dms.uuid_v7(), d.ProjectName, d.ResourceName, d.ResourceVersion
FROM bench.copy AS c, dms.Document AS d WHERE d.DocumentId = :template ORDER BY c.n;
SELECT setval('dms.document_documentid_seq', (SELECT max(document_id) FROM bench.copy));

SELECT string_agg(quote_ident(name), ', ') AS columns, string_agg(CASE json_path WHEN '$.schoolReference' THEN 'c.school'
	WHEN '$.schoolYearTypeReference' THEN 'c.year' WHEN '$.calendarReference' THEN 'c.calendar'
	WHEN '$.entryDate' THEN 'date ''2000-01-01'' + c.n' ELSE CASE part WHEN 'key' THEN 'c.document_id' ELSE 't.' || quote_ident(name) END END, ', ') AS selected
FROM dms.describe_resource('ed-fi', 'studentSchoolAssociations')
WHERE part IN ('key', 'column') AND table_name = 'edfi.studentschoolassociation' \gset
INSERT INTO edfi.StudentSchoolAssociation (:columns) SELECT :selected
FROM bench.copy AS c, edfi.StudentSchoolAssociation AS t WHERE t.DocumentId = :template ORDER BY c.n;

VACUUM ANALYZE;
