-- A policy is forced on the owner of a table.  It also applies in a function that runs with the owner's
-- rights, although our statement that calls the function is exempt.
-- expect: [direct] NOTICE:  00000: rows seen: 0
-- expect: [lent] NOTICE:  00000: rows seen: 0
-- expect: [lent x2] ^inserted$
-- expect: [forced] ^updated$
\ir ../lib/store.sql
CREATE TABLE public.secret (t text);
INSERT INTO public.secret VALUES ('of another');
ALTER TABLE public.secret ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE FUNCTION public.peek() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'rows seen: %', (SELECT count(*) FROM public.secret); RETURN NEW; END $$;
CREATE TRIGGER peek BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.peek();
\echo =direct=
INSERT INTO cascade.school (documentid, schoolid, name) VALUES (99, 99, 'x');
DELETE FROM cascade.school WHERE documentid = 99;
\echo =lent=
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 2}, "sessionName": "a"}');

-- Our own statements still see all rows, also after a function has run.
\echo =forced=
\c - dbo
ALTER TABLE cascade.school ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE cascade.session ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TRIGGER peek_again BEFORE UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.peek();
SELECT documentuuid AS id FROM dms.document WHERE resourcename = 'School' ORDER BY documentid DESC LIMIT 1 \gset
\c - writer
SELECT outcome FROM dms.update_document(:'id', '{"schoolId": 3, "name": "Three"}');
