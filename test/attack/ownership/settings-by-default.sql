-- Settings of the caller's session are changed without a function of the owner: by a default, the
-- condition of a trigger, a check constraint.
-- expect: [default x1] ^inserted$
-- expect: [default] ^safe "\$user", public$
-- expect: [condition] ^safe "\$user", public$
-- expect: [text] ERROR:  55000: function pg_catalog.query_to_xml\(.*\) behind table "cascade.school" reads what a text names
\ir ../lib/store.sql
CREATE SCHEMA evil;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN pg_catalog.now(); END $$;
ALTER TABLE cascade.school ADD x text;
ALTER TABLE cascade.school ALTER x SET DEFAULT set_config('search_path', 'evil, pg_catalog', false);
\echo =default=
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
\echo =condition=
\c - dbo
ALTER TABLE cascade.school ALTER x DROP DEFAULT;
CREATE TRIGGER t BEFORE INSERT ON cascade.school FOR EACH ROW WHEN (set_config('search_path', 'evil, pg_catalog', false) = '')
	EXECUTE FUNCTION suppress_redundant_updates_trigger();
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Two"}');
SELECT CASE WHEN now() IS NOT NULL THEN 'safe ' END || pg_catalog.current_setting('search_path');
\echo =text=
\c - dbo
DROP TRIGGER t ON cascade.school;
CREATE FUNCTION public.leave() RETURNS integer LANGUAGE plpgsql AS
	$$ BEGIN EXECUTE 'CREATE TEMP VIEW accounts AS SELECT evil.now()'; EXECUTE 'GRANT ALL ON pg_temp.accounts TO PUBLIC'; RETURN 1; END $$;
ALTER TABLE cascade.school ALTER x SET DEFAULT query_to_xml('SELECT public.leave()', false, false, '')::text;
\c - postgres
CREATE TABLE public.accounts (n integer);
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 4, "name": "Two"}');
SELECT * FROM accounts;
