-- A search_path that does not name pg_temp searches it first.  One with a schema that others can create
-- objects in finds those objects.
-- expect: [x3] ERROR:  55000: function public.note\(\) behind table "cascade.school" has a search_path that is not safe: pg_temp must be the last schema of it
-- expect: not safe: schema "shared" in it belongs to role "mallory"
-- expect: not safe: other roles may create objects in schema "shared" of it
-- expect: HINT:  ALTER FUNCTION public.note\(\) SET search_path = pg_catalog, pg_temp
-- expect: ^inserted$
\ir lib/store.sql
CREATE SCHEMA app;
CREATE TABLE app.log (line text);
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SET search_path = app AS
	$$ BEGIN INSERT INTO log VALUES (lower(TG_OP::varchar)); RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.note();
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - dbo
ALTER FUNCTION public.note() SET search_path = '';
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - dbo
ALTER FUNCTION public.note() SET search_path = pg_temp, app;
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
CREATE SCHEMA shared AUTHORIZATION mallory;
\c - mallory
CREATE FUNCTION shared.lower(varchar) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN 'x'; END $$;
GRANT USAGE ON SCHEMA shared TO PUBLIC;
\c - dbo
ALTER FUNCTION public.note() SET search_path = app, shared, pg_temp;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
DROP SCHEMA shared CASCADE;
CREATE SCHEMA shared AUTHORIZATION dbo;
GRANT ALL ON SCHEMA shared TO PUBLIC;
\c - writer
CREATE FUNCTION shared.lower(varchar) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN 'x'; END $$;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');

-- A schema is safe if nobody else can create objects in it, or only roles that have the rights of the
-- store's owner.
\c - postgres
DROP SCHEMA shared CASCADE;
CREATE SCHEMA shared;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
