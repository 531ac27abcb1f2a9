-- The owner's trigger runs SET CONSTRAINTS ALL IMMEDIATE: deferred events of the caller's transaction
-- would run as the owner.
-- expect: ERROR:  55000: function shared.evil\(\) belongs to role "writer", which does not have the rights that it would run with
\ir ../lib/store.sql
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN SET CONSTRAINTS ALL IMMEDIATE; RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.note();
\c - postgres
CREATE SCHEMA shared AUTHORIZATION writer;
\c - writer
CREATE FUNCTION shared.evil() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'writer' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN NULL; END $$;
CREATE TABLE shared.mine (n integer);
CREATE CONSTRAINT TRIGGER evil AFTER INSERT ON shared.mine DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shared.evil();
BEGIN;
INSERT INTO shared.mine VALUES (1);
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
ROLLBACK;
