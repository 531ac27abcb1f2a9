-- The owner's trigger replaces a prepared statement of the caller.
-- expect: ERROR:  42501: cannot execute DEALLOCATE within security-restricted operation
-- expect: ^mine$
\ir ../lib/store.sql
CREATE FUNCTION public.evil() RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN 'x'; END $$;
CREATE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN EXECUTE 'DEALLOCATE s'; EXECUTE 'PREPARE s AS SELECT public.evil()'; RETURN NEW; END $$;
CREATE TRIGGER leave BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.leave();
\c - postgres
PREPARE s AS SELECT 'mine';
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
EXECUTE s;
