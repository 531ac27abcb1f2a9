-- The mapping from schema to tables, on schemas that contain every case of it.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_mapping;
CREATE DATABASE dms_mapping TEMPLATE template0 ENCODING 'UTF8';
\c dms_mapping
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/types.json
\set types `cat :'file'`
\set file :top /test/schemas/sites.json
\set sites `cat :'file'`
\set file :top /test/schemas/sites-extra.json
\set extra `cat :'file'`
\set file :top /test/schemas/graph.json
\set graph `cat :'file'`
\set file :top /test/schemas/cascade.json
\set cascade `cat :'file'`

CREATE VIEW columns AS
SELECT n.nspname || '.' || c.relname AS "table", attname AS "column", format_type(atttypid, atttypmod) AS type,
       CASE WHEN attnotnull THEN 'not null' ELSE '' END AS "null", col_description(attrelid, attnum) AS holds
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'v')
  AND nspname NOT IN ('dms', 'public', 'pg_catalog', 'information_schema', 'pg_toast')
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", attnum;
CREATE VIEW keys AS
SELECT conrelid::regclass AS "table", pg_get_constraintdef(oid) AS definition FROM pg_constraint
WHERE connamespace::regnamespace::text NOT IN ('dms', 'public', 'pg_catalog', 'information_schema')
ORDER BY conrelid::regclass::text COLLATE "C", contype, conname;

--
-- Types, inlined objects, nested arrays, names, overrides
--
BEGIN;
SELECT dms.deploy_schema(:'types') IS NOT NULL AS deployed;
SELECT * FROM columns;
SELECT * FROM keys;
-- Long text gets a hash index, booleans get none.
SELECT indexdef FROM pg_indexes WHERE tablename = 'everything' AND indexname NOT LIKE '%\_pk' ORDER BY indexname;
ROLLBACK;

--
-- Extensions: of the root, of collections, of nested collections; a resource
-- with the same name as one of the core; a subclass of an abstract resource of
-- the core
--
BEGIN;
SELECT dms.deploy_schema(:'sites', :'extra') IS NOT NULL AS deployed;
SELECT * FROM columns WHERE "table" LIKE 'sitesextra.%' OR "table" LIKE '%\_view' OR "table" = 'sites.house';
SELECT * FROM keys WHERE "table"::text LIKE 'sitesextra.%';
SELECT pg_get_viewdef('sites.place_view');
SELECT edgesourcekey FROM dms.edgesource ORDER BY edgesourcekey COLLATE "C";
ROLLBACK;
-- Without the extension, the core is mapped to the same tables.
BEGIN;
SELECT dms.deploy_schema(:'sites') IS NOT NULL AS deployed;
SELECT * FROM columns WHERE "table" LIKE '%\_view' OR "table" = 'sites.house';
ROLLBACK;

--
-- References to the same resource, to each other, to abstract resources
--
BEGIN;
SELECT dms.deploy_schema(:'graph') IS NOT NULL AS deployed;
SELECT * FROM keys WHERE definition LIKE 'FOREIGN%' OR definition LIKE 'UNIQUE%';
SELECT pg_get_viewdef('graph.bond_view');
SELECT resourcename, kind, identityrank, loadorder FROM dms.resourcemodel ORDER BY loadorder, resourcename COLLATE "C";
-- How an identity is read from storage: the tables to join, and the columns.
SELECT r.resourcename, v ->> 'path' AS path, j ->> 'table' AS "table", v ->> 'column' AS "column"
FROM dms.resourcemodel r, json_array_elements(model -> 'projections' -> 0 -> 'values') AS v,
     LATERAL (SELECT model -> 'projections' -> 0 -> 'joins' -> COALESCE((v ->> 'join')::int, 0)) AS x (j)
WHERE resourcename IN ('Payment', 'Bond', 'Person') ORDER BY 1, 2;
ROLLBACK;

--
-- Identities that can change: by permission of the schema, or through a part
-- that can change
--
BEGIN;
SELECT dms.deploy_schema(:'cascade') IS NOT NULL AS deployed;
SELECT resourcename, canchange, identityrank FROM dms.resourcemodel ORDER BY identityrank, resourcename COLLATE "C";
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'level6_nk';
ROLLBACK;

\c :database
DROP DATABASE dms_mapping;
