-- Reads keep what they find out about tables: which table a name means, its
-- columns, its index, and the privileges of roles.  All of it is found out anew
-- after a change.  Every check reads twice before the change, so that something
-- is kept.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_kept;
CREATE DATABASE dms_kept TEMPLATE template0 ENCODING 'UTF8';
\c dms_kept
SET client_min_messages = warning;
SET dms.direct_access = on;
\pset format unaligned
\pset tuples_only
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SELECT count(dms.upsert_document('ed-fi', 'gradeLevelDescriptors', json_build_object('namespace',
	'uri://ed-fi.org/GradeLevelDescriptor', 'codeValue', n::text, 'shortDescription', n::text))) FROM generate_series(1, 2) AS n;
SELECT count(dms.upsert_document('ed-fi', 'schools', json_build_object('schoolId', n, 'nameOfInstitution', 'School',
	'gradeLevels', json_build_array(json_build_object('gradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#1')))))
FROM generate_series(1, 2) AS n;
CREATE TABLE known AS
SELECT DocumentUuid AS id FROM dms.Document JOIN edfi.School USING (DocumentId) WHERE SchoolId = 1;
CREATE ROLE dms_kept_reader;
CREATE ROLE dms_kept_group;
SELECT dms.grant_access('dms_kept_reader', 'reader');
GRANT SELECT ON known TO dms_kept_reader;

-- What a read shows: the name, and the grade levels.
CREATE FUNCTION shown() RETURNS text LANGUAGE sql BEGIN ATOMIC
	SELECT concat_ws(' ', d ->> 'nameOfInstitution', d #>> '{gradeLevels,0,gradeLevelDescriptor}')
	FROM known, dms.get_document(id) AS d;
END;
SELECT shown();
SELECT shown();

-- The URIs of descriptors are kept as well: reading them again scans nothing.
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
	SELECT pg_stat_get_xact_numscans('dms.descriptor_pkey'::regclass)
$$;
BEGIN;
SELECT scans() AS before \gset
SELECT shown();
SELECT scans() = :before AS kept;
SET LOCAL dms.descriptor_cache = 0;
SELECT shown();
SELECT scans() = :before AS kept;
ROLLBACK;
-- A write that changes nothing looks up its own identity, and not the descriptors that were
-- looked up before.
CREATE FUNCTION write_again() RETURNS text LANGUAGE sql AS $$
	SELECT outcome FROM dms.upsert_document('ed-fi', 'schools', json_build_object('schoolId', 1,
		'nameOfInstitution', 'School', 'gradeLevels',
		json_build_array(json_build_object('gradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#1'))))
$$;
CREATE FUNCTION lookups() RETURNS bigint LANGUAGE sql AS $$
	SELECT pg_stat_get_xact_numscans('dms.referentialidentity_pkey'::regclass)
$$;
SELECT write_again();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lookups() AS before \gset
SELECT write_again();
SELECT lookups() - :before AS looked_up;
SET LOCAL dms.descriptor_cache = 0;
SELECT lookups() AS before \gset
SELECT write_again();
SELECT lookups() - :before AS looked_up;
ROLLBACK;
-- At other levels not even its own identity, because the place of that row is known.
BEGIN;
SELECT lookups() AS before \gset
SELECT write_again();
SELECT lookups() - :before AS looked_up;
ROLLBACK;
-- There is no more space than the setting says.
BEGIN;
SET LOCAL dms.descriptor_cache = '1kB';
SELECT shown();
SELECT scans() AS before \gset
SELECT shown();
SELECT scans() = :before AS kept;
ROLLBACK;
SELECT shown();
-- What plain SQL does to a URI is seen after a change of the table, after
-- dms.repair(), and where nothing is kept.
BEGIN;
UPDATE dms.Descriptor SET Uri = 'uri://wrong#1' WHERE CodeValue = '1';
SELECT shown();
ALTER TABLE dms.Descriptor ALTER Uri SET STATISTICS 10;
SELECT shown();
SELECT * FROM dms.repair();
SELECT shown();
TRUNCATE dms.Descriptor CASCADE;
SELECT shown();
ROLLBACK;
SELECT shown();
-- Who must not read descriptors does not see those that others have read.
GRANT EXECUTE ON FUNCTION shown() TO dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
SELECT shown();
RESET ROLE;
ALTER TABLE dms.Descriptor ENABLE ROW LEVEL SECURITY;
SELECT shown();
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
ALTER TABLE dms.Descriptor DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON dms.Descriptor FROM dms_kept_reader;
SELECT shown();
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
GRANT SELECT ON dms.Descriptor TO dms_kept_reader;

-- A column is dropped and comes back in another place.
BEGIN;
ALTER TABLE edfi.School RENAME COLUMN nameofinstitution TO before;
ALTER TABLE edfi.School ADD COLUMN nameofinstitution varchar(75);
UPDATE edfi.School SET nameofinstitution = 'In another place';
SELECT shown();
SELECT shown();
ROLLBACK;
SELECT shown();
-- Or with another type: nothing is read as what it is not.
BEGIN;
ALTER TABLE edfi.School RENAME COLUMN nameofinstitution TO before;
ALTER TABLE edfi.School ADD COLUMN nameofinstitution integer DEFAULT 7;
SELECT shown();
ROLLBACK;
SELECT shown();

-- Another table has the name.
BEGIN;
ALTER TABLE edfi.School RENAME TO before;
CREATE TABLE edfi.School (LIKE edfi.before INCLUDING ALL);
INSERT INTO edfi.School SELECT * FROM edfi.before;
UPDATE edfi.School SET nameofinstitution = 'In another table';
SELECT shown();
SELECT shown();
ROLLBACK;
SELECT shown();
-- Another schema has the name of its schema.
BEGIN;
ALTER SCHEMA edfi RENAME TO before;
CREATE SCHEMA edfi;
DO $$ BEGIN
	EXECUTE (SELECT string_agg(format('CREATE TABLE edfi.%I (LIKE before.%1$I INCLUDING ALL)', relname), ';')
		FROM pg_class WHERE relnamespace = 'before'::regnamespace AND relkind = 'r');
END $$;
INSERT INTO edfi.School SELECT * FROM before.School;
UPDATE edfi.School SET nameofinstitution = 'In another schema';
SELECT shown();
SELECT shown();
ROLLBACK;
SELECT shown();
-- A view has the name.
BEGIN;
ALTER TABLE edfi.School RENAME TO before;
CREATE VIEW edfi.School AS SELECT * FROM edfi.before;
SELECT shown();
ROLLBACK;
SELECT shown();

-- Another table inherits from it.
BEGIN;
CREATE TABLE heir () INHERITS (edfi.SchoolGradeLevel);
INSERT INTO heir SELECT School_DocumentId, Ordinal - 1, DocumentId
FROM edfi.SchoolGradeLevel, dms.Descriptor WHERE CodeValue = '2';
SELECT shown();
SELECT shown();
ROLLBACK;
SELECT shown();

-- The index is dropped, is not valid, or is built anew.
BEGIN;
ALTER TABLE edfi.SchoolGradeLevel DROP CONSTRAINT schoolgradelevel_pk CASCADE;
SELECT shown();
ROLLBACK;
SELECT shown();
BEGIN;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'edfi.schoolgradelevel_pk'::regclass;
SELECT shown();
ROLLBACK;
REINDEX INDEX edfi.schoolgradelevel_pk;
SELECT shown();
REINDEX TABLE CONCURRENTLY edfi.SchoolGradeLevel;
SELECT shown();
TRUNCATE edfi.SchoolGradeLevel;
SELECT shown();
UPDATE edfi.School SET nameofinstitution = 'Changed';
SELECT shown();

-- The places of rows are remembered: a row that is found again scans no index.
CREATE FUNCTION searches() RETURNS bigint LANGUAGE sql AS $$
	SELECT pg_stat_get_xact_numscans('edfi.school_pk'::regclass)
$$;
BEGIN;
SELECT shown();
SELECT searches() AS before \gset
SELECT shown();
SELECT searches() - :before AS searches;
-- A row that has moved is searched for once.
UPDATE edfi.School SET nameofinstitution = 'Moved' WHERE schoolid = 1;
SELECT shown();
SELECT shown();
SELECT searches() - :before AS searches;
-- What is rolled back is not read.
SAVEPOINT before;
UPDATE edfi.School SET nameofinstitution = 'Nowhere' WHERE schoolid = 1;
SELECT shown();
ROLLBACK TO before;
SELECT shown();
-- Two rows may have one id until a constraint is checked.
SELECT searches() AS before \gset
ALTER TABLE edfi.School DROP CONSTRAINT school_pk CASCADE;
ALTER TABLE edfi.School ADD CONSTRAINT school_pk PRIMARY KEY (documentid) DEFERRABLE INITIALLY DEFERRED;
SELECT shown();
SELECT searches() AS before \gset
SELECT shown();
SELECT searches() - :before AS searches;
ROLLBACK;
SELECT shown();
-- A serializable transaction takes the locks of a search.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT shown();
SELECT searches() AS before \gset
SELECT shown();
SELECT searches() - :before AS searches;
COMMIT;
-- The table becomes shorter, and its end was a place.
CREATE TABLE moved AS SELECT * FROM edfi.School WHERE schoolid = 1;
SET session_replication_role = replica;
DELETE FROM edfi.School WHERE schoolid = 1;
INSERT INTO edfi.School (documentid, schoolid, nameofinstitution) SELECT -i, -i, 'Filler' FROM generate_series(1, 1000) AS i;
INSERT INTO edfi.School SELECT * FROM moved;
SELECT shown();
SELECT pg_relation_size('edfi.School') AS size \gset
SELECT split_part(trim('()' FROM ctid::text), ',', 1)::int > 1 AS at_the_end FROM edfi.School WHERE schoolid = 1;
DELETE FROM edfi.School WHERE schoolid = 1 OR documentid < 0;
VACUUM edfi.School;
INSERT INTO edfi.School SELECT * FROM moved;
RESET session_replication_role;
SELECT pg_relation_size('edfi.School') < :size AS shorter;
SELECT dms.get_document(DocumentUuid) ->> 'schoolId' AS another FROM dms.Document JOIN edfi.School USING (DocumentId) WHERE SchoolId = 2;
SELECT shown();

-- Privileges are those of the role that calls, at the time of the call.
\set VERBOSITY terse
ALTER FUNCTION shown() OWNER TO dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
SELECT shown();
RESET ROLE;
REVOKE SELECT ON edfi.School FROM dms_kept_reader;
SELECT shown();
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
-- By column.
GRANT SELECT (documentid) ON edfi.School TO dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
-- By membership.
GRANT SELECT ON edfi.School TO dms_kept_group;
GRANT dms_kept_group TO dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
SELECT shown();
RESET ROLE;
REVOKE dms_kept_group FROM dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
GRANT SELECT ON edfi.School TO dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
SELECT shown();
RESET ROLE;
-- On the schema.
REVOKE USAGE ON SCHEMA edfi FROM dms_kept_reader;
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
GRANT USAGE ON SCHEMA edfi TO dms_kept_reader;
-- Row-level security.
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
ALTER TABLE edfi.School ENABLE ROW LEVEL SECURITY;
SET ROLE dms_kept_reader;
SELECT shown() = '' AS invisible;
RESET ROLE;
SELECT shown();
ALTER ROLE dms_kept_reader BYPASSRLS;
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;
ALTER ROLE dms_kept_reader NOBYPASSRLS;
SET ROLE dms_kept_reader;
SELECT shown() = '' AS invisible;
RESET ROLE;
CREATE POLICY second ON edfi.School FOR SELECT USING (schoolid = 2);
SET ROLE dms_kept_reader;
SELECT shown() = '' AS invisible;
RESET ROLE;
DROP POLICY second ON edfi.School;
ALTER TABLE edfi.School DISABLE ROW LEVEL SECURITY;
SET ROLE dms_kept_reader;
SELECT shown();
RESET ROLE;

-- A superuser who is none any more.
ALTER ROLE dms_kept_group SUPERUSER;
SET ROLE dms_kept_group;
SELECT dms.get_document(id) ->> 'schoolId' FROM known;
SELECT dms.get_document(id) ->> 'schoolId' FROM known;
RESET ROLE;
SELECT dms.grant_access('dms_kept_group', 'reader');
REVOKE SELECT ON edfi.School FROM dms_kept_group;
GRANT SELECT ON known TO dms_kept_group;
ALTER ROLE dms_kept_group NOSUPERUSER;
SET ROLE dms_kept_group;
SELECT dms.get_document(id) ->> 'schoolId' FROM known;
RESET ROLE;

-- An error in between leaves nothing wrong behind.
BEGIN;
SAVEPOINT before;
ALTER TABLE edfi.School RENAME COLUMN nameofinstitution TO before;
SELECT shown();
ROLLBACK TO before;
SELECT shown();
COMMIT;
SELECT shown();

-- A type of descriptors that can be renamed: its URIs are not kept.
\c :database
DROP DATABASE dms_kept;
CREATE DATABASE dms_kept TEMPLATE template0 ENCODING 'UTF8';
\c dms_kept
SET client_min_messages = warning;
SET dms.direct_access = on;
CREATE EXTENSION dms;
\set file :top /test/schemas/isolation.json
\set isolation `cat :'file'`
SELECT dms.deploy_schema(:'isolation') IS NOT NULL AS deployed;
SELECT document_uuid AS color FROM dms.upsert_document('isolation', 'colorDescriptors',
	'{"namespace": "uri://isolation", "codeValue": "Red", "shortDescription": "Red"}') \gset
SELECT document_uuid AS flag FROM dms.upsert_document('isolation', 'flags',
	'{"flagId": 1, "colorDescriptor": "uri://isolation#Red"}') \gset
SELECT dms.get_document(:'flag') ->> 'colorDescriptor';
SELECT dms.get_document(:'flag') ->> 'colorDescriptor';
SELECT outcome FROM dms.update_document(:'color', '{"namespace": "uri://isolation", "codeValue": "Blue", "shortDescription": "Blue"}');
SELECT dms.get_document(:'flag') ->> 'colorDescriptor';

\c :database
DROP DATABASE dms_kept;
DROP ROLE dms_kept_reader;
DROP ROLE dms_kept_group;
