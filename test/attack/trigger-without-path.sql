-- The owner's trigger once ran as the owner with the caller's search_path, and found the caller's tables.
-- expect: [x3] ERROR:  55000: function public.note\(\) behind table "cascade.school" has no search_path of its own
-- expect: HINT:  ALTER FUNCTION public.note\(\) SET search_path = pg_catalog, pg_temp
\ir lib/store.sql
CREATE TABLE public.log (line text);
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (TG_OP); RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.note();
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "Too"}');
SELECT (dms.handle_request('POST', '/cascade/schools', '{}', '{"schoolId": 2, "name": "Two"}')).status;
