-- The owner's trigger has a safe search_path, but calls a function, or fires a trigger of another table,
-- that finds names in the caller's temporary schema, the last one of the path.
-- expect: [call] ERROR:  55000: function pg_temp_\d+.trap\(\) belongs to role "writer", which does not have the rights that it would run with
-- expect: [trigger] ERROR:  55000: function pg_temp_\d+.trap\(\) belongs to role "writer", which does not have the rights that it would run with
-- expect: [definer] NOTICE:  00000: definer is mallory
-- expect: [definer] ^inserted$
\ir ../lib/store.sql
CREATE FUNCTION public.helper() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('x'); END $$;
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN PERFORM public.helper(); RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.note();
\echo =call=
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\echo =trigger=
\c - dbo
CREATE TABLE public.noted (line text);
CREATE FUNCTION public.note_again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM value FROM settings; RETURN NEW; END $$;
CREATE TRIGGER note_again BEFORE INSERT ON public.noted FOR EACH ROW EXECUTE FUNCTION public.note_again();
CREATE OR REPLACE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN INSERT INTO public.noted VALUES ('x'); RETURN NEW; END $$;
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Two"}');

-- A SECURITY DEFINER function is not affected: it does not run with lent rights.
\echo =definer=
\c - postgres
CREATE FUNCTION public.definer() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RAISE NOTICE 'definer is %', current_user; END $$;
ALTER FUNCTION public.definer() OWNER TO mallory;
\c - dbo
CREATE OR REPLACE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN PERFORM public.definer(); RETURN NEW; END $$;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 4, "name": "Two"}');
