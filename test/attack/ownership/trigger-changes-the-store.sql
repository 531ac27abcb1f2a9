-- The owner's trigger changes the store during a call: models, tables, the extension itself.  The session
-- must notice, and must not crash.
-- expect: ^alive$
\ir ../lib/store.sql
CREATE TABLE public.what (todo text);
INSERT INTO public.what VALUES ('');
CREATE FUNCTION public.meddle() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	line text;
BEGIN
	FOR line IN SELECT todo FROM public.what LOOP
		EXECUTE line;
	END LOOP;
	RETURN NEW;
END $$;
CREATE TRIGGER meddle BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.meddle();
CREATE TRIGGER meddle_after AFTER INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.meddle();
CREATE PROCEDURE public.try(what text) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM public.what;
	INSERT INTO public.what VALUES (what);
	PERFORM dms.upsert_document('Cascade', 'School', json_build_object('schoolId', 100 + floor(random() * 1e6), 'name', clock_timestamp()::text));
	RAISE NOTICE 'inserted with %', what;
	PERFORM dms.upsert_document('Cascade', 'School', json_build_object('schoolId', 1, 'name', clock_timestamp()::text));
	PERFORM dms.handle_request('POST', '/cascade/schools', '{}', '{"schoolId": 1, "name": "y"}');
	RAISE EXCEPTION 'undo';
EXCEPTION WHEN OTHERS THEN
	RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
SET client_min_messages = notice;
CALL public.try('ALTER TABLE dms.resourcemodel SET (fillfactor = 90); SELECT dms.get_document(DocumentUuid) FROM dms.Document');
CALL public.try('ALTER TABLE dms.resourcemodel SET (fillfactor = 80); SELECT dms.upsert_document(''Cascade'', ''Agency'', ''{"agencyId": 7, "name": "x"}'')');
CALL public.try('UPDATE dms.resourcemodel SET model = ''{}''; ALTER TABLE dms.resourcemodel SET (fillfactor = 70)');
CALL public.try('SET dms.cached_plans = 1; SELECT dms.upsert_document(''Cascade'', ''Level1'', ''{"key1": "1"}''); SELECT dms.upsert_document(''Cascade'', ''Agency'', ''{"agencyId": 8, "name": "x"}'')');
-- Changes that can be made only once, before the row is written.
DROP TRIGGER meddle_after ON cascade.school;
CALL public.try('DROP EXTENSION dms CASCADE');
CALL public.try('DROP TABLE IF EXISTS dms.referenceedge CASCADE');
CALL public.try('DROP TABLE dms.identitylock CASCADE');
CALL public.try('DROP TABLE cascade.organization_member CASCADE');
CALL public.try('ALTER TABLE dms.referentialidentity ALTER referentialid TYPE text');
CALL public.try('ALTER TABLE dms.document ALTER etag TYPE text');
CALL public.try('ALTER TABLE dms.document ADD x text, DROP COLUMN resourceversion');
CALL public.try('ALTER SCHEMA dms RENAME TO dmsx');
CALL public.try('ALTER SCHEMA cascade RENAME TO other');
CALL public.try('ALTER TABLE dms.referenceedge RENAME TO x; CREATE TABLE dms.referenceedge (LIKE dms.x INCLUDING ALL)');
CALL public.try('DROP SEQUENCE dms.document_documentid_seq CASCADE');
CALL public.try('TRUNCATE dms.document, dms.referentialidentity, dms.identitylock');
CALL public.try('DELETE FROM dms.document; DELETE FROM dms.resourcemodel');
CALL public.try('DROP FUNCTION public.meddle() CASCADE');
CALL public.try('ALTER FUNCTION public.meddle() RESET search_path');
CALL public.try('SELECT dms.upsert_document(''Cascade'', ''School'', json_build_object(''schoolId'', floor(random() * 1e9), ''name'', ''deeper''))');
CALL public.try('SELECT dms.grant_access(''mallory'', ''admin''); SELECT dms.grant_access(''mallory'', ''none'')');
CALL public.try('SELECT count(*) FROM dms.audit()');
CALL public.try('SELECT dms.repair(); SELECT dms.rebuild_edges()');
CALL public.try('SELECT 1/0');
SELECT 'alive';
SELECT outcome FROM dms.upsert_document('Cascade', 'Agency', '{"agencyId": 5, "name": "x"}');
