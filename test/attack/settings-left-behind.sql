-- Code of the store's owner changes settings of the caller's session, so that names which the caller uses
-- later are found in the owner's schema.
-- expect: ^inserted$
-- expect: ^safe "\$user", public$
-- expect: ^updated$
\ir lib/store.sql
CREATE SCHEMA evil;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN pg_catalog.now(); END $$;
CREATE FUNCTION evil.set() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM set_config('search_path', 'evil, pg_catalog', false);
	RETURN NEW;
END $$;
CREATE TRIGGER set BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION evil.set();
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
BEGIN;
SET LOCAL search_path = pg_catalog;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Too"}');
SELECT now() IS NOT NULL;
COMMIT;
SELECT now() IS NOT NULL;
