-- Querying documents: filters, pages, counts.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_query;
CREATE DATABASE dms_query TEMPLATE template0 ENCODING 'UTF8';
\c dms_query
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

CREATE FUNCTION pg_temp.put(resource text, document json) RETURNS uuid LANGUAGE sql AS $$
	SELECT document_uuid FROM dms.upsert_document('ed-fi', resource, document)
$$;

-- Three grade levels, two schools, four students, five enrollments.
SELECT count(pg_temp.put('gradeLevelDescriptors', json_build_object('namespace', 'uri://ed-fi.org/GradeLevelDescriptor',
	'codeValue', g, 'shortDescription', g))) FROM unnest(ARRAY['Ninth', 'Tenth', 'Twelfth']) g;
SELECT pg_temp.put('localEducationAgencyCategoryDescriptors',
	'{"namespace": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor", "codeValue": "Public", "shortDescription": "Public"}') IS NOT NULL AS category;
SELECT pg_temp.put('graduationPlanTypeDescriptors',
	'{"namespace": "uri://ed-fi.org/GraduationPlanTypeDescriptor", "codeValue": "Standard", "shortDescription": "Standard"}') IS NOT NULL AS plan_type;
SELECT pg_temp.put('localEducationAgencies', '{"localEducationAgencyId": 1, "nameOfInstitution": "District",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor#Public"}') IS NOT NULL AS district;
SELECT count(pg_temp.put('schools', json_build_object('schoolId', s, 'nameOfInstitution', 'School ' || s,
	'gradeLevels', '[{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth"}]'::json))) FROM generate_series(11, 12) s;
SELECT count(pg_temp.put('schoolYearTypes', json_build_object('schoolYear', y, 'schoolYearDescription', y::text, 'currentSchoolYear', y = 2025)))
FROM generate_series(2024, 2025) y;
SELECT count(pg_temp.put('graduationPlans', json_build_object('totalRequiredCredits', 20.5,
	'educationOrganizationReference', json_build_object('educationOrganizationId', o),
	'graduationSchoolYearTypeReference', json_build_object('schoolYear', y),
	'graduationPlanTypeDescriptor', 'uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard')))
FROM (VALUES (1, 2024), (1, 2025), (11, 2025)) v (o, y);
SELECT count(pg_temp.put('students', json_build_object('studentUniqueId', 's' || n, 'firstName', first, 'lastSurname', last,
	'birthDate', '2010-01-0' || n, 'multipleBirthStatus', n = 4)))
FROM (VALUES (1, 'Ada', 'Byron'), (2, 'Alan', 'Turing'), (3, 'Grace', 'Hopper'), (4, 'Bob', 'Turing')) v (n, first, last);
SELECT count(pg_temp.put('studentSchoolAssociations', json_build_object('entryDate', entry,
	'studentReference', json_build_object('studentUniqueId', student), 'schoolReference', json_build_object('schoolId', school),
	'entryGradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#' || grade,
	'graduationPlanReference', json_build_object('educationOrganizationId', o, 'schoolYear', y,
		'graduationPlanTypeDescriptor', 'uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard'),
	'schoolYearTypeReference', json_build_object('schoolYear', 2024))))
FROM (VALUES ('2024-08-01', 's1', 11, 'Ninth', 1, 2024), ('2024-08-01', 's2', 11, 'Tenth', 1, 2025),
	('2024-08-02', 's3', 12, 'Ninth', 11, 2025), ('2024-08-02', 's4', 12, 'Twelfth', 11, 2025),
	('2024-09-01', 's1', 12, 'Ninth', 1, 2024)) v (entry, student, school, grade, o, y);

-- The results of a query: students, or the students of enrollments.
CREATE FUNCTION pg_temp.students(filters jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(d ->> 'studentUniqueId', ' ') FROM dms.query_documents('ed-fi', 'students', filters) d
$$;
CREATE FUNCTION pg_temp.enrollments(filters jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(concat_ws('@', d -> 'studentReference' ->> 'studentUniqueId', d -> 'schoolReference' ->> 'schoolId'), ' ')
	FROM dms.query_documents('ed-fi', 'studentSchoolAssociations', filters) d
$$;

-- Without filters: all documents, in the order of their creation.
SELECT pg_temp.students('{}');

-- Equality; names in any case; all filters must match.
SELECT pg_temp.students('{"lastSurname": "Turing"}') AS turing, pg_temp.students('{"LASTSURNAME": "Turing"}') AS any_case,
	pg_temp.students('{"lastSurname": "turing"}') AS exact, pg_temp.students('{"lastSurname": "Turing", "firstName": "Bob"}') AS both;

-- An array matches any of its values, and an empty one matches nothing.
SELECT pg_temp.students('{"lastSurname": ["Byron", "Hopper"]}') AS either, pg_temp.students('{"lastSurname": []}') AS none,
	pg_temp.students('{"lastSurname": ["Byron", "Turing"], "firstName": ["Ada", "Bob"]}') AS both;

-- Values are parsed by the type of their field: dates with or without a time,
-- booleans, numbers by value.
SELECT pg_temp.students('{"birthDate": "2010-01-03"}') AS date, pg_temp.students('{"birthDate": "1/3/2010"}') AS other_form,
	pg_temp.students('{"birthDate": "2010-01-03T23:59:59-05:00"}') AS time_is_ignored, pg_temp.students('{"birthDate": " 2010-01-03 "}') AS blanks,
	pg_temp.students('{"multipleBirthStatus": true}') AS yes, pg_temp.students('{"multipleBirthStatus": "FALSE"}') AS no;
SELECT dms.count_documents('ed-fi', 'schools', '{"schoolId": 11}') AS number, dms.count_documents('ed-fi', 'schools', '{"schoolId": "11"}') AS string,
	dms.count_documents('ed-fi', 'schools', '{"schoolId": 11.0}') AS by_value,
	dms.count_documents('ed-fi', 'graduationPlans', '{"totalRequiredCredits": "20.50"}') AS decimals;

-- By id.
SELECT dms.resolve('ed-fi', 'student', '{"studentUniqueId": "s3"}') AS grace \gset
SELECT pg_temp.students(jsonb_build_object('id', :'grace')) AS one,
	pg_temp.students(jsonb_build_object('id', ARRAY[upper(:'grace'), '00000000-0000-0000-0000-000000000000'])) AS any_of_two;

-- By descriptor: its URI in any case.
SELECT pg_temp.enrollments('{"entryGradeLevelDescriptor": "URI://ED-FI.ORG/gradeleveldescriptor#NINTH"}') AS ninth,
	pg_temp.enrollments('{"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Fourth"}') AS unknown,
	pg_temp.enrollments('{"entryGradeLevelDescriptor": ["uri://ed-fi.org/GradeLevelDescriptor#Tenth",
		"uri://ed-fi.org/GradeLevelDescriptor#Twelfth"]}') AS two;

-- By reference: one value is the whole identity here ...
SELECT pg_temp.enrollments('{"schoolId": 12}') AS school, pg_temp.enrollments('{"studentUniqueId": "s1"}') AS student,
	pg_temp.enrollments('{"studentUniqueId": "s1", "schoolId": [11, 12]}') AS both, pg_temp.enrollments('{"schoolId": 13}') AS unknown;

-- ... and here it is a part, which belongs to a target of the target, among
-- them an abstract resource.  Several filters together may be the whole
-- identity.
SELECT pg_temp.enrollments('{"educationOrganizationId": 11}') AS organization,
	pg_temp.enrollments('{"graduationPlanTypeDescriptor": "uri://ed-fi.org/graduationplantypedescriptor#standard", "educationOrganizationId": 1}') AS two_values,
	pg_temp.enrollments('{"graduationPlanTypeDescriptor": "uri://ed-fi.org/graduationplantypedescriptor#none"}') AS no_descriptor;
SELECT pg_temp.enrollments('{"educationOrganizationId": [1, 11], "schoolYear": 2025,
	"graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}') AS whole;

-- A field may have several paths: any of them may match.
SELECT pg_temp.enrollments('{"schoolYear": 2024}') AS "both paths", pg_temp.enrollments('{"schoolYear": 2025}') AS "one of them";

-- Descriptors are queried like other resources.
SELECT string_agg(d ->> 'codeValue', ' ') FROM dms.query_documents('ed-fi', 'gradeLevelDescriptors') d;
SELECT dms.count_documents('ed-fi', 'gradeLevelDescriptors', '{"codeValue": "Tenth"}') AS one,
	dms.count_documents('ed-fi', 'gradeLevelDescriptors', '{"codeValue": "Standard"}') AS of_another_type;

-- Pages: by limit and offset, or after the last document of the previous page.
SELECT string_agg(d ->> 'studentUniqueId', ' ') FROM dms.query_documents('ed-fi', 'students', page_limit => 2) d;
SELECT string_agg(d ->> 'studentUniqueId', ' ') FROM dms.query_documents('ed-fi', 'students', page_limit => 2, page_offset => 1) d;
SELECT string_agg(d ->> 'studentUniqueId', ' ') FROM dms.query_documents('ed-fi', 'students', page_limit => 2, after => :'grace') d;
SELECT string_agg(d ->> 'studentUniqueId', ' ')
FROM dms.query_documents('ed-fi', 'students', '{"lastSurname": "Turing"}', page_limit => 2, after => :'grace') d;
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', page_limit => 0);
SELECT dms.count_documents('ed-fi', 'students') AS all, dms.count_documents('ed-fi', 'students', '{"lastSurname": "Turing"}') AS some;

-- Mistakes are reported, all of one kind at once.
SELECT dms.count_documents('ed-fi', 'students', '{"shoeSize": 1, "color": "red", "birthDate": "x"}');
\echo :LAST_ERROR_SQLSTATE
SELECT dms.count_documents('ed-fi', 'students', '{"birthDate": "2010-02-30", "multipleBirthStatus": "maybe", "id": "x", "firstName": null}');
SELECT dms.count_documents('ed-fi', 'schools', '{"schoolId": [1, "two", 1.5]}');
SELECT dms.count_documents('ed-fi', 'students', '{"firstName": {"like": "A%"}}');
SELECT dms.count_documents('ed-fi', 'students', '[]');
SELECT dms.count_documents('ed-fi', 'students', '1.50');
SELECT dms.count_documents('ed-fi', 'students', '{"firstName": [["Ada"], {"a": [true]}, false]}');
SELECT dms.count_documents('ed-fi', 'students', NULL);
SELECT dms.query_documents('ed-fi', 'students', page_limit => -1);
SELECT dms.query_documents('ed-fi', 'students', page_offset => -1);
SELECT dms.query_documents('ed-fi', 'students', after => '00000000-0000-0000-0000-000000000000');
SELECT dms.query_documents('ed-fi', 'EducationOrganization');
SELECT dms.query_documents('ed-fi', 'studnets');

-- Names and values are never interpreted as SQL.
SELECT pg_temp.students('{"lastSurname": "x'' OR true --"}') AS quoted, pg_temp.students('{"lastSurname": "$1"}') AS parameter,
	pg_temp.enrollments('{"studentUniqueId": "s1#$.schoolReference.schoolId=11"}') AS identity;
SELECT dms.count_documents('ed-fi', 'students', '{"lastSurname\" = \"lastSurname": "x"}');

-- Rows are read by key even if a table is small, because plans are kept while
-- tables grow.
\c dms_query
BEGIN;
SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{"lastSurname": "Turing"}');
SELECT count(*) FROM dms.query_documents('ed-fi', 'studentSchoolAssociations', '{"schoolId": 12}');
SELECT count(*) FROM dms.query_documents('ed-fi', 'studentSchoolAssociations', '{"educationOrganizationId": 11}');
SELECT relname AS read_from_end_to_end FROM pg_class
WHERE relnamespace IN ('edfi'::regnamespace, 'dms'::regnamespace) AND relkind = 'r' AND pg_stat_get_xact_numscans(oid) > 0
ORDER BY relname;
COMMIT;

-- A field whose path lies in an optional reference also matches at the paths
-- that equality constraints make equal to it and that have no field of their own.
\c :database
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_query_equal;
CREATE DATABASE dms_query_equal TEMPLATE template0 ENCODING 'UTF8';
\c dms_query_equal
SET client_min_messages = warning;
CREATE EXTENSION dms;
\set file :top /test/schemas/equalities.json
\set equalities `cat :'file'`
SELECT dms.deploy_schema(:'equalities') IS NOT NULL AS deployed;

SELECT resource, name, string_agg(json_path, ' or ') AS matches_at
FROM unnest(ARRAY['Enrollment', 'Plan', 'Transfer']) resource, dms.describe_resource('Equalities', resource)
WHERE part = 'query field' AND name <> 'id' GROUP BY 1, 2 HAVING count(*) > 1 OR name = 'fourthId' ORDER BY 1, 2;

-- Values of an identity have the name of the field that finds them.
SELECT name, json_path FROM dms.describe_resource('Equalities', 'Enrollment') WHERE part = 'identity';

-- An equal path that is a column has an index, as columns with a field have.
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'equalities.transfer'::regclass
	AND indkey::text = (SELECT attnum::text FROM pg_attribute WHERE attrelid = indrelid AND attname = 'seat');

CREATE FUNCTION pg_temp.put(resource text, document json) RETURNS uuid LANGUAGE sql AS $$
	SELECT document_uuid FROM dms.upsert_document('equalities', resource, document)
$$;
-- The numbers of the documents that a query finds, and the count.
CREATE FUNCTION pg_temp.find(resource text, filters jsonb, page_limit int DEFAULT 25, page_offset int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' of ', string_agg(coalesce(d ->> 'enrollmentId', d ->> 'planId', d ->> 'transferId'), ' '),
		dms.count_documents('equalities', resource, filters))
	FROM dms.query_documents('equalities', resource, filters, page_limit, page_offset) d
$$;
CREATE FUNCTION pg_temp.calendar(code text, kind text, school int, year int) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('code', code, 'kindDescriptor', 'uri://x/KindDescriptor#' || kind, 'schoolId', school, 'year', year)
$$;
SELECT count(pg_temp.put('kindDescriptors', json_build_object('namespace', 'uri://x/KindDescriptor', 'codeValue', k, 'shortDescription', k)))
FROM unnest(ARRAY['A', 'B']) k;
SELECT count(pg_temp.put('schools', json_build_object('schoolId', s))) FROM generate_series(1, 4) s;
SELECT count(pg_temp.put('years', json_build_object('year', y))) FROM generate_series(2024, 2025) y;
SELECT count(pg_temp.put('calendars', json_build_object('code', 'c', 'kindDescriptor', 'uri://x/KindDescriptor#' || k,
	'schoolReference', json_build_object('schoolId', s), 'yearReference', json_build_object('year', y))))
FROM generate_series(1, 2) s, generate_series(2024, 2025) y, unnest(ARRAY['A', 'B']) k;

-- Enrollments with all references, without a calendar, without a year or kind.
SELECT count(pg_temp.put('enrollments', document)) FROM (VALUES
	('{"enrollmentId": 1, "schoolReference": {"schoolId": 1}}'::json),
	('{"enrollmentId": 2, "schoolReference": {"schoolId": 1}, "yearReference": {"year": 2024},
		"kindDescriptor": "uri://x/KindDescriptor#A"}'),
	(json_build_object('enrollmentId', 3, 'schoolReference', '{"schoolId": 1}'::json,
		'calendarReference', pg_temp.calendar('c', 'A', 1, 2024))),
	(json_build_object('enrollmentId', 4, 'schoolReference', '{"schoolId": 2}'::json, 'yearReference', '{"year": 2025}'::json,
		'kindDescriptor', 'uri://x/KindDescriptor#B', 'calendarReference', pg_temp.calendar('c', 'B', 2, 2025))),
	('{"enrollmentId": 5, "schoolReference": {"schoolId": 3}, "yearReference": {"year": 2025}}')) v (document);

-- All enrollments have a school, and some have a year, either way.
SELECT s AS school, pg_temp.find('enrollments', jsonb_build_object('schoolId', s)) FROM generate_series(1, 4) s;
SELECT y AS year, pg_temp.find('enrollments', jsonb_build_object('year', y)) FROM generate_series(2024, 2026) y;
SELECT k AS kind, pg_temp.find('enrollments', jsonb_build_object('kindDescriptor', 'URI://x/kinddescriptor#' || k)) FROM unnest(ARRAY['a', 'b', 'c']) k;
SELECT pg_temp.find('enrollments', '{"schoolId": [1, 3]}') AS schools, pg_temp.find('enrollments', '{"year": [2024, 2025]}') AS years,
	pg_temp.find('enrollments', '{"year": []}') AS none;

-- With other filters: the rest of the calendar's identity, all of it, or another
-- field that matches in two ways.
SELECT pg_temp.find('enrollments', '{"schoolId": 1, "code": "c"}') AS school_and_code,
	pg_temp.find('enrollments', '{"schoolId": 1, "year": 2024}') AS school_and_year,
	pg_temp.find('enrollments', '{"year": 2024, "kindDescriptor": "uri://x/KindDescriptor#A"}') AS year_and_kind,
	pg_temp.find('enrollments', '{"code": "c", "schoolId": 1, "year": 2024, "kindDescriptor": "uri://x/KindDescriptor#A"}') AS whole,
	pg_temp.find('enrollments', '{"year": 2025, "Year": [2024, 2025], "enrollmentId": [3, 4]}') AS twice;

-- Pages are cut from one list, in order.
SELECT n, pg_temp.find('enrollments', '{"year": [2024, 2025]}', 2, n) AS page FROM generate_series(0, 4) n;
SELECT pg_temp.find('enrollments', '{"year": 2024}', 2147483647, 1) AS rest;
SELECT string_agg(d ->> 'enrollmentId', ' ') AS after_the_third FROM dms.query_documents('equalities', 'enrollments', '{"year": [2024, 2025]}',
	after => dms.resolve('equalities', 'enrollment', '{"enrollmentId": 3, "schoolId": 1}')) d;

-- Two references, neither of them required, both with a part of their identity.
SELECT count(pg_temp.put('plans', json_strip_nulls(json_build_object('planId', n,
	'firstReference', CASE WHEN f THEN pg_temp.calendar('c', 'A', s, y) END,
	'secondReference', CASE WHEN t THEN pg_temp.calendar('c', 'B', s, y) END))))
FROM (VALUES (1, 1, 2024, true, true), (2, 1, 2024, true, false), (3, 1, 2024, false, true), (4, 1, 2025, false, true),
	(5, 2, 2024, true, false), (6, 2, 2024, false, false)) v (n, s, y, f, t);
SELECT pg_temp.find('plans', '{"schoolId": 1}') AS school, pg_temp.find('plans', '{"year": 2024}') AS year,
	pg_temp.find('plans', '{"schoolId": 1, "year": 2024}') AS both, pg_temp.find('plans', '{"schoolId": 3}') AS none;

-- Constraints connect three references in a row.  Where the middle one is absent,
-- the others may differ: both count, and no document counts twice.
SELECT count(pg_temp.put('transfers', document)) FROM (VALUES
	('{"transferId": 1, "firstReference": {"schoolId": 1}, "thirdReference": {"schoolId": 2}}'::json),
	('{"transferId": 2, "firstReference": {"schoolId": 1}, "secondReference": {"schoolId": 1}, "thirdReference": {"schoolId": 1}}'),
	('{"transferId": 3, "thirdReference": {"schoolId": 1}}'), ('{"transferId": 4, "secondReference": {"schoolId": 2}}'),
	('{"transferId": 5, "number": 3}'), ('{"transferId": 6, "number": 3, "fourthReference": {"schoolId": 3}}'),
	('{"transferId": 7, "seat": 4}'), ('{"transferId": 8, "fifthReference": {"schoolId": 4}}'),
	('{"transferId": 9, "seat": 4, "fifthReference": {"schoolId": 4}}')) v (document);
SELECT pg_temp.find('transfers', '{"schoolId": 1}') AS first, pg_temp.find('transfers', '{"schoolId": 2}') AS second,
	pg_temp.find('transfers', '{"schoolId": [1, 2]}', 3) AS either;

-- A path that has a field of its own is left to it.  A value need not exist as
-- the identity of a document.
SELECT pg_temp.find('transfers', '{"fourthId": 3}') AS reference, pg_temp.find('transfers', '{"number": 3}') AS number,
	pg_temp.find('transfers', '{"fifthId": 4}') AS either, pg_temp.find('transfers', '{"fifthId": 5}') AS none;
SELECT pg_temp.put('transfers', '{"transferId": 10, "seat": 99}') IS NOT NULL AS written;
SELECT pg_temp.find('transfers', '{"fifthId": 99}') AS number_without_school;

-- Mistakes are reported once, at the path of the field.
SELECT dms.count_documents('equalities', 'enrollments', '{"schoolId": "one", "year": null}');

-- A renamed school is found by its new name, in both ways.
SELECT outcome FROM dms.update_document(dms.resolve('equalities', 'school', '{"schoolId": 1}'), '{"schoolId": 8}');
SELECT pg_temp.find('enrollments', '{"schoolId": 1}') AS old, pg_temp.find('enrollments', '{"schoolId": 8}') AS new,
	pg_temp.find('plans', '{"schoolId": 8}') AS plans;

-- Each of the two ways is searched by its index.
\c dms_query_equal
BEGIN;
SELECT dms.count_documents('equalities', 'enrollments', '{"schoolId": 8}') AS school, dms.count_documents('equalities', 'enrollments', '{"year": 2024}') AS year;
SELECT relname AS read_from_end_to_end FROM pg_class
WHERE relnamespace = 'equalities'::regnamespace AND relkind = 'r' AND pg_stat_get_xact_numscans(oid) > 0;
SELECT relname AS index_that_was_used FROM pg_class
WHERE relnamespace = 'equalities'::regnamespace AND relname LIKE 'enrollment%' AND relkind = 'i' AND pg_stat_get_xact_numscans(oid) > 0 ORDER BY 1;
COMMIT;

\c :database
DROP DATABASE dms_query_equal;
DROP DATABASE dms_query;
