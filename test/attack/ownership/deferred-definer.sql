-- A deferred trigger with SECURITY DEFINER still runs in the caller's session, at a time when nothing
-- undoes what it leaves there: settings, temporary views.
-- expect: ERROR:  55000: function evil.set\(\) behind table "cascade.school" would run at the end of the transaction
-- expect: ^safe "\$user", public$
\ir ../lib/store.sql
CREATE SCHEMA evil;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN pg_catalog.now(); END $$;
CREATE FUNCTION evil.set() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM set_config('search_path', 'evil, pg_catalog', false);
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER set AFTER INSERT ON cascade.school DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION evil.set();
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
