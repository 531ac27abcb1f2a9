-- The owner's trigger creates a temporary view in the caller's session.  The caller's names find it before
-- the objects of any other schema, and functions in it run as the caller.
-- expect: ERROR:  42501: cannot create temporary table within security-restricted operation
\ir ../lib/store.sql
CREATE FUNCTION public.evil() RETURNS integer LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN 1; END $$;
CREATE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN EXECUTE 'CREATE TEMP VIEW accounts AS SELECT public.evil()'; EXECUTE 'GRANT ALL ON pg_temp.accounts TO PUBLIC'; RETURN NEW; END $$;
CREATE TRIGGER leave BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.leave();
\c - postgres
CREATE TABLE public.accounts (n integer);
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT * FROM accounts;
