-- The owner's triggers suppress or change rows, a sequence returns the same values again, edges form
-- cycles.  Calls must end, with a result or an error, and can be canceled.
-- expect: ^alive$
-- expect: [done] ^t$
-- never: must not end like this
\ir ../lib/store.sql
SET client_min_messages = warning;
SELECT dms.upsert_document('Cascade', 'Level1', '{"key1": "1"}') IS NULL;
SELECT dms.upsert_document('Cascade', 'Level2', '{"level1Reference": {"key1": "1"}, "key2": "2"}') IS NULL;
SELECT dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 1}, "sessionName": "a"}') IS NULL;
RESET client_min_messages;
CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION public.other() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN CASE WHEN random() < 0.5 THEN NULL ELSE json_populate_record(NEW, '{"documentid": 1}') END;
EXCEPTION WHEN OTHERS THEN
	RETURN NEW;
END $$;
-- Every kind of write, each rolled back.  A call that takes too long is canceled, which must work.
CREATE FUNCTION public.writes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOREACH line IN ARRAY ARRAY[
		$w$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 77, "name": "New"}')$w$,
		$w$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "Newer"}')$w$,
		$w$SELECT dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 1}, "sessionName": "b"}')$w$,
		$w$SELECT dms.update_document(DocumentUuid, '{"schoolId": 2, "name": "Renamed"}') FROM dms.Document WHERE ResourceName = 'School'$w$,
		$w$SELECT dms.update_document(DocumentUuid, '{"key1": "5"}') FROM dms.Document WHERE ResourceName = 'Level1'$w$,
		$w$SELECT dms.update_documents(array_agg(DocumentUuid), array_agg('{"key1": "6"}'::json)) FROM dms.Document WHERE ResourceName = 'Level1'$w$,
		$w$SELECT dms.delete_document(DocumentUuid) FROM dms.Document WHERE ResourceName = 'Session'$w$,
		$w$SELECT dms.recompute_identities(ARRAY(SELECT DocumentId FROM dms.Document))$w$,
		$w$SELECT dms.lock_identity_closure(ARRAY(SELECT DocumentId FROM dms.Document))$w$,
		$w$SELECT dms.repair()$w$,
		$w$SELECT dms.rebuild_edges()$w$,
		$w$SELECT dms.handle_request('POST', '/cascade/schools', '{"Idempotency-Key": "k"}', '{"schoolId": 78, "name": "x"}')$w$,
		$w$SELECT dms.purge_idempotency_keys()$w$]
	LOOP
		BEGIN
			EXECUTE line;
			RAISE EXCEPTION 'undo';
		EXCEPTION WHEN OTHERS OR query_canceled THEN
			IF SQLSTATE IN ('57014', 'XX000') THEN
				RAISE NOTICE 'must not end like this: % % by %', SQLSTATE, SQLERRM, line;
			END IF;
		END;
	END LOOP;
END $$;
SET statement_timeout = '60s';
SELECT public.writes();
SELECT format('CREATE TRIGGER lie BEFORE INSERT OR UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION public.%2$s(); SELECT public.writes(); DROP TRIGGER lie ON %1$s; SELECT ''after %1$s'' WHERE false',
		c.oid::regclass, f)
	FROM pg_class AS c, unnest('{nothing, other}'::text[]) AS f
	WHERE c.relkind = 'r' AND c.relnamespace IN ('dms'::regnamespace, 'cascade'::regnamespace)
	  AND c.relname IN ('document', 'referentialidentity', 'referenceedge', 'identitylock', 'idempotencykeys', 'school', 'session', 'level1', 'level2', 'organization_member')
\gexec
SELECT format('CREATE TRIGGER lie BEFORE DELETE ON %1$s FOR EACH ROW EXECUTE FUNCTION public.nothing(); SELECT public.writes(); DROP TRIGGER lie ON %1$s', c.oid::regclass)
	FROM pg_class AS c
	WHERE c.relkind = 'r' AND c.relnamespace IN ('dms'::regnamespace, 'cascade'::regnamespace)
	  AND c.relname IN ('document', 'referentialidentity', 'referenceedge', 'identitylock', 'idempotencykeys', 'session', 'level2')
\gexec
-- A sequence that returns the same values again.
ALTER SEQUENCE dms.document_documentid_seq MINVALUE 1 MAXVALUE 2 CYCLE RESTART 1;
SELECT public.writes();
ALTER SEQUENCE dms.document_documentid_seq MAXVALUE 9223372036854775807 NO CYCLE RESTART 100;
-- Edges between all pairs of documents, as parts of identities.
INSERT INTO dms.referenceedge SELECT a.documentid, b.documentid, s.edgesourceid, true FROM dms.document AS a, dms.document AS b, dms.edgesource AS s
	ON CONFLICT DO NOTHING;
SELECT public.writes();
\echo =done=
DELETE FROM dms.referenceedge;
SELECT count(*) FILTER (WHERE mended = 0) = 0 FROM dms.repair();
SELECT 'alive';
