-- A function that belongs to another role, called by a trigger of a table of the store, would run with
-- the owner's rights.  A safe search_path does not help.
-- expect: ERROR:  55000: function public.helpful\(\) behind table "cascade.school" belongs to role "mallory", which does not have the rights that it would run with
-- expect: HINT:  ALTER ROUTINE public.helpful\(\) OWNER TO dbo
\ir lib/store.sql
\c - postgres
GRANT CREATE ON SCHEMA public TO mallory;
\c - mallory
CREATE FUNCTION public.helpful() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN NEW; END $$;
\c - dbo
CREATE TRIGGER helpful BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.helpful();
\c - mallory
CREATE OR REPLACE FUNCTION public.helpful() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN NEW; END $$;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
