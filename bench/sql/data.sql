-- The data that every variant starts from: descriptors, schools, students and
-- one enrollment a student, written by dms.upsert_document().
--
-- psql variables: students.  Works on any schema that has these resources.

\set ON_ERROR_STOP on
\set QUIET on

CREATE SCHEMA bench;

-- One namespace for all descriptors, of a length that makes an enrollment one
-- of about 640 bytes.
CREATE FUNCTION bench.uri(resource text, code text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'uri://registry.education.example.org/ed-fi/5.1/descriptors/' || resource || '#' || code;

CREATE FUNCTION bench.grade_prefix() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN bench.uri('GradeLevelDescriptor', 'Grade level number ');

CREATE FUNCTION bench.plan_prefix() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN bench.uri('EducationPlanDescriptor', 'Individual education plan number ');

CREATE FUNCTION bench.grade(n integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN bench.grade_prefix() || n::text;

CREATE FUNCTION bench.plan(n integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN bench.plan_prefix() || n::text;

-- An enrollment.  The planner puts the expression in place of the call.  It is a single
-- call of format(), because starting an expression of many parts would cost more than a
-- client's text, which the product gets as it is.  (Not IMMUTABLE: the text of a date
-- depends on a setting, and then the planner would leave the call as it is.)
CREATE FUNCTION bench.body(student integer, school integer, entry date, grade integer,
	plan integer, exit date) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('{"educationPlans":[{"educationPlanDescriptor":"' || bench.plan_prefix() || '%s"},'
	'{"educationPlanDescriptor":"' || bench.plan_prefix() || '%s"}],"entryDate":"%s",'
	'"entryGradeLevelDescriptor":"' || bench.grade_prefix() || '%s","exitWithdrawDate":"%s",'
	'"fullTimeEquivalency":0.875,"primarySchool":true,"schoolReference":{"schoolId":%s},'
	'"studentReference":{"studentUniqueId":"%s"}}', plan, plan + 1, entry, grade, exit, school, student);

-- 200 descriptors (in the shipped school schema, 192: schools have no category).
SELECT count(*) AS descriptors FROM (
	SELECT dms.upsert_document('Ed-Fi', d.resource, json_build_object(
		'namespace', split_part(d.uri, '#', 1), 'codeValue', split_part(d.uri, '#', 2),
		'shortDescription', split_part(d.uri, '#', 2)))
	FROM (
		SELECT 'GradeLevelDescriptor', bench.grade(n) FROM generate_series(1, 92) AS n
		UNION ALL
		SELECT 'EducationPlanDescriptor', bench.plan(n) FROM generate_series(1, 100) AS n
		UNION ALL
		SELECT 'EducationOrganizationCategoryDescriptor',
			bench.uri('EducationOrganizationCategoryDescriptor', 'Category ' || n::text)
		FROM generate_series(1, 8) AS n
	) AS d (resource, uri)
	WHERE d.resource IN (SELECT ResourceName FROM dms.ResourceModel)
	OFFSET 0
) AS written \gset

SELECT count(*) AS schools FROM (
	SELECT dms.upsert_document('Ed-Fi', 'School', json_build_object(
		'schoolId', n, 'nameOfInstitution', 'School ' || n::text,
		'educationOrganizationCategories', json_build_array(json_build_object(
			'educationOrganizationCategoryDescriptor',
			bench.uri('EducationOrganizationCategoryDescriptor', 'Category ' || (1 + n % 8)::text))),
		'gradeLevels', json_build_array(json_build_object(
			'gradeLevelDescriptor', bench.grade(1 + n % 92)))))
	FROM generate_series(1, 200) AS n
	OFFSET 0
) AS written \gset

SELECT count(*) AS written FROM (
	SELECT dms.upsert_document('Ed-Fi', 'Student', json_build_object(
		'studentUniqueId', n::text, 'firstName', 'First ' || n::text,
		'lastSurname', 'Last ' || n::text, 'birthDate', '2010-01-01'))
	FROM generate_series(1, :students) AS n
	OFFSET 0
) AS written \gset

SELECT count(*) AS written FROM (
	SELECT dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation',
		bench.body(n, 1 + n % 200, DATE '2000-01-01', 1 + n % 92, 1 + n % 99, DATE '2000-06-30')::json)
	FROM generate_series(1, :students) AS n
	OFFSET 0
) AS written \gset

-- Documents were written in order, so the keys that a client of the "bare"
-- variants has at hand follow from the number: key = base + number.
CREATE VIEW bench.bases AS
SELECT
	(SELECT min(DocumentId) - 1 FROM edfi.School) AS school_base,
	(SELECT min(DocumentId) - 1 FROM edfi.Student) AS student_base,
	(SELECT min(DocumentId) - 1 FROM edfi.StudentSchoolAssociation) AS enrollment_base,
	(SELECT min(DocumentId) - 1 FROM dms.Descriptor WHERE Discriminator = 'Ed-Fi:GradeLevelDescriptor') AS grade_base,
	(SELECT min(DocumentId) - 1 FROM dms.Descriptor WHERE Discriminator = 'Ed-Fi:EducationPlanDescriptor') AS plan_base;

DO $$
BEGIN
	ASSERT (SELECT bool_and(s.DocumentId = b.student_base + s.StudentUniqueId::bigint)
			FROM edfi.Student AS s, bench.bases AS b), 'keys of students do not follow their numbers';
	ASSERT (SELECT bool_and(s.DocumentId = b.school_base + s.SchoolId)
			FROM edfi.School AS s, bench.bases AS b), 'keys of schools do not follow their numbers';
END
$$;

SELECT :descriptors AS descriptors, :schools AS schools, :students AS students,
	length(bench.body(12345, 146, '2024-08-19', 18, 71, '2025-06-30')) AS bytes_of_an_enrollment;
