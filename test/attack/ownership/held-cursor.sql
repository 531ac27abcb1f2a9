-- The owner's trigger declares a cursor WITH HOLD, whose query runs at the end of the transaction, as the
-- caller.
-- expect: ERROR:  42501: cannot create a cursor WITH HOLD within security-restricted operation
\ir ../lib/store.sql
CREATE FUNCTION public.evil() RETURNS integer LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN 1; END $$;
CREATE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN EXECUTE 'DECLARE c CURSOR WITH HOLD FOR SELECT public.evil()'; RETURN NEW; END $$;
CREATE TRIGGER leave BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.leave();
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
