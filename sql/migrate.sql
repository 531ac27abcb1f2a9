-- Changing the schema of a store that has documents, if nothing is lost by that.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_migrate;
DROP DATABASE IF EXISTS dms_migrate_new;
DROP ROLE IF EXISTS dms_migrate_reader;
CREATE DATABASE dms_migrate TEMPLATE template0 ENCODING 'UTF8';
CREATE DATABASE dms_migrate_new TEMPLATE template0 ENCODING 'UTF8';
CREATE ROLE dms_migrate_reader LOGIN;
\c dms_migrate_new
SET client_min_messages = warning;
CREATE EXTENSION dms;
\c dms_migrate
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/catalog.sql
\set catalog `cat :'file'`
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /examples/schemas/school-transport.json
\set transport `cat :'file'`
\set VERBOSITY terse

-- A plan changes a store, so there must be one.
SELECT * FROM dms.plan_migration(ARRAY[:'school'::json]);

-- A store with documents.
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SELECT dms.grant_access('dms_migrate_reader', 'reader');
CREATE FUNCTION public.post(resource text, body json) RETURNS text LANGUAGE sql AS
$$ SELECT outcome || ', etag ' || etag FROM dms.upsert_document('ed-fi', resource, body) $$;
SELECT public.post(d || 's', json_build_object('namespace', 'uri://ed-fi.org/' || d, 'codeValue', c, 'shortDescription', c))
FROM (VALUES ('addressTypeDescriptor', 'Home'), ('gradeLevelDescriptor', 'Ninth'), ('localEducationAgencyCategoryDescriptor', 'Local')) AS v (d, c);
SELECT public.post('localEducationAgencies', '{"localEducationAgencyId": 1, "nameOfInstitution": "Grand Bend",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/localEducationAgencyCategoryDescriptor#Local"}');
SELECT public.post('schools', json_build_object('schoolId', i, 'nameOfInstitution', 'School ' || i,
	'localEducationAgencyReference', json_build_object('localEducationAgencyId', 1),
	'gradeLevels', json_build_array(json_build_object('gradeLevelDescriptor', 'uri://ed-fi.org/gradeLevelDescriptor#Ninth'))))
FROM generate_series(2, 3) AS i;
SELECT public.post('students', json_build_object('studentUniqueId', 's' || i, 'firstName', 'Ann', 'lastSurname', 'Lee', 'birthDate', '2010-05-31',
	'addresses', json_build_array(json_build_object('addressTypeDescriptor', 'uri://ed-fi.org/addressTypeDescriptor#Home',
		'streetNumberName', i || ' Elm Street', 'city', 'Grand Bend', 'postalCode', '78834'))))
FROM generate_series(1, 2) AS i;
SELECT public.post('studentSchoolAssociations', '{"studentReference": {"studentUniqueId": "s1"}, "schoolReference": {"schoolId": 2},
	"entryDate": "2024-08-20", "entryGradeLevelDescriptor": "uri://ed-fi.org/gradeLevelDescriptor#Ninth"}');
CREATE TABLE public.before AS SELECT DocumentId, Etag, dms.get_document(DocumentUuid)::jsonb AS body FROM dms.Document;
CREATE VIEW public.changed AS SELECT b.DocumentId, b.body AS was, dms.get_document(d.DocumentUuid) AS is
FROM public.before AS b LEFT JOIN dms.Document AS d USING (DocumentId)
WHERE (d.Etag, dms.get_document(d.DocumentUuid)::jsonb) IS DISTINCT FROM (b.Etag, b.body);

-- The same schema is not changed, and a plan for it is empty.
SELECT * FROM dms.plan_migration(ARRAY[:'school'::json]);

-- An extension that comes later adds tables.  They can be created while the store is
-- in use; the rest is done behind the gate.
SELECT phase, substring(statement FROM '^[A-Z]+ (?:OR REPLACE )?[A-Z]+') AS what, count(*)
FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) AS statements FROM dms.plan_schema(:'school', :'transport');
SELECT dms.deploy_schema(:'transport', :'school') AS hash \gset
SELECT * FROM public.changed;
SELECT * FROM dms.audit();
SELECT count(*) AS deploys FROM dms.EffectiveSchema;
-- Deploying it again changes nothing.
SELECT dms.deploy_schema(:'school', :'transport') = :'hash' AS same;
-- The extension can be used at once, and its tables can be read by who may read.
SELECT outcome FROM dms.upsert_document('transport', 'busRoutes', '{"busRouteNumber": "7", "schoolReference": {"schoolId": 2}}');
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s2", "firstName": "Ann", "lastSurname": "Lee",
	"birthDate": "2010-05-31", "addresses": [{"addressTypeDescriptor": "uri://ed-fi.org/addressTypeDescriptor#Home",
	"streetNumberName": "2 Elm Street", "city": "Grand Bend", "postalCode": "78834", "_ext": {"transport": {"onBusRoute": true}}}]}');
\set previous :USER
\c dms_migrate dms_migrate_reader
SELECT document ->> 'busRouteNumber' AS route, document -> 'schoolReference' AS school
FROM dms.query_documents('transport', 'busRoutes') AS document;
SELECT document #> '{addresses,0,_ext}' AS ext FROM dms.query_documents('ed-fi', 'students', '{"studentUniqueId": "s2"}') AS document;
\c dms_migrate :previous
SET client_min_messages = warning;
\set VERBOSITY terse
DELETE FROM public.before WHERE DocumentId IN (SELECT DocumentId FROM edfi.student WHERE StudentUniqueId = 's2');

-- Properties, collections, references, filters and resources that are new; texts that
-- may be longer, and numbers that may be larger.
CREATE FUNCTION public.edit(schema jsonb, VARIADIC edits text[]) RETURNS json LANGUAGE plpgsql AS
$$ BEGIN
	FOR i IN 1 .. array_length(edits, 1) BY 2 LOOP
		schema := jsonb_set(schema, ('{projectSchema,resourceSchemas,' || edits[i] || '}')::text[], edits[i + 1]::jsonb);
	END LOOP;
	RETURN schema;
END $$;
SELECT public.edit(:'school',
	'students,jsonSchemaForInsert,properties,nickName', '{"type": "string", "maxLength": 30}',
	'students,documentPathsMapping,NickName', '{"isReference": false, "path": "$.nickName", "type": "string"}',
	'students,queryFieldMapping,nickName', '[{"path": "$.nickName", "type": "string"}]',
	'students,jsonSchemaForInsert,properties,firstName,maxLength', '100',
	'students,jsonSchemaForInsert,properties,names', '{"type": "array", "items": {"type": "object", "required": ["name"],
		"properties": {"name": {"type": "string", "maxLength": 20}}}}',
	'students,jsonSchemaForInsert,properties,homeSchoolReference', '{"type": "object", "required": ["schoolId"],
		"properties": {"schoolId": {"type": "integer"}}}',
	'students,documentPathsMapping,HomeSchool', '{"isReference": true, "isDescriptor": false, "projectName": "Ed-Fi", "resourceName": "School",
		"referenceJsonPaths": [{"identityJsonPath": "$.schoolId", "referenceJsonPath": "$.homeSchoolReference.schoolId", "type": "number"}]}',
	'schools,jsonSchemaForInsert,properties,webSite,maxLength', '500',
	'schools,jsonSchemaForInsert,required', '["schoolId", "gradeLevels"]',
	'sessions,jsonSchemaForInsert,properties,totalInstructionalDays,format', '"int64"',
	'schoolYearTypes,allowIdentityUpdates', 'true') AS school \gset
SELECT step, phase, statement, reason FROM dms.plan_migration(ARRAY[:'school'::json, :'transport'])
WHERE statement NOT LIKE 'COMMENT%' ORDER BY step;

-- Each of the steps that need not wait can be run by hand, in this order.  What is
-- left then is what has to be done while nobody uses the store.
SELECT statement FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']) WHERE phase = 'before' ORDER BY step \gexec
SELECT phase, statement FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']) ORDER BY step;
SELECT * FROM public.changed;
SELECT public.post('students', '{"studentUniqueId": "s3", "firstName": "Bo", "lastSurname": "Lee", "birthDate": "2010-05-31"}');
SELECT dms.deploy_schema(:'school', :'transport') IS NOT NULL AS deployed;
SELECT * FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']);
SELECT * FROM public.changed;
SELECT * FROM dms.audit();
SELECT public.post('students', '{"studentUniqueId": "s3", "firstName": "Bo", "lastSurname": "Lee", "birthDate": "2010-05-31",
	"nickName": "B", "names": [{"name": "Bobby"}], "homeSchoolReference": {"schoolId": 3}}');
SELECT document ->> 'nickName' AS nick, document ->> 'homeSchoolReference' AS home
FROM dms.query_documents('ed-fi', 'students', '{"nickName": "B"}') AS document;
SELECT * FROM dms.audit();

-- The tables, and what is recorded about them, are those of a new store.
SET dms_test.schemas = 'dms,edfi,transport';
SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) AS changed FROM (:catalog) AS c \gset
\c dms_migrate_new
SET client_min_messages = warning;
SELECT dms.deploy_schema(:'school', :'transport') IS NOT NULL AS deployed;
SELECT dms.grant_access('dms_migrate_reader', 'reader');
SET dms_test.schemas = 'dms,edfi,transport';
SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) = :'changed' AS same FROM (:catalog) AS c;
\c :database
DROP DATABASE dms_migrate;
DROP DATABASE dms_migrate_new;
DROP ROLE dms_migrate_reader;
