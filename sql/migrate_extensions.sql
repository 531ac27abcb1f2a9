-- Changing an extension of a store that has documents: what becomes of extended rows that
-- lose their values, and of a schema that holds something else.
\set home :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_extensions;
CREATE DATABASE dms_extensions TEMPLATE template0 ENCODING 'UTF8';
CREATE ROLE dms_extensions_reader LOGIN;
CREATE ROLE dms_extensions_admin;
\c dms_extensions
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /examples/schemas/school-transport.json
\set transport `cat :'file'`
\set VERBOSITY terse
SELECT dms.grant_access('dms_extensions_reader', 'reader');
SELECT dms.grant_access('dms_extensions_admin', 'admin');

--
-- Schemas
--

-- Who may read the store may use its schemas.  So none that has something else in it
-- becomes one of them, neither by the first deploy nor by a later one.
CREATE SCHEMA edfi;
CREATE TABLE edfi.payroll (salary int);
CREATE FUNCTION edfi.secret() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT ''not for readers''';
CREATE TYPE edfi.mood AS ENUM ('good');
CREATE VIEW edfi.rich AS SELECT * FROM edfi.payroll WHERE salary > 9;
\set VERBOSITY default
SELECT dms.deploy_schema(:'school');
\set VERBOSITY terse
SELECT count(*) FROM dms.plan_schema(:'school');
DROP SCHEMA edfi CASCADE;
-- One that is empty will do.  Default privileges are nothing that it holds.
CREATE SCHEMA edfi;
ALTER DEFAULT PRIVILEGES IN SCHEMA edfi GRANT SELECT ON TABLES TO dms_extensions_reader;
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

CREATE SCHEMA transport;
CREATE FUNCTION transport.secret() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT ''not for readers''';
SELECT dms.deploy_schema(:'school', :'transport');
SELECT * FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']);
SELECT has_schema_privilege('dms_extensions_reader', 'transport', 'USAGE') AS may_use;
DROP FUNCTION transport.secret();
-- Tables that an operator has made by the plan are those of the store.
SELECT statement FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']) WHERE phase = 'before' AND statement NOT LIKE 'COMMENT%' ORDER BY step \gexec
-- An administrator plans with them, although only the deploy gives rights on them: a plan
-- sees what the deploy will see.
SET ROLE dms_extensions_admin;
SELECT phase, substring(statement FROM '^[A-Z]+ (?:OR REPLACE )?[A-Z]+') AS what, count(*)
FROM dms.plan_migration(ARRAY[:'school'::json, :'transport']) WHERE statement NOT LIKE 'COMMENT%' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FROM dms.plan_schema(:'school', :'transport') AS statement WHERE statement NOT LIKE 'COMMENT%';
RESET ROLE;
SELECT dms.deploy_schema(:'school', :'transport') IS NOT NULL AS deployed;
SELECT has_schema_privilege('dms_extensions_reader', 'transport', 'USAGE') AS may_use;
-- From then on, the owner of the store says what its schemas hold.
CREATE FUNCTION transport.fare() RETURNS int LANGUAGE sql AS 'SELECT 2';

--
-- Rows without values
--

CREATE FUNCTION public.post(resource text, body jsonb) RETURNS text LANGUAGE sql AS
$$ SELECT outcome FROM dms.upsert_document('ed-fi', resource, body::json) $$;
CREATE FUNCTION public.edit(schema jsonb, VARIADIC edits text[]) RETURNS json LANGUAGE plpgsql AS
$$ BEGIN
	FOR i IN 1 .. array_length(edits, 1) BY 2 LOOP
		schema := CASE WHEN edits[i + 1] IS NULL THEN schema #- ('{projectSchema,resourceSchemas,' || edits[i] || '}')::text[]
			ELSE jsonb_set(schema, ('{projectSchema,resourceSchemas,' || edits[i] || '}')::text[], edits[i + 1]::jsonb) END;
	END LOOP;
	RETURN schema;
END $$;
CREATE FUNCTION public.description(name text) RETURNS jsonb LANGUAGE sql AS
$$ SELECT json_build_object('namespace', 'uri://ed-fi.org/' || name, 'codeValue', 'A', 'shortDescription', 'A') $$;
SELECT public.post(d || 's', public.description(d)) FROM unnest('{addressTypeDescriptor,gradeLevelDescriptor,localEducationAgencyCategoryDescriptor}'::text[]) AS d;
SELECT public.post('localEducationAgencies', '{"localEducationAgencyId": 1, "nameOfInstitution": "Grand Bend",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/localEducationAgencyCategoryDescriptor#A"}');
SELECT public.post('schools', '{"schoolId": 2, "nameOfInstitution": "School", "localEducationAgencyReference": {"localEducationAgencyId": 1},
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/gradeLevelDescriptor#A"}]}');

-- Nothing of an extension is required here.
\set rides studentSchoolAssociations,jsonSchemaForInsert,properties,_ext,properties,transport
\set pickups :rides ,properties,pickups,items
\set address students,commonExtensionOverrides,0,schemaFragment,properties,transport,properties
SELECT public.edit(:'transport', :'rides' || ',required', '[]', 'studentSchoolAssociations,documentPathsMapping,_ext.Transport.RidesSince,isRequired', 'false',
	:'pickups' || ',required', '["weekday"]', 'studentSchoolAssociations,documentPathsMapping,_ext.Transport.Pickups.PickupTime,isRequired', 'false') AS transport \gset
SELECT dms.deploy_schema(:'school', :'transport') IS NOT NULL AS deployed;

-- Addresses and associations whose extensions have a value, an element, or both.
CREATE FUNCTION public.student(id text, VARIADIC extensions jsonb[]) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('studentUniqueId', id, 'firstName', 'Ann', 'lastSurname', 'Lee', 'birthDate', '2010-05-31', 'addresses', jsonb_agg(
		jsonb_build_object('addressTypeDescriptor', 'uri://ed-fi.org/addressTypeDescriptor#A', 'streetNumberName', e.n || ' Elm Street',
			'city', 'Grand Bend', 'postalCode', '78834') || CASE WHEN e.extension <> '{}' THEN jsonb_build_object('_ext', jsonb_build_object('transport', e.extension))
			ELSE '{}' END ORDER BY e.n))
	FROM unnest(extensions) WITH ORDINALITY AS e (extension, n)
$$;
CREATE FUNCTION public.association(student text, extension jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('studentReference', jsonb_build_object('studentUniqueId', student), 'schoolReference', '{"schoolId": 2}'::jsonb,
		'entryDate', '2024-08-20', 'entryGradeLevelDescriptor', 'uri://ed-fi.org/gradeLevelDescriptor#A')
		|| CASE WHEN extension <> '{}' THEN jsonb_build_object('_ext', jsonb_build_object('transport', extension)) ELSE '{}' END
$$;
SELECT public.post('students', public.student('s1', '{"onBusRoute": true}', '{"onBusRoute": true, "distanceToStop": 5}', '{"distanceToStop": 6}'));
SELECT public.post('students', public.student(s, '{}')) FROM unnest('{s2,s3}'::text[]) AS s;
SELECT public.post('studentSchoolAssociations', public.association('s1', '{"ridesSince": "2024-08-21"}'));
SELECT public.post('studentSchoolAssociations', public.association('s2', '{"pickups": [{"weekday": "Monday"}]}'));
SELECT public.post('studentSchoolAssociations', public.association('s3', '{"ridesSince": "2024-08-21", "pickups": [{"weekday": "Monday", "pickupTime": "07:30:00"}]}'));
CREATE VIEW public.extended AS
SELECT 'address' AS what, s.StudentUniqueId || ' ' || a.Ordinal AS which FROM edfi.Student AS s JOIN transport.StudentExtensionAddress AS a ON a.Student_DocumentId = s.DocumentId
UNION ALL
SELECT 'association', s.StudentUniqueId FROM transport.StudentSchoolAssociationExtension AS e
JOIN edfi.StudentSchoolAssociation AS a USING (DocumentId) JOIN edfi.Student AS s ON s.DocumentId = a.Student_DocumentId;
SELECT * FROM public.extended ORDER BY 1, 2;

-- The columns go, and with them the rows that had nothing else.  Then a document that is
-- sent without these values is what is stored.
SELECT public.edit(:'transport', :'rides' || ',properties,ridesSince', NULL, 'studentSchoolAssociations,documentPathsMapping,_ext.Transport.RidesSince', NULL,
	'studentSchoolAssociations,dateJsonPaths', '[]', 'students,booleanJsonPaths', '[]', :'address' || ',onBusRoute', NULL, 'students,documentPathsMapping,Address.OnBusRoute', NULL) AS less \gset
BEGIN;
SELECT phase, statement, reason FROM dms.plan_migration(ARRAY[:'school'::json, :'less'], true) WHERE statement LIKE ANY ('{DELETE%,%DROP COLUMN%}') ORDER BY step;
SELECT dms.migrate_schema(ARRAY[:'school'::json, :'less'], true) IS NOT NULL AS migrated;
SELECT * FROM public.extended ORDER BY 1, 2;
SELECT public.post('students', public.student('s1', '{}', '{"distanceToStop": 5}', '{"distanceToStop": 6}'));
SELECT public.post('studentSchoolAssociations', public.association('s1', '{}'));
SELECT public.post('studentSchoolAssociations', public.association('s2', '{"pickups": [{"weekday": "Monday"}]}'));
SELECT public.post('studentSchoolAssociations', public.association('s3', '{"pickups": [{"weekday": "Monday", "pickupTime": "07:30:00"}]}'));
SELECT * FROM dms.audit();
ROLLBACK;
-- By hand, too.
BEGIN;
LOCK TABLE dms.Store IN SHARE ROW EXCLUSIVE MODE;
SELECT statement FROM dms.plan_migration(ARRAY[:'school'::json, :'less'], true) WHERE phase = 'gate' AND statement NOT LIKE 'COMMENT%' ORDER BY step \gexec
SELECT count(*) FROM dms.plan_migration(ARRAY[:'school'::json, :'less'], true) WHERE statement IS NOT NULL;
SELECT dms.deploy_schema(:'school', :'less') IS NOT NULL AS deployed;
SELECT * FROM public.extended ORDER BY 1, 2;
ROLLBACK;

-- A collection goes, or only the elements that lack a value that is required now.
BEGIN;
SELECT public.edit(:'transport', :'rides' || ',properties,pickups', NULL, 'studentSchoolAssociations,documentPathsMapping,_ext.Transport.Pickups.Weekday', NULL,
	'studentSchoolAssociations,documentPathsMapping,_ext.Transport.Pickups.PickupTime', NULL, 'studentSchoolAssociations,arrayUniquenessConstraints', '[]') AS less \gset
SELECT dms.migrate_schema(ARRAY[:'school'::json, :'less'], true) IS NOT NULL AS migrated;
SELECT * FROM public.extended ORDER BY 1, 2;
SELECT public.post('studentSchoolAssociations', public.association('s2', '{}'));
SELECT * FROM dms.audit();
ROLLBACK;
BEGIN;
SELECT public.edit(:'transport', :'pickups' || ',required', '["weekday", "pickupTime"]',
	'studentSchoolAssociations,documentPathsMapping,_ext.Transport.Pickups.PickupTime,isRequired', 'true') AS less \gset
-- A plan knows of them, also if a policy hides them from who asks for it.
ALTER TABLE transport.StudentSchoolAssociationExtensionPickup ENABLE ROW LEVEL SECURITY;
SET ROLE dms_extensions_admin;
SAVEPOINT plan;
SELECT * FROM dms.plan_migration(ARRAY[:'school'::json, :'less']);
ROLLBACK TO plan;
RESET ROLE;
SELECT dms.migrate_schema(ARRAY[:'school'::json, :'less'], true) IS NOT NULL AS migrated;
SELECT * FROM public.extended ORDER BY 1, 2;
SELECT public.post('studentSchoolAssociations', public.association('s2', '{}'));
SELECT * FROM dms.audit();
ROLLBACK;
-- A value that the new type cannot express.
BEGIN;
SELECT public.edit(:'transport', :'address' || ',distanceToStop', '{"type": "boolean"}', 'students,booleanJsonPaths',
	'["$.addresses[*]._ext.transport.onBusRoute", "$.addresses[*]._ext.transport.distanceToStop"]', 'students,numericJsonPaths', '[]',
	'students,documentPathsMapping,Address.DistanceToStop,type', '"boolean"') AS less \gset
SELECT dms.migrate_schema(ARRAY[:'school'::json, :'less'], true) IS NOT NULL AS migrated;
SELECT * FROM public.extended ORDER BY 1, 2;
SELECT public.post('students', public.student('s1', '{"onBusRoute": true}', '{"onBusRoute": true}', '{}'));
SELECT * FROM dms.audit();
ROLLBACK;

SELECT dms.grant_access('dms_extensions_reader', 'none');
SELECT dms.grant_access('dms_extensions_admin', 'none');
ALTER DEFAULT PRIVILEGES IN SCHEMA edfi REVOKE SELECT ON TABLES FROM dms_extensions_reader;
\c :home
DROP DATABASE dms_extensions;
DROP ROLE dms_extensions_reader;
DROP ROLE dms_extensions_admin;
