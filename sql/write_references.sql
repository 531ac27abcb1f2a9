-- References: the documents that a body names must exist, and have the right
-- type.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_references;
CREATE DATABASE dms_references TEMPLATE template0 ENCODING 'UTF8';
\c dms_references
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

-- Writes a document, or returns the reason why not: SQLSTATE, status and type
-- of the problem, and each place with its message.
CREATE FUNCTION write(resource text, document json, OUT outcome text, OUT problem text, OUT place text, OUT message text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	outcome := (dms.upsert_document('Ed-Fi', resource, document)).outcome;
	RETURN NEXT;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	outcome := SQLSTATE;
	problem := concat_ws(' ', detail::json ->> 'status', replace(detail::json ->> 'type', 'urn:ed-fi:api:', ''));
	FOR place, message IN SELECT key, json_array_elements_text(value) FROM json_each(detail::json -> 'validationErrors')
		UNION ALL SELECT NULL, json_array_elements_text(detail::json -> 'errors')
	LOOP
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION write_descriptor(resource text, code text) RETURNS text LANGUAGE sql AS $$
	SELECT outcome FROM write(resource, json_build_object('namespace', 'uri://ed-fi.org/' || resource,
		'codeValue', code, 'shortDescription', code))
$$;

SELECT write_descriptor('GradeLevelDescriptor', 'Ninth grade'), write_descriptor('SchoolCategoryDescriptor', 'High School'),
	write_descriptor('LocalEducationAgencyCategoryDescriptor', 'Independent'),
	write_descriptor('GraduationPlanTypeDescriptor', 'Standard'), write_descriptor('TermDescriptor', 'Fall Semester');

-- A descriptor that does not exist is reported at the place of its value; one
-- of another type does not exist.
SELECT * FROM write('School', '{"schoolId": 1, "nameOfInstitution": "High School", "gradeLevels": [
	{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"},
	{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"},
	{"gradeLevelDescriptor": "uri://ed-fi.org/SchoolCategoryDescriptor#High School"}]}');

-- A document that does not exist is reported at the reference.
SELECT * FROM write('School', '{"schoolId": 1, "nameOfInstitution": "High School", "gradeLevels": [
	{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}],
	"localEducationAgencyReference": {"localEducationAgencyId": 255901}}');

-- If both are missing, all are listed, as a bad request.
SELECT * FROM write('School', '{"schoolId": 1, "nameOfInstitution": "High School", "gradeLevels": [
	{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}],
	"localEducationAgencyReference": {"localEducationAgencyId": 255901}}');

-- A descriptor inside a reference has its own place.
SELECT * FROM write('SchoolYearType', '{"schoolYear": 2025, "currentSchoolYear": true, "schoolYearDescription": "2024-25"}');
SELECT * FROM write('LocalEducationAgency', '{"localEducationAgencyId": 255901, "nameOfInstitution": "Grand Bend",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor#Independent"}');
SELECT * FROM write('School', '{"schoolId": 1, "nameOfInstitution": "High School", "gradeLevels": [
	{"gradeLevelDescriptor": "uri://ed-fi.org/gradelevelDESCRIPTOR#NINTH grade"}],
	"localEducationAgencyReference": {"localEducationAgencyId": 255901}}');
SELECT * FROM write('Student', '{"studentUniqueId": "604822", "firstName": "Ann", "lastSurname": "Lee", "birthDate": "2010-05-31"}');
\set enrollment '{"entryDate": "2024-08-20", "studentReference": {"studentUniqueId": "604822"}, "schoolReference": {"schoolId": 1}, "entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"'
SELECT * FROM write('StudentSchoolAssociation', (:'enrollment' || ', "graduationPlanReference": {"educationOrganizationId": 1, "schoolYear": 2025,
	"graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Lost"}}')::json);
SELECT * FROM write('StudentSchoolAssociation', (:'enrollment' || ', "graduationPlanReference": {"educationOrganizationId": 1, "schoolYear": 2025,
	"graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}}')::json);

-- A reference to an abstract resource may name a document of any subclass;
-- descriptors in references are compared in any case.
SELECT * FROM write('GraduationPlan', '{"educationOrganizationReference": {"educationOrganizationId": 255901},
	"graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard",
	"graduationSchoolYearTypeReference": {"schoolYear": 2025}, "totalRequiredCredits": 28}');
SELECT * FROM write('GraduationPlan', '{"educationOrganizationReference": {"educationOrganizationId": 1},
	"graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard",
	"graduationSchoolYearTypeReference": {"schoolYear": 2025}, "totalRequiredCredits": 24}');
SELECT * FROM write('GraduationPlan', '{"educationOrganizationReference": {"educationOrganizationId": 2},
	"graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard",
	"graduationSchoolYearTypeReference": {"schoolYear": 2025}, "totalRequiredCredits": 24}');
SELECT * FROM write('StudentSchoolAssociation', (:'enrollment' || ', "alternativeGraduationPlans": [
	{"alternativeGraduationPlanReference": {"educationOrganizationId": 1, "schoolYear": 2025, "graduationPlanTypeDescriptor": "uri://ed-fi.org/graduationplantypedescriptor#STANDARD"}},
	{"alternativeGraduationPlanReference": {"educationOrganizationId": 255901, "schoolYear": 2025, "graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}}]}')::json);
SELECT a.Ordinal, m.Discriminator, p.TotalRequiredCredits
FROM edfi.StudentSchoolAssociationAlternativeGraduationPlan a
	JOIN edfi.GraduationPlan p ON p.DocumentId = a.AlternativeGraduationPlan_DocumentId
	JOIN edfi.EducationOrganization_Member m ON m.DocumentId = p.EducationOrganization_DocumentId
ORDER BY a.Ordinal;

-- In a collection of references each element is checked.
SELECT * FROM write('StudentSchoolAssociation', (:'enrollment' || ', "alternativeGraduationPlans": [
	{"alternativeGraduationPlanReference": {"educationOrganizationId": 1, "schoolYear": 2025, "graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}},
	{"alternativeGraduationPlanReference": {"educationOrganizationId": 1, "schoolYear": 2026, "graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}},
	{"alternativeGraduationPlanReference": {"educationOrganizationId": 3, "schoolYear": 2025, "graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}}]}')::json);

-- A document that refers to itself needs no other; one that refers to another
-- of its resource does.
SELECT * FROM write('LocalEducationAgency', '{"localEducationAgencyId": 5, "nameOfInstitution": "North",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor#Independent",
	"parentLocalEducationAgencyReference": {"localEducationAgencyId": 5}}');
SELECT * FROM write('LocalEducationAgency', '{"localEducationAgencyId": 6, "nameOfInstitution": "South",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor#Independent",
	"parentLocalEducationAgencyReference": {"localEducationAgencyId": 7}}');

-- Subclasses of one abstract resource share its identities: a school cannot
-- have the number of an agency, and vice versa.
SELECT * FROM write('School', '{"schoolId": 255901, "nameOfInstitution": "Other School",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}]}');
SELECT * FROM write('LocalEducationAgency', '{"localEducationAgencyId": 1, "nameOfInstitution": "Other Agency",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor#Independent"}');
SELECT Discriminator, count(*) FROM edfi.EducationOrganization_Member GROUP BY 1 ORDER BY 1;

-- Reference columns and edges agree, and edges say whether the reference is
-- part of the identity.
SELECT s.EdgeSourceKey, c.ResourceName AS refers_to, e.IsIdentityComponent
FROM dms.ReferenceEdge e JOIN dms.EdgeSource s USING (EdgeSourceId)
	JOIN dms.Document p ON p.DocumentId = e.ParentDocumentId JOIN dms.Document c ON c.DocumentId = e.ChildDocumentId
WHERE p.ResourceName IN ('StudentSchoolAssociation', 'GraduationPlan')
ORDER BY s.EdgeSourceKey COLLATE "C", refers_to, e.ChildDocumentId;

-- A document that others refer to cannot be deleted, not even by the owner of
-- the store.
\set VERBOSITY sqlstate
DELETE FROM dms.Document WHERE ResourceName = 'SchoolYearType';
DELETE FROM edfi.Student;

\c :database
DROP DATABASE dms_references;
