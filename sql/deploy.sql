-- Deploying a schema: the tables that it creates, and deploying it again.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_deploy;
DROP DATABASE IF EXISTS dms_deploy_by_hand;
CREATE DATABASE dms_deploy TEMPLATE template0 ENCODING 'UTF8';
CREATE DATABASE dms_deploy_by_hand TEMPLATE template0 ENCODING 'UTF8';
\c dms_deploy
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /examples/schemas/school-transport.json
\set transport `cat :'file'`

-- Before the first deploy there is no store.
SELECT dms.instance_id();
SELECT * FROM dms.idempotency_keys();

-- A plan is only text: nothing is run.
SELECT substring(statement FROM '^(?:CREATE|COMMENT|ALTER) (?:OR REPLACE )?[A-Z]+') AS what, count(*)
FROM dms.plan_schema(:'school') AS statement GROUP BY 1 ORDER BY 1;
SELECT statement FROM dms.plan_schema(:'school') AS statement WHERE statement LIKE 'CREATE TABLE edfi.schoolgradelevel %';
SELECT count(*) AS tables FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r';

-- An extension of a collection's elements does not change the collection: one
-- that consists of references alone is still unique by them.
SELECT jsonb_set(:'transport'::jsonb, '{projectSchema,resourceSchemas,sections}', (:'transport'::jsonb #> '{projectSchema,resourceSchemas,students}')
	|| '{"resourceName": "Section", "documentPathsMapping": {}, "booleanJsonPaths": [], "numericJsonPaths": []}'
	|| jsonb_build_object('commonExtensionOverrides', replace(:'transport'::jsonb #>> '{projectSchema,resourceSchemas,students,commonExtensionOverrides}',
		'properties.addresses', 'properties.classPeriods')::jsonb)) AS extended \gset
SELECT s.statement FROM dms.plan_schema(:'school', :'extended') AS s (statement) WHERE s.statement LIKE '%edfi.sectionclassperiod %UNIQUE%';
SELECT count(*) FROM dms.plan_schema(:'school', :'extended') AS s (statement) WHERE s.statement LIKE 'CREATE TABLE transport.%sectionextensionclassperiod%';

-- The core and its extensions are deployed together, in any order.  The result
-- is the hash of the schema.
SELECT dms.deploy_schema(:'transport', :'school') ~ '^[0-9a-f]{64}$' AS deployed;
SELECT dms.instance_id() IS NOT NULL AS has_instance_id;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(*) AS rows FROM pg_attribute WHERE dms.instance_id() IS NULL;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;

-- Each resource has a table, and so has each of its collections.  Extensions
-- have a schema of their own.  Comments give the JSON path of each table and
-- column.
SELECT c.oid::regclass AS "table", obj_description(c.oid, 'pg_class') AS holds
FROM pg_class c WHERE relnamespace IN ('edfi'::regnamespace, 'transport'::regnamespace) AND relkind IN ('r', 'v')
ORDER BY c.oid::regclass::text COLLATE "C";

-- An enrollment: references and descriptors are one column each, however many
-- values identify their targets.  The identity is a unique key.
CREATE VIEW pg_temp.columns AS
SELECT attrelid::regclass AS "table", attname AS "column", format_type(atttypid, atttypmod) AS type,
       CASE WHEN attnotnull THEN 'not null' ELSE '' END AS "null", col_description(attrelid, attnum) AS holds, attnum
FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped;
CREATE VIEW pg_temp.constraints AS
SELECT conrelid::regclass AS "table", conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint;
SELECT "column", type, "null", holds FROM pg_temp.columns WHERE "table" = 'edfi.studentschoolassociation'::regclass ORDER BY attnum;
SELECT name, definition FROM pg_temp.constraints WHERE "table" = 'edfi.studentschoolassociation'::regclass ORDER BY name;
SELECT indexdef FROM pg_indexes WHERE schemaname = 'edfi' AND tablename = 'studentschoolassociation' ORDER BY indexname;

-- Collections are keyed by the document and the ordinal of the element.
SELECT "table", "column", type, "null", holds FROM pg_temp.columns
WHERE "table" IN ('edfi.schooladdress'::regclass, 'edfi.schooladdressperiod'::regclass) ORDER BY "table"::text, attnum;
SELECT "table", definition FROM pg_temp.constraints
WHERE "table" IN ('edfi.schooladdress'::regclass, 'edfi.schooladdressperiod'::regclass, 'edfi.sectionclassperiod'::regclass)
ORDER BY "table"::text, name;

-- Extensions have the key of the row that they extend.
SELECT "table", "column", type, "null", holds FROM pg_temp.columns
WHERE "table" IN ('transport.studentschoolassociationextension'::regclass,
	'transport.studentschoolassociationextensionpickup'::regclass, 'transport.studentextensionaddress'::regclass)
ORDER BY "table"::text, attnum;
SELECT "table", definition FROM pg_temp.constraints
WHERE "table" IN ('transport.studentschoolassociationextension'::regclass,
	'transport.studentschoolassociationextensionpickup'::regclass, 'transport.studentextensionaddress'::regclass)
ORDER BY "table"::text, name;

-- An abstract resource has a table of its members, which references point to,
-- and a view of the identities of all its subclasses.
SELECT "column", type, "null", holds FROM pg_temp.columns WHERE "table" = 'edfi.educationorganization_member'::regclass ORDER BY attnum;
SELECT pg_get_viewdef('edfi.educationorganization_view');
SELECT "table", definition FROM pg_temp.constraints WHERE definition LIKE '%educationorganization_member%' ORDER BY "table"::text;

-- Each resource has one stored model.  It says whether identities can change,
-- by themselves or through others, and in which order documents can be loaded.
SELECT resourcename, endpointname, kind, tableschema, tablename, membertable, canchange, identityrank, loadorder
FROM dms.resourcemodel WHERE kind <> 'descriptor' ORDER BY loadorder, projectname, resourcename COLLATE "C";
SELECT edgesourcekey, edgesourceid FROM dms.edgesource
WHERE edgesourcekey LIKE '%.StudentSchoolAssociation:%' ORDER BY edgesourcekey COLLATE "C";
-- Each resource has a number, which follows from its names, and a name of one word.
SELECT resourcetypeid, projectname, resourcename, resourcetype, options FROM dms.resourcetype
WHERE resourcename NOT LIKE '%Descriptor' ORDER BY projectname, resourcename COLLATE "C";
SELECT count(*) AS wrong FROM dms.resourcetype
WHERE resourcetypeid <> dms_internal.resource_type_id(projectname, resourcename);
SELECT count(*) = (SELECT count(*) FROM dms.resourcemodel) AS all_resources FROM dms.resourcetype;
SELECT projectendpointname, projectname, projectversion, isextensionproject FROM dms.schemacomponent ORDER BY 1;
SELECT apischemaformatversion, mappingversion FROM dms.effectiveschema;

-- Every object has a comment.
SELECT c.oid::regclass FROM pg_class c
WHERE relnamespace IN ('dms'::regnamespace, 'edfi'::regnamespace, 'transport'::regnamespace) AND relkind IN ('r', 'v')
  AND obj_description(c.oid, 'pg_class') IS NULL;
SELECT "table", "column" FROM pg_temp.columns JOIN pg_class c ON c.oid = "table"
WHERE relnamespace IN ('dms'::regnamespace, 'edfi'::regnamespace, 'transport'::regnamespace) AND relkind = 'r' AND holds IS NULL;

-- Deploying the same schema again does nothing, however it is written: jsonb
-- preserves neither the order of properties nor the white space of the file.
SELECT effectiveschemahash AS hash FROM dms.effectiveschema \gset
SELECT dms.deploy_schema(:'school', :'transport') = :'hash' AS same_files,
       dms.deploy_schema(:'transport'::jsonb::json, :'school'::jsonb::json) = :'hash' AS same_meaning;
SELECT count(*) AS deploys FROM dms.effectiveschema;
SELECT count(*) AS statements FROM dms.plan_schema(:'school', :'transport');

-- Documentation is not part of the hash; everything else is.
SELECT dms.deploy_schema(jsonb_set(:'school', '{projectSchema,resourceSchemas,students,openApiFragments}', '{"resources": {}}')::json, :'transport') = :'hash' AS same;
-- A schema that lacks something is refused; a new version alone changes no table.
SELECT dms.deploy_schema(:'school');
SELECT dms.plan_schema(jsonb_set(:'school', '{projectSchema,projectVersion}', '"1.0.1"')::json, :'transport');
SELECT dms.plan_schema(jsonb_set(:'school', '{projectSchema,resourceSchemas,students,jsonSchemaForInsert,properties,openApiUrl}', '{"type": "string"}')::json, :'transport');

-- The extension is code only: dropping and creating it again leaves the data
-- alone.
INSERT INTO edfi.student (documentid, studentuniqueid, firstname, lastsurname, birthdate) VALUES (1, '604821', 'Ada', 'Lovelace', '2010-12-10');
SELECT dms.instance_id() AS instance \gset
DROP EXTENSION dms;
SELECT firstname, lastsurname FROM edfi.student;
CREATE EXTENSION dms;
SELECT dms.instance_id() = :'instance' AS same_store, dms.deploy_schema(:'school', :'transport') = :'hash' AS same_schema;

-- No deployed object belongs to the extension or depends on it.
SELECT c.relname FROM pg_depend d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
WHERE d.deptype = 'e' AND c.relkind <> 'c';
SELECT p.proname FROM pg_proc p WHERE pronamespace = 'dms'::regnamespace
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
ORDER BY proname;

-- Running the plan by hand creates the same objects.
\set digest 'SELECT md5(string_agg(line, E''\\n'' ORDER BY line COLLATE "C")) AS digest, count(*) FROM (SELECT format(''%s %s %s'', c.oid::regclass, relkind, reloptions) FROM pg_class c WHERE relnamespace IN (''dms''::regnamespace, ''edfi''::regnamespace) UNION ALL SELECT format(''%s %s %s %s %s'', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum)) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relnamespace IN (''dms''::regnamespace, ''edfi''::regnamespace) AND attnum > 0 UNION ALL SELECT format(''%s %s %s'', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace IN (''dms''::regnamespace, ''edfi''::regnamespace) UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname IN (''dms'', ''edfi'') UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = ''dms''::regnamespace AND prolang = (SELECT oid FROM pg_language WHERE lanname = ''plpgsql'') UNION ALL SELECT pg_get_viewdef(oid) FROM pg_class WHERE relnamespace = ''edfi''::regnamespace AND relkind = ''v'') AS lines (line)'
\c dms_deploy_by_hand
SET client_min_messages = warning;
CREATE EXTENSION dms;
BEGIN;
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
:digest \gset by_deploy_
ROLLBACK;
-- So does a session with standard_conforming_strings off.
BEGIN;
SET LOCAL standard_conforming_strings = off;
SET LOCAL escape_string_warning = off;
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SET LOCAL standard_conforming_strings = on;
:digest \gset by_old_strings_
ROLLBACK;
SELECT :'by_deploy_digest' = :'by_old_strings_digest' AS same;
\set ECHO none
SELECT * FROM dms.plan_schema(:'school') \gexec
\set ECHO all
:digest \gset by_hand_
SELECT :'by_deploy_digest' = :'by_hand_digest' AS same, :by_hand_count > 500 AS many;
-- But tables alone are not a store.
SELECT dms.deploy_schema(:'school');

\c :database
DROP DATABASE dms_deploy;
DROP DATABASE dms_deploy_by_hand;
