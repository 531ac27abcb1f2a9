-- The owner gives a column a type of his own, which is converted to the old type wherever a
-- statement compares it.  What the statement returns is a value of the new type: a number,
-- which must not be taken for the address of a uuid.
\c - dbo
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'schema') IS NOT NULL;
SELECT dms.configure_resource('Cascade', 'School', '{"history": true, "retainVersions": 1}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "a"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "b"}');
CREATE TYPE public.number AS ENUM ('a');
CREATE FUNCTION public.to_uuid(public.number) RETURNS uuid LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid;
CREATE CAST (public.number AS uuid) WITH FUNCTION public.to_uuid AS IMPLICIT;
ALTER TABLE dms.documentversion DROP CONSTRAINT documentversion_pkey CASCADE, ALTER documentuuid TYPE public.number USING 'a';
\echo =purge=
-- expect: [purge x1] ERROR:  42804: column "documentuuid" has type
SELECT dms.purge_history();
