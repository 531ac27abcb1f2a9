-- The owner's trigger writes to another table, whose deferred trigger then runs as the caller.
-- expect: ERROR:  42501: cannot fire deferred trigger within security-restricted operation
\ir ../lib/store.sql
CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN NULL; END $$;
CREATE TABLE public.elsewhere (n integer);
CREATE CONSTRAINT TRIGGER evil AFTER INSERT ON public.elsewhere DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.evil();
CREATE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN INSERT INTO public.elsewhere VALUES (1); RETURN NEW; END $$;
CREATE TRIGGER leave BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.leave();
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
