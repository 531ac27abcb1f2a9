-- A deferred trigger fires at the end of the transaction, when the owner's rights are no longer lent: it
-- runs as the caller.  So the store's owner would gain the rights of everyone who writes.  SECURITY
-- DEFINER does not help: see ownership/deferred-definer.sql.
-- expect: [deferred x2] ERROR:  55000: function public.evil\(\) behind table "cascade.school" would run at the end of the transaction
-- expect: [deferred] HINT:  Use it where nothing is deferrable
-- expect: [cascaded] ERROR:  55000: function public.evil\(\) behind table "public.visit" would run at the end of the transaction
-- expect: [not deferrable] NOTICE:  00000: it is dbo
-- expect: [not deferrable] ^inserted$
\ir lib/store.sql
CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN IF current_user = 'dbo' THEN RAISE NOTICE 'it is dbo'; ELSE RAISE NOTICE 'pwned as %', current_user; END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER evil AFTER INSERT OR UPDATE ON cascade.school DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.evil();
\echo =deferred=
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "Too"}');

\echo =cascaded=
\c - dbo
DROP TRIGGER evil ON cascade.school;
CREATE TABLE public.visit (school bigint REFERENCES cascade.school ON DELETE CASCADE);
CREATE CONSTRAINT TRIGGER evil AFTER DELETE ON public.visit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.evil();
INSERT INTO public.visit SELECT documentid FROM cascade.school;
\c - postgres
SELECT dms.delete_document(DocumentUuid) FROM dms.Document WHERE ResourceName = 'School';

\echo =not deferrable=
\c - dbo
CREATE CONSTRAINT TRIGGER evil AFTER INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.evil();
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Two"}');
