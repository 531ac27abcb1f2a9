-- Indexes of columns that need no value: which rows they have entries for, and who
-- uses them.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_indexes;
CREATE DATABASE dms_indexes TEMPLATE template0 ENCODING 'UTF8';
\c dms_indexes
SET client_min_messages = warning;
CREATE EXTENSION dms;
CREATE EXTENSION amcheck;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /test/schemas/equalities.json
\set equalities `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

-- An index of a column that need not have a value has entries for the rows that have
-- one.  Others have entries for all rows.  Hash indexes never have entries for NULL.
CREATE VIEW single_indexes AS
SELECT indrelid::regclass::text AS "table", indexrelid::regclass AS index, attname AS "column", NOT attnotnull AS nullable,
       pg_get_expr(indpred, indrelid) AS predicate
FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] JOIN pg_class AS i ON i.oid = indexrelid
JOIN pg_am AS a ON a.oid = relam
WHERE NOT indisunique AND indnatts = 1 AND amname = 'btree' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('edfi', 'equalities'));
SELECT nullable, count(*) > 0 AS there_are, count(*) FILTER (WHERE predicate = format('(%I IS NOT NULL)', "column")) = count(*) AS all_partial,
	count(predicate) = 0 AS none_partial
FROM single_indexes GROUP BY nullable ORDER BY nullable;

-- Enrollments without any of these values, written with and without direct access,
-- leave no entry: the indexes have the size of empty ones.
CREATE FUNCTION put(resource text, document json) RETURNS uuid LANGUAGE sql AS $$
	SELECT document_uuid FROM dms.upsert_document('ed-fi', resource, document)
$$;
SELECT put('gradeLevelDescriptors', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth", "shortDescription": "Ninth"}') IS NOT NULL AS grade,
	put('graduationPlanTypeDescriptors', '{"namespace": "uri://ed-fi.org/GraduationPlanTypeDescriptor", "codeValue": "Standard", "shortDescription": "Standard"}') IS NOT NULL AS plan_type;
SELECT put('schools', '{"schoolId": 1, "nameOfInstitution": "School", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth"}]}') IS NOT NULL AS school,
	put('schoolYearTypes', '{"schoolYear": 2025, "schoolYearDescription": "2025", "currentSchoolYear": true}') IS NOT NULL AS year,
	put('students', '{"studentUniqueId": "s", "firstName": "Ada", "lastSurname": "Byron", "birthDate": "2010-12-10"}') IS NOT NULL AS student;
SELECT count(put('graduationPlans', json_build_object('totalRequiredCredits', n, 'educationOrganizationReference', '{"educationOrganizationId": 1}'::json,
	'graduationSchoolYearTypeReference', '{"schoolYear": 2025}'::json,
	'graduationPlanTypeDescriptor', 'uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard'))) FROM generate_series(1, 1) n;
CREATE FUNCTION enroll(day date, rest jsonb DEFAULT '{}') RETURNS uuid LANGUAGE sql AS $$
	SELECT put('studentSchoolAssociations', (jsonb_build_object('entryDate', day, 'studentReference', '{"studentUniqueId": "s"}'::jsonb,
		'schoolReference', '{"schoolId": 1}'::jsonb, 'entryGradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#Ninth') || rest)::json)
$$;
CREATE VIEW entries AS
SELECT "column", pg_relation_size(index) > current_setting('block_size')::int AS has_entries
FROM single_indexes WHERE "table" = 'edfi.studentschoolassociation' AND nullable;
SELECT count(enroll(date '2024-01-01' + n)) FROM generate_series(1, 50) n;
SET dms.direct_access = off;
SELECT count(enroll(date '2024-03-01' + n)) FROM generate_series(1, 50) n;
RESET dms.direct_access;
SELECT * FROM entries ORDER BY 1;

-- Values that are added, changed, and removed again: both ways keep the same entries.
\set plan '{"graduationPlanReference": {"educationOrganizationId": 1, "schoolYear": 2025, "graduationPlanTypeDescriptor": "uri://ed-fi.org/GraduationPlanTypeDescriptor#Standard"}}'
CREATE FUNCTION change(first date) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(enroll(first + n, '{"schoolYearTypeReference": {"schoolYear": 2025}, "exitWithdrawDate": "2025-06-01"}')) FROM generate_series(1, 20) n;
	SELECT count(enroll(first + n, '{"exitWithdrawDate": "2025-06-02"}')) FROM generate_series(11, 20) n;
	SELECT count(enroll(first + n)) FROM generate_series(1, 5) n;
$$;
SELECT change('2024-01-01');
SET dms.direct_access = off;
SELECT change('2024-03-01');
RESET dms.direct_access;
SELECT enroll('2024-05-05', :'plan') IS NOT NULL AS with_plan;
SELECT * FROM entries ORDER BY 1;
SET enable_seqscan = off;
SELECT entrydate < '2024-02-25' AS direct, count(*) FILTER (WHERE exitwithdrawdate = '2025-06-01') AS first, count(*) FILTER (WHERE exitwithdrawdate = '2025-06-02') AS second
FROM edfi.studentschoolassociation WHERE exitwithdrawdate IN ('2025-06-01', '2025-06-02') GROUP BY 1 ORDER BY 1 DESC;
SELECT count(*) AS checked FROM (SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
	JOIN pg_class AS i ON i.oid = indexrelid WHERE i.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') AND pg_class.relnamespace = 'edfi'::regnamespace AND pg_class.relname = 'studentschoolassociation') AS c;

-- Queries use them: one value, several, and the targets of a subselect.
EXPLAIN (COSTS OFF) SELECT documentid FROM edfi.studentschoolassociation WHERE exitwithdrawdate = '2025-06-01';
SET plan_cache_mode = force_generic_plan;
PREPARE several (date[]) AS SELECT documentid FROM edfi.studentschoolassociation WHERE exitwithdrawdate = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE several ('{2025-06-01, 2025-06-02}');
RESET plan_cache_mode;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT documentid FROM edfi.studentschoolassociation
WHERE graduationplan_documentid = ANY (SELECT documentid FROM edfi.graduationplan WHERE totalrequiredcredits = 1);

-- Foreign keys use them, too, when the row that they point at is deleted: no
-- enrollment is read in vain.
\c
SET enable_seqscan = off;
BEGIN;
SELECT pg_stat_get_xact_numscans('edfi.studentschoolassociation'::regclass) AS whole, pg_stat_get_xact_numscans('edfi.studentschoolassociation_graduationplan_documentid_ix'::regclass) AS by_index;
SAVEPOINT before;
DELETE FROM edfi.graduationplan;
ROLLBACK TO before;
SELECT pg_stat_get_xact_numscans('edfi.studentschoolassociation'::regclass) AS whole, pg_stat_get_xact_numscans('edfi.studentschoolassociation_graduationplan_documentid_ix'::regclass) AS by_index;
UPDATE edfi.studentschoolassociation SET graduationplan_documentid = NULL WHERE graduationplan_documentid IS NOT NULL;
DELETE FROM edfi.graduationplan;
SELECT pg_stat_get_xact_numscans('edfi.studentschoolassociation_graduationplan_documentid_ix'::regclass) >= 2 AS by_index;
ROLLBACK;

-- A filter with an equal path searches for documents that lack its column.  The index
-- of that column has entries for all of them.
\c :database
DROP DATABASE dms_indexes;
CREATE DATABASE dms_indexes TEMPLATE template0 ENCODING 'UTF8';
\c dms_indexes
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'equalities') IS NOT NULL AS deployed;
SELECT indexdef FROM pg_indexes WHERE schemaname = 'equalities' AND tablename IN ('enrollment', 'plan', 'transfer') ORDER BY indexname COLLATE "C";
\c :database
DROP DATABASE dms_indexes;
