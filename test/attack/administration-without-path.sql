-- Not only the verbs take the owner's rights: so do deploys, repairs and other administration.
-- expect: [x7] ERROR:  55000: function public.note\(\) behind table "dms.[a-z]*" has no search_path of its own
\ir lib/store.sql
\ir lib/careless.sql
SELECT dms.grant_access('writer', 'admin');
SELECT document_uuid AS school, document_id AS id FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 5, "name": "Five"}') \gset
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 5}, "sessionName": "Fall"}');
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM value FROM settings; RETURN COALESCE(NEW, OLD); END';
UPDATE dms.referentialidentity SET referentialid = '11111111-1111-1111-1111-111111111111' WHERE documentid = :id AND resourcename = 'School';
DELETE FROM dms.referenceedge;
CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION public.note();
CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON dms.referentialidentity FOR EACH ROW EXECUTE FUNCTION public.note();
CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON dms.referenceedge FOR EACH ROW EXECUTE FUNCTION public.note();
INSERT INTO dms.idempotencykeys (id, scope, route, httpmethod, key, statuscode, claimedat, expiresat, createdat)
	VALUES (dms.uuid_v7(), 'endpoint writer', '/x', 'POST', 'old', 102, now() - interval '2 h', now() - interval '1 h', now() - interval '2 h');
\ir lib/trap.sql
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
SELECT dms.idempotency_complete('/x', 'POST', 'old', 200, NULL, NULL, NULL);
SELECT dms.purge_idempotency_keys();
SELECT dms.recompute_identities(ARRAY[:id]::bigint[]);
SELECT dms.rebuild_edges();
SELECT * FROM dms.repair('Cascade', 'Session');
SELECT * FROM dms.repair('Cascade', 'School');
