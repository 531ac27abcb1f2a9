-- A role that can create tables in a schema of the store creates a constraint with the name of one of the
-- store's keys, and has deferred events pending.  If a write of several documents set that key immediate
-- by name, these events would run as the owner.
-- expect: ^updated$
-- expect: [committed] NOTICE:  00000: ran as writer
\ir ../lib/store.sql
GRANT CREATE, USAGE ON SCHEMA cascade TO writer;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - writer
CREATE FUNCTION cascade.evil() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'writer' THEN RAISE NOTICE 'pwned as %', current_user; ELSE RAISE NOTICE 'ran as writer'; END IF; RETURN NULL; END $$;
CREATE TABLE cascade.mine (n integer);
CREATE CONSTRAINT TRIGGER school_nk AFTER INSERT ON cascade.mine DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cascade.evil();
BEGIN;
INSERT INTO cascade.mine VALUES (1);
SELECT outcome FROM dms.update_documents(ARRAY(SELECT DocumentUuid FROM dms.Document ORDER BY DocumentId),
	ARRAY['{"schoolId": 2, "name": "One"}', '{"schoolId": 1, "name": "Two"}']::json[]);
\echo =committed=
COMMIT;
